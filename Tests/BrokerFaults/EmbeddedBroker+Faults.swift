import CRdKafka
import Kafka

/// Injected faults, for tests.
extension EmbeddedBroker {
    /// Makes a broker answer its next requests of a kind with these errors, one each.
    ///
    /// It has no effect on metadata requests; see ``setError(_:ofTopic:)``.
    public func fail(next request: Request, with codes: [KafkaError.Code], broker: Int32 = 1) {
        for code in codes {
            crdkafka_mock_broker_push_request_error(cluster, broker, request.rawValue, rd_kafka_resp_err_t(code.rawValue))
        }
    }

    /// How many of the errors for a kind of request a broker has not returned yet.
    public func pendingFailures(of request: Request, broker: Int32 = 1) -> Int {
        var count = 0
        rd_kafka_mock_broker_error_stack_cnt(cluster, broker, request.rawValue, &count)
        return count
    }

    /// Sets the error of a topic in metadata; nil removes it.
    ///
    /// Clients must know the topic already, unless ``mayFailUnknownTopics``.
    public func setError(_ code: KafkaError.Code?, ofTopic topic: String) {
        let code = code.map { rd_kafka_resp_err_t($0.rawValue) } ?? RD_KAFKA_RESP_ERR_NO_ERROR
        rd_kafka_mock_topic_set_error(cluster, topic, code)
    }

    /// Whether a client may learn of a topic's error before it knows the topic.
    ///
    /// Unlike a real broker, the embedded one lists the topic's partitions together with the error. librdkafka 2.3 to 2.8 then
    /// compares the epoch of each leader with that of a partition it does not have, a null pointer
    /// (https://github.com/confluentinc/librdkafka/commit/dc48bedd1). Only the version reveals that.
    public static var mayFailUnknownTopics: Bool { !(0x0203_0000..<0x0209_0000).contains(rd_kafka_version()) }

    /// Makes a broker the leader of a partition.
    public func setLeader(_ broker: Int32, of partition: TopicPartition) {
        _ = rd_kafka_mock_partition_set_leader(cluster, partition.topic, partition.partition, broker)
    }

    /// Makes a broker the coordinator of a group.
    public func setCoordinator(_ broker: Int32, ofGroup group: String) {
        _ = rd_kafka_mock_coordinator_set(cluster, "group", group, broker)
    }

    /// Makes a broker the coordinator of a transactional id.
    public func setCoordinator(_ broker: Int32, ofTransactionalID id: String) {
        _ = rd_kafka_mock_coordinator_set(cluster, "transaction", id, broker)
    }

    /// Delays each response of a broker.
    public func setRoundTrip(_ delay: Duration, ofBroker broker: Int32 = 1) {
        rd_kafka_mock_broker_set_rtt(cluster, broker, delay.milliseconds)
    }

    /// Cuts a broker's connections and refuses new ones.
    public func takeDown(broker: Int32 = 1) {
        _ = Self.ports.withLock { rd_kafka_mock_broker_set_down(cluster, broker) }
    }

    /// Lets a broker accept connections again.
    public func bringUp(broker: Int32 = 1) {
        _ = Self.ports.withLock { rd_kafka_mock_broker_set_up(cluster, broker) }
    }
}

extension EmbeddedBroker {
    /// A request of the Kafka protocol.
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
        /// Commit or abort a transaction.
        public static let endTransaction = Self(rawValue: 26)
    }
}
