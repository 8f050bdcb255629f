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
    /// Whether the store was given, and can be mistyped.
    private let isStoreGiven: Bool
    /// How answers are phrased, if a language was given: the service may speak another one.
    private let phrasing: (language: Language, menu: Menu)?

    init(_ settings: Settings) throws(Failure) {
        clients = try KafkaClients(settings)
        (waits, printsJSON, timeout) = (try settings[.wait], try settings[.json], try settings[.timeout])
        isStoreGiven = try settings[.store] != nil
        phrasing = try settings.all(.language).isEmpty ? nil : (settings[.language], settings.menu())
    }

    /// The id of a command: the configured one, or a new one.
    static func id(_ settings: Settings, _ setting: Setting<String?>) throws(Failure) -> String {
        try settings[setting] ?? UUID().uuidString.lowercased()
    }

    /// Sends the command, and waits for the answer if asked to.
    ///
    /// - Throws: `ExitCode` for an answer other than made, restocked or cancelled; ``Failure`` without an answer.
    func run(_ command: OutgoingCommand) throws {
        let found = try exchange(command)
        guard waits else { return }
        guard let (answer, line) = found else { throw Self.noAnswer(to: command, within: timeout) }
        if printsJSON {
            StandardOutput.jsonLines([line])
        } else {
            let message = phrasing.map { answer.message(in: $0.language, menu: $0.menu) } ?? answer.message
            StandardOutput.line(message.printable + (answer.isDuplicate ? " (repeated: answered before)" : ""))
        }
        switch answer.outcome {
        case .juiceMade, .restocked, .cancelled: return
        case .outOfStock: throw ExitCode(Failure.Status.outOfStock.rawValue)
        case .answerLost(let was) where answer.command == .cancel ? was == "cancelled" : ["made", "restocked"].contains(was): return
        case .rejected, .answerLost: throw ExitCode(Failure.Status.rejected.rawValue)
        }
    }

    /// Sends the command, says where it was written, and returns the answer if there is one in time, and its line of JSON.
    private func exchange(_ command: OutgoingCommand) throws(Failure) -> (answer: Answer, line: [UInt8])? {
        let deadline = Deadline(after: timeout)
        let answers = waits ? try clients.newAnswers(timeout: timeout) : nil
        if isStoreGiven, let warning = clients.warning(aboutNew: command.store, deadline: deadline) {
            StandardError.write("juice: \(warning)\n")
        }
        let (delivery, timestamp): (Producer.Delivery, Int64)
        do throws(Failure) {
            (delivery, timestamp) = try clients.send(command, deadline: deadline)
        } catch  where error.status == .unavailable {
            var failure = error
            let id = command.id.printable
            let again =
                "it may have been written all the same: send it again "
                + (command.kind == .cancel ? "for \(id)" : "with --\(command.kind)-id \(id)") + ", and it is carried out once"
            failure.hint = [error.hint, again].compactMap(\.self).joined(separator: "\n")
            throw failure
        }
        let topic = clients.topics[command.kind.topic]
        if !printsJSON {
            let (id, store) = (command.id.printable, StoreID.visible(command.store))
            let offset = delivery.offset.map { " offset \($0)" } ?? ""
            StandardOutput.line("sent \(command.kind) \(id) for store \(store): \(topic) partition \(delivery.partition)\(offset)")
        } else if !waits {
            // Without time and offset if the broker did not report the offset.
            let place = delivery.offset.map { RecordPlace(timestamp: timestamp, partition: delivery.partition, offset: $0) }
            let id = command.kind == .restock ? "restockId" : "orderId"
            let names = [("topic", topic), ("store", command.store), (id, command.id)]
            let partition: [(name: String, json: String)] = place == nil ? [("partition", "\(delivery.partition)")] : []
            let line = RecordLine.json(place, partition + names.map { ($0, JSONText.line($1)) }, record: nil)
            StandardOutput.jsonLines([line])
        }
        return try answers?.answer(to: command, deadline: deadline)
    }

    static func noAnswer(to command: OutgoingCommand, within timeout: Duration) -> Failure {
        Failure(
            .unavailable, "no answer to \(command.kind) \(command.id.printable) within \(DurationText.text(timeout))",
            hint: "it is written and will be answered once the service runs: see `juice show`")
    }
}

extension KafkaClients {
    /// Sends one command, and waits until a broker has stored it.
    ///
    /// - Returns: the place of its record, and its timestamp in milliseconds since 1970.
    /// - Throws: ``Failure``; after a timeout the command may have been written all the same.
    func send(
        _ command: OutgoingCommand, deadline: Deadline
    ) throws(Failure) -> (delivery: Producer.Delivery, timestamp: Int64) {
        let producer = try producer(timeout: deadline.remaining)
        try reach(producer, deadline: deadline)
        _ = try partitionCount(of: topics[command.kind.topic], asking: producer, until: deadline)
        let now = Int64(Date.now.timeIntervalSince1970 * 1000)
        let delivery = try call(
            try producer.send(
                topic: topics[command.kind.topic], key: Array(command.store.utf8), value: command.value, timestamp: now,
                timeout: deadline.remaining))
        return (delivery, now)
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
        let filter = AnswerFilter(store: command.store)
        while !deadline.isOver {
            var found: (Answer, [UInt8])?
            try poll(timeout: deadline.step()) { record in
                // An order and its cancel have one id.
                guard found == nil, let entry = filter.entry(record), let answer = entry.answer, answer.command == command.kind,
                    Name(answer.id) == Name(command.id)
                else { return }
                found = (answer, RecordLine.json(entry.place, record: entry.bytes))
            }
            if let found { return found }
        }
        return nil
    }
}
