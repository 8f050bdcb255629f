import JuiceEngine
import Kafka

/// Two transactional producers, used in turn.
///
/// After a commit the broker is still writing the transaction's markers, and would make the same producer's next
/// transaction wait 20 ms for that. The other producer's need not wait.
struct ProducerPair {
    private struct Slot {
        let producer: TransactionalProducer
        let results: TransactionalTopic
        let stock: TransactionalTopic
        let deadLetters: TransactionalTopic

        init(_ configuration: KafkaConfiguration, topics: TopicNames, hooks: ClientHooks) throws(KafkaError) {
            producer = try TransactionalProducer(configuration: configuration, hooks: hooks)
            results = try producer.topic(topics.results)
            stock = try producer.topic(topics.stock)
            // What came compressed may be too large to be put aside without.
            deadLetters = try producer.topic(topics.deadLetters, properties: ["compression.type": "zstd"])
        }
    }

    private let slots: [Slot]
    private var turn = 0
    private var readyCount = 0

    init(configuration: ServiceConfiguration, worker: Int, hooks: ClientHooks) throws(KafkaError) {
        let topics = configuration.topics
        slots = [
            try Slot(configuration.producer(worker: worker, turn: 0), topics: topics, hooks: hooks),
            try Slot(configuration.producer(worker: worker, turn: 1), topics: topics, hooks: hooks),
        ]
    }

    /// The producer of the present transaction.
    var current: TransactionalProducer { slots[turn].producer }

    /// Adds a record to the present transaction, and while the producer's queue is full waits for some of it to be sent.
    ///
    /// - Throws: ``KafkaError``, always with ``KafkaError/Remedy/abort``: whatever keeps one record out keeps the
    ///   transaction from being complete.
    func produce(_ record: OutputRecord, partition: Int32) throws(KafkaError) {
        let topic = topic(record.topic)
        let headers = record.headers.map { RecordHeader(name: $0.name, value: $0.value) }
        let deadline = ContinuousClock.now + .seconds(1)
        while true {
            do throws(KafkaError) {
                return try topic.produce(
                    partition: partition,
                    key: record.key,
                    value: record.value,
                    headers: headers
                )
            } catch {
                guard error.code == .queueFull, ContinuousClock.now < deadline else {
                    throw KafkaError(code: error.code, message: error.message, requiresAbort: true)
                }
                current.poll(timeout: .milliseconds(10))
            }
        }
    }

    private func topic(_ topic: OutputTopic) -> TransactionalTopic {
        switch topic {
        case .results: slots[turn].results
        case .stock: slots[turn].stock
        case .deadLetters: slots[turn].deadLetters
        }
    }

    /// Hands the turn to the other producer.
    mutating func takeTurns() { turn = 1 - turn }

    /// Whether both transactional ids are taken over.
    var isReady: Bool { readyCount == slots.count }

    /// Takes over both transactional ids: a predecessor may have left a transaction open under either. A call that ends
    /// with ``KafkaError/Remedy/retry`` is resumed by the next.
    mutating func initTransactions(timeout: Duration) throws(KafkaError) {
        while !isReady {
            try slots[readyCount].producer.initTransactions(timeout: timeout)
            readyCount += 1
        }
    }
}
