import JuiceEngine
import Kafka

/// A worker's transactions: two producers used in turn, and the topics that they write to.
struct ServiceTransactions {
    private let session: TransactionSession
    private let owner: String

    init(
        configuration: ServiceConfiguration,
        worker: Int,
        hooks: ClientHooks,
        metrics: WorkerMetrics?
    ) throws(KafkaError) {
        let owner = configuration.ownerName(worker: worker)
        self.owner = owner
        let producers = try ServiceConfiguration.turns.map { turn throws(KafkaError) in
            try TransactionalProducer(
                configuration: configuration.producer(owner: owner, turn: turn),
                hooks: hooks.reporting(.producer(turn: turn), to: metrics)
            )
        }
        session = try TransactionSession(
            producers,
            topics: OutputTopic.allCases.map { topic in
                // What came compressed may be too large to be handed on without.
                let isHandedOn = topic != .results && topic != .stock
                return (configuration.topics[topic], isHandedOn ? ["compression.type": "zstd"] : [:])
            }
        )
    }

    func initTransactions(timeout: Duration) throws(KafkaError) {
        try session.initTransactions(timeout: timeout)
    }

    func begin(timeout: Duration) throws(KafkaError) { try session.begin(timeout: timeout) }

    /// Adds a record to the present transaction.
    ///
    /// - Throws: ``KafkaError``, always with ``KafkaError/Remedy/startOver``.
    func produce(_ record: OutputRecord, partition: Int32) throws(KafkaError) {
        try session.produce(
            to: record.topic.rawValue,
            partition: partition,
            key: record.key,
            value: record.value,
            headers: record.headers.map { RecordHeader(name: $0.name, value: $0.value) },
            timestamp: record.timestamp
        )
    }

    func sendOffsets(
        _ offsets: [TopicPartition: Offset],
        partitionCount: Int32,
        membership: ConsumerGroupMetadata,
        timeout: Duration
    ) throws(KafkaError) {
        let note = OwnerNote(
            owner: owner,
            transactionalIDs: session.transactionalIDs,
            partitionCount: partitionCount
        )
        try session.sendOffsets(offsets, note: note.text, membership: membership, timeout: timeout)
    }

    func commit(timeout: Duration) throws(KafkaError) { try session.commit(timeout: timeout) }

    /// The transactional ids that are in use now.
    var transactionalIDs: [String] { session.transactionalIDs }

    /// Lets go of the producers and what they have under way.
    func drop() { session.drop() }

    /// Serves the producers' hooks, without which they would keep all they have to tell.
    func poll() { session.poll() }
}
