import JuiceMessages
import JuiceService
import Kafka

/// Sends dead letters again, each exactly once, however often somebody tries.
///
/// The record that is sent and a note of it among the dead letters are one transaction, and all who send use one transactional
/// id: whoever begins fences the one before, whose transaction is then either seen or never was. So whoever reads the notes
/// after that knows of every letter that was sent, and can commit only as long as nobody else has begun.
final class DeadLetterSender {
    /// One letter and what is sent in its place.
    struct Item {
        let letter: LetterPosition
        let record: ResendPlan.Record
    }

    private let connection: Connection
    private let producer: TransactionalProducer
    private let topics: [String: TransactionalTopic]

    /// The most letters in a transaction.
    static let batchSize = 100
    private static let callTimeout = Duration.seconds(1)

    /// Fences whoever else is sending dead letters.
    init(_ connection: Connection, deadline: Deadline) throws(Failure) {
        self.connection = connection
        let producer = try connection.transactionalProducer(id: connection.topics.deadLetters + "/resend")
        self.producer = producer
        do throws(KafkaError) {
            var topics: [String: TransactionalTopic] = [:]
            let names = connection.topics
            for name in [names.orders, names.restocks, names.deadLetters] {
                // What came compressed may be too large to be handed on without.
                topics[name] = try producer.topic(name, properties: ["compression.type": "zstd"])
            }
            self.topics = topics
            try Self.retrying(deadline) { () throws(KafkaError) in
                try producer.initTransactions(timeout: Self.callTimeout)
            }
        } catch {
            throw connection.failure(error)
        }
    }

    /// Sends letters that have no note yet, all of them or none.
    ///
    /// - Throws: ``Failure``; where nobody confirmed it, they may have been sent all the same, and the notes tell.
    func send(_ items: [Item], deadline: Deadline) throws(Failure) {
        do throws(KafkaError) {
            try begin(items)
            try Self.retrying(deadline) { () throws(KafkaError) in
                try producer.commit(timeout: Self.callTimeout)
            }
        } catch {
            if error.remedy == .abort { _ = try? producer.abort(timeout: Self.callTimeout) }
            throw failure(error)
        }
    }

    /// Begins a transaction of these letters.
    func begin(_ items: [Item]) throws(KafkaError) {
        try producer.begin()
        for item in items {
            try produce(item.record)
            try produce(note(of: item))
        }
    }

    private func failure(_ error: KafkaError) -> Failure {
        let again = "run it again: what was sent is known, and not sent twice"
        if error.code == .fenced {
            return Failure(.unavailable, "somebody else has begun to send dead letters", hint: again)
        }
        var failure = connection.failure(error)
        failure.hint = [failure.hint, again].compactMap { $0 }.joined(separator: "\n")
        return failure
    }

    private func note(of item: Item) -> ResendPlan.Record {
        ResendPlan.Record(
            topic: connection.topics.deadLetters,
            partition: item.letter.partition,
            key: nil,
            value: nil,
            headers: [
                RecordHeader(name: HeaderName.resentLetter, value: item.letter.headerText),
                RecordHeader(
                    name: HeaderName.resentTo,
                    value: "\(item.record.topic)/\(item.record.partition)"
                ),
            ]
        )
    }

    private func produce(_ record: ResendPlan.Record) throws(KafkaError) {
        guard let topic = topics[record.topic] else {
            throw KafkaError(code: .unknownTopic, message: record.topic, requiresAbort: true)
        }
        let result: Result<Void, KafkaError> = (record.key ?? []).withUnsafeBytes { key in
            (record.value ?? []).withUnsafeBytes { value in
                Result { () throws(KafkaError) in
                    try topic.produce(
                        partition: record.partition,
                        key: record.key == nil ? nil : key,
                        value: record.value == nil ? nil : value,
                        headers: record.headers
                    )
                }
            }
        }
        try result.get()
    }

    private static func retrying(
        _ deadline: Deadline,
        _ call: () throws(KafkaError) -> Void
    ) throws(KafkaError) {
        while true {
            do throws(KafkaError) {
                return try call()
            } catch {
                guard error.remedy == .retry, !deadline.isOver else { throw error }
            }
        }
    }
}
