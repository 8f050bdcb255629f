import JuiceEngine
import Kafka

/// Two transactional producers, used in turn.
///
/// After a commit the broker is still writing the transaction's markers, and would make the same producer's next
/// transaction wait 20 ms for that. The other producer's need not wait.
struct ProducerPair {
    private final class Slot {
        let producer: TransactionalProducer
        private let results: TransactionalTopic
        private let stock: TransactionalTopic
        private let deadLetters: TransactionalTopic
        private let orders: TransactionalTopic
        private let restocks: TransactionalTopic

        init(_ configuration: KafkaConfiguration, topics: TopicNames, hooks: ClientHooks) throws(KafkaError) {
            producer = try TransactionalProducer(configuration: configuration, hooks: hooks)
            results = try producer.topic(topics.results)
            stock = try producer.topic(topics.stock)
            // What came compressed may be too large to be handed on without.
            deadLetters = try producer.topic(topics.deadLetters, properties: ["compression.type": "zstd"])
            orders = try producer.topic(topics.orders, properties: ["compression.type": "zstd"])
            restocks = try producer.topic(topics.restocks, properties: ["compression.type": "zstd"])
        }

        func topic(_ topic: OutputTopic) -> TransactionalTopic {
            switch topic {
            case .results: results
            case .stock: stock
            case .deadLetters: deadLetters
            case .orders: orders
            case .restocks: restocks
            }
        }
    }

    private let slots: [Slot]
    private var turn = 0
    /// Producers whose transactional id is taken over, by their place in `slots`. Asking them again would be an error.
    private var ready: Set<Int> = []
    private var hasBegun = false

    init(
        configuration: ServiceConfiguration,
        worker: Int,
        hooks: ClientHooks,
        metrics: WorkerMetrics?
    ) throws(KafkaError) {
        let topics = configuration.topics
        let owner = configuration.ownerName(worker: worker)
        var slots: [Slot] = []
        for turn in ServiceConfiguration.turns {
            slots.append(
                try Slot(
                    configuration.producer(owner: owner, turn: turn),
                    topics: topics,
                    hooks: hooks.reporting(.producer(turn: turn), to: metrics)
                )
            )
        }
        self.slots = slots
    }

    /// The producer of the present transaction.
    var current: TransactionalProducer { slots[turn].producer }

    /// Adds a record to the present transaction.
    ///
    /// - Throws: ``KafkaError``, always with ``KafkaError/Remedy/abort``.
    func produce(_ record: OutputRecord, partition: Int32) throws(KafkaError) {
        let headers = record.headers.map { RecordHeader(name: $0.name, value: $0.value) }
        try slots[turn].topic(record.topic).produce(
            partition: partition,
            key: record.key,
            value: record.value,
            headers: headers
        )
    }

    /// Hands the turn to the other producer.
    mutating func takeTurns() { turn = 1 - turn }

    /// Whether both transactional ids are taken over.
    var isReady: Bool { ready.count == slots.count }

    /// Takes over both transactional ids: a predecessor may have left a transaction open under either. A call that ends
    /// with ``KafkaError/Remedy/retry`` is resumed by the next.
    mutating func initTransactions(timeout: Duration) throws(KafkaError) {
        if !hasBegun {
            hasBegun = true
            // All connect and ask at the same time: each goes on in the background after its call has ended.
            for index in slots.indices.dropFirst() { _ = try? takeOver(index, timeout: .milliseconds(1)) }
        }
        for index in slots.indices { try takeOver(index, timeout: timeout) }
    }

    private mutating func takeOver(_ index: Int, timeout: Duration) throws(KafkaError) {
        guard !ready.contains(index) else { return }
        try slots[index].producer.initTransactions(timeout: timeout)
        ready.insert(index)
    }

    /// The same, for whoever does not want to know why it failed.
    ///
    /// - Returns: whether both are taken over.
    mutating func tryInitTransactions(timeout: Duration) -> Bool {
        (try? initTransactions(timeout: timeout)) != nil
    }
}
