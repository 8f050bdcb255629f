import JuiceMessages
import Kafka

/// The answers and refills on Kafka: a member of the bots' group, and an idempotent producer.
package final class KafkaAnswerLog: AnswerLog {
    private let reader: GroupReader
    private let topic: String
    private let configuration: KafkaConfiguration
    private let hooks: ClientHooks
    /// Nil after a record was not acknowledged: a producer that expired or met a fatal error would deliver none any more.
    private var producer: Producer?

    /// A log that joins the group at the first poll, as a dynamic member, so that one host can run several bots.
    ///
    /// - Parameter fetchWait: how long a broker may hold back an empty fetch, in milliseconds.
    package init(
        base: KafkaConfiguration, group: String, topics: TopicNames, fetchWait: Int, watch: BrokerWatch, hooks: ClientHooks
    ) {
        let fetching = ["fetch.wait.max.ms": "\(fetchWait)", "queued.max.messages.kbytes": "16384"]
        let configuration = KafkaConfiguration(fetching).merging(base.properties).merging(["group.id": group])
        reader = GroupReader(of: [topics.results], configuration: configuration, watch: watch, hooks: hooks)
        // A refill that is not delivered within this time is decided again.
        self.configuration = KafkaConfiguration(["linger.ms": "0", "message.timeout.ms": "5000"]).merging(base.properties).merging([
            "enable.idempotence": "true"
        ])
        (topic, self.hooks) = (topics.restocks, hooks)
    }

    package func poll() throws(KafkaError) -> AnswerPoll {
        // Events of a client wait until it is polled.
        producer?.poll(timeout: .zero)
        guard case .records(let all, let ends) = try reader.poll(maxRecords: 10_000) else { return .rebalanced }
        var answers: [AnswerRecord] = []
        for case .record(let record) in all {
            let partition = TopicPartition(topic: record.topic, partition: record.partition)
            answers.append((partition, record.offset, record.timestamp ?? 0, record.value))
        }
        return .answers(answers, ends: ends)
    }

    package func send(_ refills: [Refill]) throws(KafkaError) {
        if producer == nil { producer = try Producer(configuration: configuration, hooks: hooks) }
        let client = producer
        // Kept only if all records are acknowledged. Dropping it withdraws those still in its queue.
        producer = nil
        // A store's answers and its restocks have the same partition.
        try client?.send(
            refills.map {
                let (key, value) = (Array($0.store.utf8), $0.value)
                return .init(topic: topic, partition: $0.partition, key: key, value: value, timestamp: $0.time)
            })
        producer = client
    }

    package func positions() throws(KafkaError) -> Positions? { try reader.startOffsets() }
    package func start(at positions: Positions) throws(KafkaError) { try reader.start(at: positions) }
    package func commit(_ positions: Positions) throws(KafkaError) { try reader.commit(positions) }
    package func leave() { reader.close() }
}
