import ArgumentParser
import Foundation
import JuiceDomain
import JuiceMessages
import Kafka

/// Sends one command for a user or a script, and prints the outcome.
struct Submission {
    let clients: KafkaClients
    let waits: Bool
    let printsJSON: Bool
    let timeout: Duration

    init(_ settings: Settings) throws(Failure) {
        clients = try KafkaClients(settings)
        waits = try settings[.wait]
        printsJSON = try settings[.json]
        timeout = try settings[.timeout]
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
        let waiter = waits ? try AnswerWaiter(clients, deadline: deadline) : nil
        let delivery = try send(command, deadline: deadline)
        guard let waiter else {
            StandardOutput.line(printsJSON ? receipt(command, delivery) : sentLine(command, delivery))
            return
        }
        if !printsJSON { StandardOutput.line(sentLine(command, delivery)) }
        let found = try waiter.answer(to: command.kind, id: command.id, store: command.store, deadline: deadline)
        guard let (answer, record) = found else { throw Self.noAnswer(to: command, within: timeout) }
        try show(answer, record)
    }

    /// Prints the answer.
    ///
    /// - Throws: `ExitCode` if it is not what the command asked for.
    private func show(_ answer: Answer, _ record: [UInt8]) throws(ExitCode) {
        if printsJSON {
            StandardOutput.write(StandardOutput.jsonLine(record))
        } else {
            StandardOutput.line(answer.message.printable + (answer.isDuplicate ? " (repeated: answered before)" : ""))
        }
        switch answer.outcome {
        case .juiceMade, .restocked, .cancelled: return
        case .outOfStock: throw ExitCode(Failure.Status.outOfStock.rawValue)
        case .rejected: throw ExitCode(Failure.Status.rejected.rawValue)
        }
    }

    /// The failure of a command without an answer.
    static func noAnswer(to command: OutgoingCommand, within timeout: Duration) -> Failure {
        Failure(
            .unavailable, "no answer to \(word(command.kind)) \(command.id.printable) within \(timeout.inSeconds)",
            hint: "it is written and will be answered once the service runs: see `juice results`")
    }

    private func send(_ command: OutgoingCommand, deadline: Deadline) throws(Failure) -> Producer.Delivery {
        let sender = try CommandSender(clients, timeout: deadline.remaining)
        do throws(Failure) { return try sender.send(command, deadline: deadline) } catch  where error.status == .unavailable {
            var failure = error
            let id = command.id.printable
            let option = command.kind == .cancel ? "for \(id)" : "with --\(Self.word(command.kind))-id \(id)"
            let again = "it may have been written all the same: send it again \(option), and it is carried out once"
            failure.hint = [error.hint, again].compactMap { $0 }.joined(separator: "\n")
            throw failure
        }
    }

    private func sentLine(_ command: OutgoingCommand, _ delivery: Producer.Delivery) -> String {
        "sent \(Self.word(command.kind)) \(command.id.printable) for store \(command.store.printable): "
            + "\(clients.topics[command.kind.topic]) partition \(delivery.partition)"
            + (delivery.offset.map { " offset \($0)" } ?? "")
    }

    private func receipt(_ command: OutgoingCommand, _ delivery: Producer.Delivery) -> String {
        struct Receipt: Encodable {
            var orderId: String?
            var restockId: String?
            let store: String
            let topic: String
            let partition: Int32
            let offset: Int64?
        }
        let receipt = Receipt(
            orderId: command.kind == .restock ? nil : command.id, restockId: command.kind == .restock ? command.id : nil,
            store: command.store, topic: clients.topics[command.kind.topic], partition: delivery.partition,
            offset: delivery.offset)
        return JSONText.line(receipt)
    }

    private static func word(_ kind: CommandKind) -> String {
        switch kind {
        case .order: "order"
        case .restock: "restock"
        case .cancel: "cancel"
        }
    }
}

/// Sends commands and waits for the brokers' acknowledgement.
struct CommandSender {
    private let clients: KafkaClients
    private let producer: Producer

    init(_ clients: KafkaClients, timeout: Duration) throws(Failure) {
        self.clients = clients
        producer = try clients.producer(timeout: timeout)
        try clients.reach(producer, deadline: Deadline(after: timeout))
    }

    /// Sends one command.
    ///
    /// - Returns: the partition and offset of the record.
    /// - Throws: ``Failure``; after a timeout the command may have been written all the same.
    func send(_ command: OutgoingCommand, deadline: Deadline) throws(Failure) -> Producer.Delivery {
        try clients.ask { () throws(KafkaError) in
            try producer.send(
                topic: clients.topics[command.kind.topic], key: Array(command.store.utf8), value: command.value,
                timeout: deadline.remaining)
        }
    }
}

/// Waits for the answer to one command.
///
/// Create it before sending the command: it starts at the current ends of the results topic, so that no answer is missed.
struct AnswerWaiter {
    private let reader: TopicReader
    private let decoder = AnswerDecoder()

    init(_ clients: KafkaClients, deadline: Deadline) throws(Failure) {
        reader = try TopicReader(clients, topic: clients.topics.results, deadline: deadline)
        try reader.startAtEnds()
    }

    /// Waits for the answer to the command with this id.
    ///
    /// - Parameters:
    ///   - kind: what the command is. An order and its cancel have one id.
    ///   - id: the command's id.
    ///   - store: its store.
    ///   - deadline: when to give up.
    /// - Returns: the answer and the record's value; nil if there is none before the deadline.
    func answer(to kind: CommandKind, id: String, store: String, deadline: Deadline) throws(Failure) -> (
        answer: Answer, record: [UInt8]
    )? {
        var found: (Answer, [UInt8])?
        while found == nil && !deadline.isOver {
            try reader.poll(timeout: deadline.step()) { record in
                guard found == nil, let value = record.value, let answer = try? decoder.decode(value) else { return }
                guard answer.command == kind, Name(answer.id) == Name(id), Name(answer.store) == Name(store) else { return }
                found = (answer, Array(value))
            }
        }
        return found
    }
}
