import CRdKafka
import Foundation
import Logging

/// librdkafka's mock cluster: a Kafka broker inside this process, on a real TCP port of 127.0.0.1.
///
/// It is for experiments, and for tests of the main path and of injected errors. It proves nothing about exactly-once processing:
/// - it keeps everything in memory and trims each partition at 5 MB or 100,000 records;
/// - it ignores offsets sent in a transaction, and shows aborted records;
/// - it does not compact, and cannot create topics on request or describe their configuration.
///
/// The unchecked `Sendable` is safe: the properties never change, and librdkafka's mock functions lock.
package final class EmbeddedBroker: @unchecked Sendable {
    private let handle: ClientHandle
    package let cluster: OpaquePointer

    /// Held while a broker opens or closes its port, and while this process starts a child: until the child calls exec, it has the
    /// port open, too, and a broker that was taken down needs the same port again.
    package static let ports = NSLock()

    /// `host:port` pairs, separated by commas, for the property `bootstrap.servers`.
    package let bootstrapServers: String

    /// Starts a cluster of `brokerCount` brokers, on ports that the system chooses.
    package init(brokerCount: Int = 1, logger: Logger) throws(KafkaError) {
        // The client that hosts the cluster connects to nothing, and librdkafka warns about that.
        var logger = logger
        logger.logLevel = max(logger.logLevel, .error)
        let context = ClientContext(ClientHooks(logger: logger))
        handle = try ClientHandle(RD_KAFKA_PRODUCER, configuration: KafkaConfiguration(), context: context)
        Self.ports.lock()
        let cluster = rd_kafka_mock_cluster_new(handle.pointer, Int32(clamping: brokerCount))
        Self.ports.unlock()
        guard let cluster else { throw KafkaError(code: .invalidArgument, message: "it cannot listen on 127.0.0.1") }
        self.cluster = cluster
        bootstrapServers = String(cString: rd_kafka_mock_cluster_bootstraps(cluster))
    }

    deinit { rd_kafka_mock_cluster_destroy(cluster) }

    package func createTopic(_ name: String, partitionCount: Int) throws(KafkaError) {
        let code = rd_kafka_mock_topic_create(cluster, name, Int32(clamping: partitionCount), 1)
        if let error = KafkaError(code, message: "topic \(name): not created") { throw error }
    }
}

/// What a broker can do beyond storing and serving records, as far as this project's clients need to know.
package enum BrokerCapabilities: Sendable {
    /// Apache Kafka, or an ``EmbeddedBroker``.
    case full, embedded

    /// Whether it finds the offset that belongs to a timestamp.
    package var findsOffsetsByTime: Bool { self == .full }
    /// Whether it creates topics on request and describes their configuration.
    package var managesTopics: Bool { self == .full }
    /// Properties for a consumer that must not wait long. After an assignment, the first fetch from a broker often has only one
    /// partition, and the other partitions wait for its response.
    package var consumerProperties: [String: String] {
        guard self == .embedded else { return ["fetch.wait.max.ms": "100"] }
        // The embedded broker always waits that long, even if it has records. From 2.15 on, its transaction markers have no
        // checksum.
        let checks = rd_kafka_version() < 0x020F_0000
        return ["fetch.wait.max.ms": "10", "check.crcs": "\(checks)"]
    }
}
