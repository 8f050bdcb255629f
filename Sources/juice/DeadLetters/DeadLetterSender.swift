import JuiceClient
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
    private let session: TransactionSession
    /// The topics that are written to, in the session's order.
    private let topics: [String]

    /// Why letters are not known to be sent.
    enum SendError: Error {
        /// The transaction failed, or its outcome is unknown: whoever begins anew and reads the notes knows.
        case lost(KafkaError)
        /// Beginning anew would change nothing, or is not this sender's to do.
        case final(KafkaError)
    }

    /// The most letters in a transaction.
    static let batchSize = 100
    private static let callTimeout = Duration.seconds(1)

    /// Fences whoever else is sending dead letters.
    init(_ connection: Connection, deadline: Deadline) throws(Failure) {
        self.connection = connection
        let producer = try connection.transactionalProducer(id: connection.topics.deadLetters + "/resend")
        topics = [connection.topics.orders, connection.topics.restocks, connection.topics.deadLetters]
        do throws(KafkaError) {
            // What came compressed may be too large to be handed on without.
            session = try TransactionSession(
                [producer],
                topics: topics.map { ($0, ["compression.type": "zstd"]) }
            )
            try retrying(while: { !deadline.isOver }) { [session] () throws(KafkaError) in
                try session.initTransactions(timeout: Self.callTimeout)
            }
        } catch {
            throw connection.failure(error)
        }
    }

    /// Sends letters that have no note yet, all of them or none.
    func send(_ items: ArraySlice<Item>, deadline: Deadline) throws(SendError) {
        do throws(KafkaError) {
            // Nobody else can have begun since, but for one reason: the session would take its id over anew.
            guard session.isReady else {
                throw KafkaError(code: .state, message: "somebody else may have begun to send dead letters")
            }
            try begin(items)
            try retrying(while: { !deadline.isOver }) { () throws(KafkaError) in
                try session.commit(timeout: Self.callTimeout)
            }
        } catch {
            let isFinal = error.remedy == .retry || error.code == .fenced || error.code.isHopeless
            throw isFinal ? .final(error) : .lost(error)
        }
    }

    /// Begins a transaction of these letters.
    func begin(_ items: some Sequence<Item>) throws(KafkaError) {
        try session.begin(timeout: Self.callTimeout)
        for item in items {
            try produce(item.record)
            try produce(note(of: item))
        }
    }

    /// What the error means to whoever typed the command.
    func failure(_ error: SendError) -> Failure {
        let cause: KafkaError
        switch error {
        case .lost(let error), .final(let error): cause = error
        }
        let again = "run it again: what was sent is known, and not sent twice"
        if cause.code == .fenced {
            return Failure(.unavailable, "somebody else has begun to send dead letters", hint: again)
        }
        var failure = connection.failure(cause)
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
        guard let topic = topics.firstIndex(of: record.topic) else {
            throw KafkaError(code: .unknownTopic, message: record.topic, requiresAbort: true)
        }
        let result: Result<Void, KafkaError> = (record.key ?? []).withUnsafeBytes { key in
            (record.value ?? []).withUnsafeBytes { value in
                Result { () throws(KafkaError) in
                    try session.produce(
                        to: topic,
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
}
