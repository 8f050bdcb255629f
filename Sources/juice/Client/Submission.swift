import ArgumentParser
import Foundation
import JuiceDomain
import JuiceMessages
import Kafka

/// Sends one command for a user or a script, and prints the outcome.
struct Submission {
    private let clients: KafkaClients
    private let waits, printsJSON: Bool
    private let timeout: Duration

    init(_ settings: Settings) throws(Failure) {
        clients = try KafkaClients(settings)
        (waits, printsJSON, timeout) = (try settings[.wait], try settings[.json], try settings[.timeout])
    }

    /// The id of a command: the configured one, or a new one.
    static func id(_ settings: Settings, _ setting: Setting<String?>) throws(Failure) -> String {
        try settings[setting] ?? UUID().uuidString.lowercased()
    }

    /// Sends the command, and waits for the answer if asked to.
    ///
    /// - Throws: `ExitCode` for an answer other than made, restocked or cancelled; ``Failure`` without an answer.
    func run(_ command: OutgoingCommand) throws {
        let deadline = Deadline(after: timeout)
        let answers = waits ? try clients.newAnswers(timeout: timeout) : nil
        let delivery = try send(command, deadline: deadline)
        if !printsJSON {
            StandardOutput.line(
                "sent \(command.kind) \(command.id.printable) for store \(command.store.printable): "
                    + "\(clients.topics[command.kind.topic]) partition \(delivery.partition)"
                    + (delivery.offset.map { " offset \($0)" } ?? ""))
        } else if !waits {
            StandardOutput.line(receipt(command, delivery))
        }
        guard let answers else { return }
        guard let (answer, line) = try answers.answer(to: command, deadline: deadline) else {
            throw Self.noAnswer(to: command, within: timeout)
        }
        if printsJSON {
            StandardOutput.write(StandardOutput.jsonLine(line))
        } else {
            StandardOutput.line(answer.message.printable + (answer.isDuplicate ? " (repeated: answered before)" : ""))
        }
        switch answer.outcome {
        case .juiceMade, .restocked, .cancelled: return
        case .outOfStock: throw ExitCode(Failure.Status.outOfStock.rawValue)
        case .rejected: throw ExitCode(Failure.Status.rejected.rawValue)
        }
    }

    static func noAnswer(to command: OutgoingCommand, within timeout: Duration) -> Failure {
        Failure(
            .unavailable, "no answer to \(command.kind) \(command.id.printable) within \(timeout.inSeconds)",
            hint: "it is written and will be answered once the service runs: `juice show` tells")
    }

    private func send(_ command: OutgoingCommand, deadline: Deadline) throws(Failure) -> Producer.Delivery {
        do throws(Failure) { return try clients.send(command, deadline: deadline) } catch  where error.status == .unavailable {
            var failure = error
            let id = command.id.printable
            let option = command.kind == .cancel ? "for \(id)" : "with --\(command.kind)-id \(id)"
            let again = "it may have been written all the same: send it again \(option), and it is carried out once"
            failure.hint = [error.hint, again].compactMap(\.self).joined(separator: "\n")
            throw failure
        }
    }

    private func receipt(_ command: OutgoingCommand, _ delivery: Producer.Delivery) -> String {
        struct Receipt: Encodable {
            let orderId, restockId: String?
            let store, topic: String
            let partition: Int32
            let offset: Int64?
        }
        let isRestock = command.kind == .restock
        return JSONText.line(
            Receipt(
                orderId: isRestock ? nil : command.id, restockId: isRestock ? command.id : nil, store: command.store,
                topic: clients.topics[command.kind.topic], partition: delivery.partition, offset: delivery.offset))
    }
}

extension KafkaClients {
    /// Sends one command, and waits until a broker has stored it.
    ///
    /// - Throws: ``Failure``; after a timeout the command may have been written all the same.
    func send(_ command: OutgoingCommand, deadline: Deadline) throws(Failure) -> Producer.Delivery {
        let producer = try producer(timeout: deadline.remaining)
        try reach(producer, deadline: deadline)
        return try ask(
            try producer.send(
                topic: topics[command.kind.topic], key: Array(command.store.utf8), value: command.value,
                timeout: deadline.remaining))
    }

    /// A reader of the answers from now on. Create it before sending a command, so that it misses no answer.
    func newAnswers(timeout: Duration) throws(Failure) -> TopicReader {
        let reader = try TopicReader(self, topic: topics.results, timeout: timeout)
        try reader.startAtEnds()
        return reader
    }
}

extension TopicReader {
    /// Waits for the answer to a command.
    ///
    /// - Returns: the answer and its line of JSON; nil if there is none before the deadline.
    func answer(
        to command: OutgoingCommand, deadline: Deadline
    ) throws(Failure) -> (answer: Answer, line: [UInt8])? {
        let decoder = AnswerDecoder()
        var found: (Answer, [UInt8])?
        while found == nil, !deadline.isOver {
            try poll(timeout: deadline.step()) { record in
                guard found == nil, let value = record.value, let answer = try? decoder.decode(value) else { return }
                // An order and its cancel have one id.
                guard answer.command == command.kind, Name(answer.id) == Name(command.id) else { return }
                if Name(answer.store) == Name(command.store) {
                    found = (answer, RecordLine.json(RecordPlace(record), record: Array(value)))
                }
            }
        }
        return found
    }
}
