/// Runs one transaction after the other, on one producer or on several used in turn.
///
/// After a commit the broker is still writing markers, which would delay the same producer's next transaction by 20 ms or, with
/// librdkafka 2.0.2, 100 ms. Another producer's need not wait. At most one transaction is open at a time.
///
/// After ``KafkaError/Remedy/startOver``, ``initTransactions(timeout:)`` replaces all producers' clients and takes over their
/// transactional ids: that ends what was open under them, and brokers refuse late requests.
public final class TransactionSession {
    private let producers: [TransactionalProducer]
    /// By topic, then by producer.
    private let topics: [[TransactionalTopic]]
    private var current = 0
    private var isTakingOver = false

    /// A session that must be initialised before its first transaction.
    ///
    /// - Parameters:
    ///   - producers: at least one, each with its own transactional id.
    ///   - topics: the topics' names and librdkafka's properties for each.
    ///     ``produce(to:partition:key:value:headers:timestamp:)`` refers to a topic by its index here.
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

    /// The ids under which a successor ends what this session leaves open.
    public var transactionalIDs: [String] { producers.map(\.transactionalID) }

    /// Whether no producer has to take over its transactional id again.
    public var isReady: Bool { producers.allSatisfy(\.isReady) }

    /// Takes over all transactional ids, since a predecessor may have left a transaction open under each.
    ///
    /// - Throws: ``KafkaError``; after ``KafkaError/Remedy/retry`` the next call continues where this one stopped.
    public func initTransactions(timeout: Duration) throws(KafkaError) {
        if !isTakingOver { drop() }
        isTakingOver = true
        do throws(KafkaError) {
            // All connect and ask at the same time: each goes on in the background after its call has returned.
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

    /// Drops all clients and everything they have in progress.
    public func drop() {
        for producer in producers { producer.drop() }
    }

    /// Begins a transaction on the next producer in turn, or on the same one again if that has to take over its id first: its new
    /// client has just found its coordinator, while the coordinators of the others may have moved, too.
    public func begin(timeout: Duration) throws(KafkaError) {
        let next = producers[current].isReady ? (current + 1) % producers.count : current
        try producers[next].begin(timeout: timeout)
        current = next
    }

    /// Adds a record to the transaction.
    ///
    /// `topic` is an index into the topics that the session was made with. The timestamp, in milliseconds since 1970, is
    /// ignored for records without headers; nil is now.
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
    /// Every suspect takes over its id first, not only the current producer: late requests of another could together form a
    /// transaction and commit older offsets after these.
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
    /// A producer that became a suspect begins at once to take over its id, while the worker polls.
    public func commit(timeout: Duration) throws(KafkaError) {
        try producers[current].commit(timeout: timeout)
        guard producers.count > 1, !producers[current].isReady else { return }
        _ = try? producers[current].initTransactions(timeout: .milliseconds(1))
    }

    /// Serves the producers' hooks. Call it now and then while there is nothing to write.
    public func poll() {
        for producer in producers { producer.poll(timeout: .zero) }
    }
}
