/// Transactions one after the other, on one producer or on several that are used in turn.
///
/// After a commit the broker is still writing markers, and would hold the same producer's next transaction up for 20 ms. The
/// other producer's need not wait. Only one transaction is ever open.
///
/// After an error to start over from, ``initTransactions(timeout:)`` makes all producers anew and takes their transactional
/// ids over: what was open under them is ended and what is late is refused.
public final class TransactionSession {
    private let producers: [TransactionalProducer]
    /// By topic, then by producer.
    private let topics: [[TransactionalTopic]]
    private var current = 0
    private var isTakingOver = false

    /// A session that must be initialised before its first transaction.
    ///
    /// - Parameters:
    ///   - producers: at least one, each with a transactional id of its own.
    ///   - topics: names of topics and librdkafka's properties for each; records are produced to them by their index.
    public init(
        _ producers: [TransactionalProducer],
        topics: [(name: String, properties: [String: String])]
    ) throws(KafkaError) {
        self.producers = producers
        self.topics = try topics.map { topic throws(KafkaError) in
            try producers.map { producer throws(KafkaError) in
                try producer.topic(topic.name, properties: topic.properties)
            }
        }
    }

    /// The names under which a successor ends what this session leaves open.
    public var transactionalIDs: [String] { producers.map(\.transactionalID) }

    /// Whether all transactional ids have been this session's since they were taken over, and still are as far as it knows.
    public var isReady: Bool { producers.allSatisfy(\.isReady) }

    /// Takes over all transactional ids: a predecessor may have left a transaction open under each.
    ///
    /// - Throws: ``KafkaError``; after ``KafkaError/Remedy/retry`` the next call goes on where this one did not.
    public func initTransactions(timeout: Duration) throws(KafkaError) {
        if !isTakingOver { drop() }
        isTakingOver = true
        do throws(KafkaError) {
            // All connect and ask at the same time: each goes on in the background after its call has ended.
            for producer in producers.dropFirst() {
                _ = try? producer.initTransactions(timeout: .milliseconds(1))
            }
            for producer in producers { try producer.initTransactions(timeout: timeout) }
        } catch {
            isTakingOver = error.remedy == .retry
            throw error
        }
        isTakingOver = false
    }

    /// Lets go of all clients and what they have under way.
    public func drop() {
        for producer in producers { producer.drop() }
    }

    /// Begins a transaction, on the next producer that need not be waited for.
    public func begin(timeout: Duration) throws(KafkaError) {
        let others = (1...producers.count).map { (current + $0) % producers.count }
        let next = others.first { producers[$0].isReady } ?? others[0]
        try producers[next].begin(timeout: timeout)
        current = next
    }

    /// Adds a record to the transaction.
    ///
    /// The topic is named by its index among those that the session was made with. A timestamp is in milliseconds since 1970,
    /// heeded only with headers; nil is now.
    public func produce(
        to topic: Int,
        partition: Int32,
        key: UnsafeRawBufferPointer?,
        value: UnsafeRawBufferPointer?,
        headers: [RecordHeader],
        timestamp: Int64? = nil
    ) throws(KafkaError) {
        try topics[topic][current].produce(
            partition: partition,
            key: key,
            value: value,
            headers: headers,
            timestamp: timestamp
        )
    }

    /// Makes the group's committed offsets part of the transaction: see ``TransactionalProducer``.
    ///
    /// First every suspect has to have its id taken over, not only this producer. Late requests of another could together make
    /// a transaction of their own and commit older offsets after these.
    public func sendOffsets(
        _ offsets: [TopicPartition: Offset],
        metadata: String = "",
        membership: ConsumerGroupMetadata,
        timeout: Duration
    ) throws(KafkaError) {
        for producer in producers where !producer.isReady && producer !== producers[current] {
            try producer.initTransactions(timeout: timeout)
        }
        try producers[current].sendOffsets(
            offsets,
            metadata: metadata,
            membership: membership,
            timeout: timeout
        )
    }

    /// Commits. When it returns, the transaction is committed.
    ///
    /// A producer that became a suspect begins at once to take its id over, while the next transaction is another's.
    public func commit(timeout: Duration) throws(KafkaError) {
        try producers[current].commit(timeout: timeout)
        guard producers.count > 1, !producers[current].isReady else { return }
        _ = try? producers[current].initTransactions(timeout: .milliseconds(1))
    }

    /// Serves the producers' hooks. To be called now and then while there is nothing to write.
    public func poll() {
        for producer in producers { producer.poll(timeout: .zero) }
    }
}
