import Foundation
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

/// How many records a topic has, seen from outside in the same way for all writers.
///
/// It counts offsets. Transaction markers and notes in the journal take about 1 in 500 of them. Use it on one thread.
final class RecordCount {
    private let consumer: Consumer
    private let partitions: [TopicPartition]

    init(_ cluster: BenchCluster, of topic: String, partitions count: Int) throws(KafkaError) {
        partitions = (0..<Int32(clamping: count)).map { TopicPartition(topic: topic, partition: $0) }
        consumer = try cluster.consumer()
    }

    deinit { consumer.close() }

    /// The number of committed records; nil if the broker cannot answer at the moment.
    func callAsFunction() throws(KafkaError) -> Int? {
        do throws(KafkaError) {
            return try consumer.endOffsets(of: partitions, timeout: .seconds(5)).values.reduce(0) { $0 + Int($1) }
        } catch {
            guard error.remedy == .retry else { throw error }
            return nil
        }
    }
}

/// Reads answers as soon as they are committed.
///
/// Use it on one thread.
final class AnswerReader {
    private let reader: PartitionReader

    /// Starts at the beginning of a topic.
    init(_ cluster: BenchCluster, of topic: String) throws {
        reader = PartitionReader(try cluster.consumer())
        var partitions: [TopicPartition]?
        // A new topic may have no leaders yet. Once librdkafka knows them, it does not look them up later.
        try wait(for: Site.patience) {
            do throws(KafkaError) {
                partitions = try reader.consumer.partitions(of: [topic], timeout: .seconds(5))
            } catch {
                guard error.remedy == .retry else { throw error }
            }
            return partitions != nil
        }
        guard let partitions else { throw ToolError("the brokers do not know \(topic)") }
        try reader.start(at: Dictionary(uniqueKeysWithValues: partitions.map { ($0, 0) }))
    }

    deinit { reader.consumer.close() }

    /// Calls `body` with the order number of each available answer, after waiting up to 20 ms for the first. Returns when the
    /// answers were read; nil if there were none.
    func poll(_ body: (Int, ContinuousClock.Instant) throws -> Void) throws -> ContinuousClock.Instant? {
        var found: ContinuousClock.Instant?
        for record in try reader.poll(timeout: .milliseconds(20)) {
            guard let value = record.value, let number = OrderGenerator.number(in: value) else { continue }
            let now = found ?? .now
            found = now
            try body(number, now)
        }
        return found
    }
}
