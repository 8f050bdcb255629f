import Kafka

/// The brokers, and the clients of the benchmark itself, which are the same for all contenders.
struct BenchCluster: Sendable {
    let bootstrapServers: String
    let properties: [String: String]

    init(_ options: ClusterOptions) throws {
        (bootstrapServers, properties) = (options.bootstrapServers, try options.properties)
    }

    func configuration(_ own: [String: String] = [:]) -> KafkaConfiguration {
        KafkaConfiguration(["client.id": "bench"]).merging(properties).merging(own)
            .merging(["bootstrap.servers": bootstrapServers, "allow.auto.create.topics": "false"])
    }

    /// A producer that writes each record to the partition that owns its store, at the pace of these librdkafka properties.
    func producer(_ pace: [String: String]) throws(KafkaError) -> Producer {
        let fixed = ["enable.idempotence": "true", "partitioner": "murmur2_random"]
        return try Producer(configuration: configuration(pace).merging(fixed), hooks: .silent)
    }

    /// A consumer of committed records, which joins no group.
    func consumer() throws(KafkaError) -> Consumer {
        let own = [
            "group.id": "juice-bench", "isolation.level": "read_committed", "auto.offset.reset": "earliest",
            "enable.auto.commit": "false", "enable.partition.eof": "true", "fetch.wait.max.ms": "10",
            "queued.max.messages.kbytes": "16384",
        ]
        return try Consumer(configuration: configuration(own), hooks: .silent)
    }
}
