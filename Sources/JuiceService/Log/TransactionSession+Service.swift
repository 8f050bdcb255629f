import JuiceEngine
import JuiceMessages
import Kafka

extension TransactionSession {
    /// A worker's transactions: producers used in turn, and the topics they write to, indexed by ``Topic``.
    convenience init(
        configuration: ServiceConfiguration,
        worker: Int,
        appliedOffsets: AppliedOffsets?,
        hooks: ClientHooks,
        metrics: WorkerMetrics?
    ) throws(KafkaError) {
        let owner = configuration.ownerName(worker: worker)
        let silence = BrokerSilence()
        let producers = try ServiceConfiguration.producerIndices.map { index throws(KafkaError) in
            try TransactionalProducer(
                configuration: configuration.producer(owner: owner, index: index),
                hooks: hooks.reporting(.producer(index: index), to: metrics),
                decisionTimeout: .seconds(1),
                silence: silence,
                appliedOffsets: appliedOffsets
            )
        }
        try self.init(
            producers,
            topics: Topic.allCases.map { topic in
                // A record that arrived compressed may be too large to forward uncompressed.
                let isHandedOn = topic != .results && topic != .stock
                return (configuration.topics[topic], isHandedOn ? ["compression.type": "zstd"] : [:])
            }
        )
    }
}
