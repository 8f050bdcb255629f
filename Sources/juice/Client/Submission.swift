import ArgumentParser
import Foundation
import JuiceDomain
import JuiceMessages
import Kafka

struct SubmissionOptions: ParsableArguments {
    @Option("The store. A name that no command has used before is a new store.", .store) var store = StoreID.main
    @Flag("Wait for the answer and print it.") var wait = false
    @Flag("Print JSON: the place of the command, or with --wait the answer and its place.") var json = false
    @Option("The language of the answer. Unless given, it is the service's.", .word) var language: Language?
    @OptionGroup var menu: MenuOptions

    /// Sends a command for a user or a script, and prints the outcome.
    ///
    /// - Throws: `ExitCode` if the command was not carried out; ``Failure`` without an answer.
    func submit(_ command: OutgoingCommand, _ client: ClientOptions) throws {
        let clients = try KafkaClients(client)
        let (id, deadline) = (command.id.printable, clients.deadline)
        let answers = wait ? try clients.newAnswers() : nil
        let (delivery, timestamp) = try clients.send(command, deadline: deadline)
        let topic = clients.topics[command.kind.topic]
        if !json {
            let offset = delivery.offset.map { " offset \($0)" } ?? ""
            let place = "\(topic) partition \(delivery.partition)\(offset)"
            StandardOutput.line("sent \(command.kind) \(id) for store \(StoreID.visible(command.store)): \(place)")
        } else if !wait {
            // A broker that got the record twice does not report its offset.
            let place = delivery.offset.map { RecordPlace(timestamp: timestamp, partition: delivery.partition, offset: $0) }
            let names = [("topic", topic), ("store", command.store), ("\(command.kind.idField)", command.id)]
            StandardOutput.jsonLines([RecordLine.json(place, names.map { ($0, JSONText.line($1)) }, record: nil)])
        }
        guard let answers else { return }
        guard let (answer, line) = try answers.answer(to: command, deadline: deadline) else {
            throw Failure(
                .unavailable, "no answer to \(command.kind) \(id) within \(DurationText.text(client.timeout))",
                hint: "it is written and will be answered once the service runs: see `juice show`")
        }
        if json {
            StandardOutput.jsonLines([line])
        } else {
            let message = try language.map { answer.message(in: $0, menu: try menu.load()) } ?? answer.message
            StandardOutput.line(message.printable + (answer.isDuplicate ? " (repeated: answered before)" : ""))
        }
        guard !answer.isCarriedOut else { return }
        throw ExitCode((answer.type == .outOfStock ? Failure.Status.outOfStock : .rejected).rawValue)
    }
}

extension Answer {
    /// Whether the command did what it asks for, now or when it was answered first.
    var isCarriedOut: Bool {
        if case .answerLost(let was) = outcome { return was == FormerOutcome(of: command, isCarriedOut: true).name }
        return type != .outOfStock && type != .rejected
    }
}

extension KafkaClients {
    /// Sends one command, and waits until a broker has stored it.
    ///
    /// - Returns: the place of its record, and its timestamp in milliseconds since 1970.
    /// - Throws: ``Failure``, which says so if the command may have been written nevertheless.
    func send(
        _ command: OutgoingCommand, deadline: Deadline
    ) throws(Failure) -> (delivery: Producer.Delivery, timestamp: Int64) {
        let producer = try producer(timeout: deadline.remaining)
        try reach(producer)
        _ = try partitionCount(of: topics[command.kind.topic], asking: producer)
        let now = Int64(Date.now.timeIntervalSince1970 * 1000)
        do throws(Failure) {
            let delivery = try call(
                try producer.send(
                    topic: topics[command.kind.topic], key: Array(command.store.utf8), value: command.value, timestamp: now,
                    timeout: deadline.remaining))
            return (delivery, now)
        } catch {
            // After any other failure, the record was not sent.
            guard error.status == .unavailable else { throw error }
            let again = "send it again under its id, \(command.id.printable), and it is carried out once"
            throw error.with("it may have been written all the same: \(again)")
        }
    }

    /// A reader of the answers from now on. Create it before sending a command, so that it misses no answer.
    func newAnswers() throws(Failure) -> TopicReader {
        let reader = try TopicReader(self, topic: topics.results)
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
                // Commands of different kinds may share an id.
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
