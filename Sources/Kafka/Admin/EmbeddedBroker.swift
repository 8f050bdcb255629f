import CRdKafka
import Foundation
import Logging

/// librdkafka's mock cluster: a Kafka broker inside this process, on a real TCP port of 127.0.0.1.
///
/// Any Kafka client can use it. It is good for trying things and for tests of the main path and of injected
/// errors, and it can prove nothing about exactly-once processing:
/// - it keeps everything in memory and trims each partition at 5 MB or 100,000 records;
/// - it ignores offsets sent in a transaction, and shows aborted records;
/// - it does not compact, and cannot create topics on request or describe their configuration.
///
/// It may be used from any thread: its properties never change, and librdkafka's mock functions lock for themselves,
/// which is why `Sendable` need not be checked.
public final class EmbeddedBroker: @unchecked Sendable {
    private let handle: ClientHandle
    let cluster: OpaquePointer

    /// Held while ports are chosen. A broker that is taken down lets go of its port for a moment, and librdkafka ends the process
    /// when another broker's choice falls on it meanwhile.
    static let ports = NSLock()

    /// `host:port` pairs, separated by commas, for the property `bootstrap.servers`.
    public let bootstrapServers: String

    /// Starts a cluster of that many brokers.
    public init(brokerCount: Int = 1, logger: Logger) throws(KafkaError) {
        // The client that carries the cluster connects to nothing, and librdkafka warns about that.
        var logger = logger
        logger.logLevel = max(logger.logLevel, .error)
        handle = try ClientHandle(
            .producer,
            configuration: KafkaConfiguration(),
            hooks: ClientHooks(logger: logger)
        )
        Self.ports.lock()
        let cluster = rd_kafka_mock_cluster_new(handle.pointer, Int32(clamping: brokerCount))
        Self.ports.unlock()
        guard let cluster else {
            throw KafkaError(
                code: .outOfMemory,
                message: "the embedded broker could not open a port on 127.0.0.1"
            )
        }
        self.cluster = cluster
        bootstrapServers = String(cString: rd_kafka_mock_cluster_bootstraps(cluster))
    }

    deinit { rd_kafka_mock_cluster_destroy(cluster) }

    /// Creates a topic.
    public func createTopic(_ name: String, partitionCount: Int) throws(KafkaError) {
        let code = rd_kafka_mock_topic_create(cluster, name, Int32(clamping: partitionCount), 1)
        if let error = KafkaError(code, message: "topic \(name): not created") { throw error }
    }
}

extension EmbeddedBroker {
    /// A request of the Kafka protocol, by its number there.
    public struct Request: RawRepresentable, Hashable, Sendable {
        /// The protocol's API key.
        public let rawValue: Int16

        /// The request of that API key.
        public init(rawValue: Int16) { self.rawValue = rawValue }

        /// Write records.
        public static let produce = Self(rawValue: 0)
        /// Read records.
        public static let fetch = Self(rawValue: 1)
        /// Ask for the ends of a partition.
        public static let listOffsets = Self(rawValue: 2)
        /// Describe the cluster.
        public static let metadata = Self(rawValue: 3)
        /// Store a group's offsets.
        public static let offsetCommit = Self(rawValue: 8)
        /// Read a group's offsets.
        public static let offsetFetch = Self(rawValue: 9)
        /// Find the broker that coordinates a group or a transactional id.
        public static let findCoordinator = Self(rawValue: 10)
        /// Join a group.
        public static let joinGroup = Self(rawValue: 11)
        /// Stay in a group.
        public static let heartbeat = Self(rawValue: 12)
        /// Leave a group.
        public static let leaveGroup = Self(rawValue: 13)
        /// Learn one's share in a group.
        public static let syncGroup = Self(rawValue: 14)
        /// Take over a transactional id.
        public static let initProducerID = Self(rawValue: 22)
        /// Make partitions part of a transaction.
        public static let addPartitionsToTransaction = Self(rawValue: 24)
        /// Make a group's offsets part of a transaction.
        public static let addOffsetsToTransaction = Self(rawValue: 25)
        /// Commit or abort a transaction.
        public static let endTransaction = Self(rawValue: 26)
        /// Store a group's offsets in a transaction.
        public static let transactionalOffsetCommit = Self(rawValue: 28)
    }
}
