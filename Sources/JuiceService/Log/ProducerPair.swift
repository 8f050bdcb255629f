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
            deadLetters = try producer.topic(topics.deadLetters)
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

    /// A topic as the present transaction's producer addresses it.
    func topic(_ topic: OutputTopic) -> TransactionalTopic {
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
