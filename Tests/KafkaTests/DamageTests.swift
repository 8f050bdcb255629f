import BrokerFaults
import Kafka
import TestSupport
import Testing

/// Records whose bytes have changed in the log are never taken for data, and nothing after them is read by accident.
@Suite(.concurrencyLimited) struct DamageTests {
    private static let partition = TopicPartition(topic: "in", partition: 0)

    /// What librdkafka does after the error depends on the size of the batch: it reads it again and again, or from a place that it
    /// takes out of the damaged bytes.
    @Test(
        arguments: [
            (EmbeddedBroker.Damage.bit, KafkaError.Code.badMessage), (.compression, .badCompression),
        ],
        [10, 5_000]
    )
    func damageIsToldBeforeAnythingElse(
        _ damage: (kind: EmbeddedBroker.Damage, code: KafkaError.Code),
        size: Int
    ) async throws {
        try await onThread {
            let broker = try EmbeddedBroker.start(topics: ["in": 1])
            let value = String(repeating: "x", count: size)
            try broker.append("before", damaged: nil, to: Self.partition)
            try broker.append(value, damaged: damage.kind, to: Self.partition)
            try broker.append("after", damaged: nil, to: Self.partition)
            // Nobody can switch the check off.
            let consumer = try broker.consumer(["auto.offset.reset": "error", "check.crcs": "false"])
            try consumer.assign([Self.partition: 0])
            var failure: KafkaError?
            var values: [String] = []
            try poll(consumer, until: { failure != nil }) { element in
                switch element {
                case .record(let record) where failure == nil: values.append(record.value?.text ?? "")
                case .failure(Self.partition, let error): failure = failure ?? error
                default: break
                }
            }
            #expect(values == ["before"])
            #expect(failure?.code == damage.code)
            #expect(failure?.code.isDamage == true)
            #expect(failure?.offset == 1)

            // Whoever wants to can read on behind it.
            try consumer.assign([Self.partition: 2])
            try poll(consumer, until: { values.count > 1 }) { element in
                if case .record(let record) = element { values.append(record.value?.text ?? "") }
            }
            #expect(values == ["before", "after"])
            consumer.close()
        }
    }

    @Test func damageEndsAMembership() async throws {
        try await onThread {
            let broker = try EmbeddedBroker.start(topics: ["in": 1])
            try broker.append("before", damaged: nil, to: Self.partition)
            try broker.append("damaged", damaged: .bit, to: Self.partition)
            let reader = GroupReader(
                of: ["in"], configuration: broker.client(["group.id": "test"]),
                watch: BrokerWatch(bootstrapServers: broker.bootstrapServers, logger: quietHooks.logger), hooks: quietHooks)
            let deadline = ContinuousClock.now + .seconds(60)
            let error = #expect(throws: KafkaError.self) {
                while .now < deadline {
                    if case .rebalanced = try reader.poll(maxRecords: 10), let offsets = try reader.startOffsets() {
                        try reader.start(at: offsets)
                    }
                }
            }
            #expect(error?.code == .badMessage)
        }
    }
}
