import JuiceMessages
import JuiceService
import Kafka

/// Resends dead letters, each exactly once, however often it is tried.
///
/// The resent record and a note in the dead-letter topic are written in one transaction. All senders share one transactional id, so
/// a new sender fences the previous one, whose transaction is then either committed or aborted. Notes that are read after that are
/// complete, and the sender can commit only until another one starts.
final class DeadLetterSender {
    /// A dead letter and the record to send.
    struct Item {
        let letter: LetterPosition
        let record: ResendPlan.Record
    }

    private let connection: Connection
    private let session: TransactionSession
    /// The output topics, in the session's order.
    private let topics: [String]

    /// Why a batch may not have been sent.
    enum SendError: Error {
        /// The transaction failed or its outcome is unknown. A new sender finds out from the notes.
        case lost(KafkaError)
        /// Retrying would not help, or another sender has taken over.
        case final(KafkaError)
    }

    /// The most letters in a transaction.
    static let batchSize = 100
    private static let callTimeout = Duration.seconds(1)

    /// Fences any other sender of dead letters.
    init(_ connection: Connection, deadline: Deadline) throws(Failure) {
        self.connection = connection
        topics = [connection.topics.orders, connection.topics.restocks, connection.topics.deadLetters]
        session = connection.transactionSession(id: connection.topics.deadLetters + "/resend", topics: topics)
        try connection.ask { () throws(KafkaError) in
            try retrying(while: { !deadline.isOver }) { [session] () throws(KafkaError) in
                try session.initTransactions(timeout: Self.callTimeout)
            }
        }
    }

    /// Sends a batch of letters that have no note yet: all of them or none.
    ///
    /// After an error nothing more can be sent. To take the transactional id over again could fence a sender that started since.
    func send(_ items: ArraySlice<Item>, deadline: Deadline) throws(SendError) {
        do throws(KafkaError) {
            guard !session.hasLostConnection else {
                throw KafkaError(code: .state, message: "a late request may commit half a batch")
            }
            try begin(items)
            try retrying(while: { !deadline.isOver }) { () throws(KafkaError) in try session.commit(timeout: Self.callTimeout) }
        } catch {
            let isFinal = error.remedy == .retry || error.code == .fenced || error.code.isHopeless
            throw isFinal ? .final(error) : .lost(error)
        }
    }

    /// Begins a transaction with these letters.
    func begin(_ items: some Sequence<Item>) throws(KafkaError) {
        try session.begin()
        for item in items {
            try produce(item.record)
            try produce(noteRecord(for: item))
        }
    }

    /// The message for the user that explains the error.
    func failure(_ error: SendError) -> Failure {
        let cause: KafkaError
        switch error {
        case .lost(let error), .final(let error): cause = error
        }
        let again = "run the command again: no letter is sent twice"
        if cause.code == .fenced { return Failure(.unavailable, "another process has started to resend dead letters", hint: again) }
        var failure = connection.failure(cause)
        failure.hint = [failure.hint, again].compactMap { $0 }.joined(separator: "\n")
        return failure
    }

    /// The record that marks a letter as resent.
    private func noteRecord(for item: Item) -> ResendPlan.Record {
        ResendPlan.Record(
            topic: connection.topics.deadLetters, partition: item.letter.partition, key: nil, value: nil,
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
                        to: topic, partition: record.partition, key: record.key == nil ? nil : key,
                        value: record.value == nil ? nil : value, headers: record.headers)
                }
            }
        }
        try result.get()
    }
}
