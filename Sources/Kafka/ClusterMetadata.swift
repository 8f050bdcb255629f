import CRdKafka

/// Brokers and topics as the cluster describes them.
public struct ClusterMetadata: Sendable {
    /// One topic.
    public struct Topic: Sendable {
        /// The topic's name.
        public let name: String
        /// Its partitions; empty if there is an `error`.
        public let partitions: [Partition]
        /// Why the topic cannot be described, for example because it does not exist.
        public let error: KafkaError?

        /// The number of its partitions.
        public var partitionCount: Int { partitions.count }
        /// The number of replicas of each partition.
        public var replicationFactor: Int { partitions.first?.replicas.count ?? 0 }
    }

    /// One partition of a topic. Brokers are identified by their ids.
    public struct Partition: Sendable {
        /// Its number within the topic.
        public let number: Int32
        /// The broker that serves reads and writes; nil while there is none.
        public let leader: Int32?
        /// The brokers that have a replica.
        public let replicas: [Int32]
        /// The brokers whose replicas are in sync with the leader.
        public let inSyncReplicas: [Int32]
    }

    /// `host:port` of each broker.
    public let brokers: [String]
    /// The requested topics, in the order of the request.
    public let topics: [Topic]

    /// The topic of that name; nil if it does not exist or may not be described.
    public subscript(topic: String) -> Topic? {
        topics.first { $0.name == topic && $0.error == nil }
    }
}

extension ClientHandle {
    func metadata(topics names: [String], timeout: Duration) throws(KafkaError) -> ClusterMetadata {
        var brokers: [String] = []
        var topics: [ClusterMetadata.Topic] = []
        // librdkafka describes one topic or all of them, and callers need only a few.
        if names.isEmpty { (brokers, _) = try describe(topic: nil, timeout: timeout) }
        for name in names {
            let (hosts, topic) = try describe(topic: name, timeout: timeout)
            brokers = hosts
            if let topic { topics.append(topic) }
        }
        return ClusterMetadata(brokers: brokers, topics: topics)
    }

    private func describe(topic name: String?, timeout: Duration) throws(KafkaError) -> ([String], ClusterMetadata.Topic?) {
        var topic: OpaquePointer?
        if let name {
            guard let handle = rd_kafka_topic_new(pointer, name, nil) else {
                throw KafkaError(rd_kafka_last_error()) ?? .outOfMemory
            }
            topic = handle
        }
        defer { if let topic { rd_kafka_topic_destroy(topic) } }

        var result: UnsafePointer<rd_kafka_metadata>?
        let code = rd_kafka_metadata(pointer, 0, topic, &result, timeout.milliseconds)
        if let error = KafkaError(code) { throw error }
        guard let result else { throw .outOfMemory }
        defer { rd_kafka_metadata_destroy(result) }

        let metadata = result.pointee
        let hosts = UnsafeBufferPointer(start: metadata.brokers, count: Int(metadata.broker_cnt)).map {
            "\(String(cString: $0.host)):\($0.port)"
        }
        guard metadata.topic_cnt > 0, let found = metadata.topics?.pointee else { return (hosts, nil) }
        let foundName = String(cString: found.topic)
        let reason = String(cString: rd_kafka_err2str(found.err))
        let partitions = UnsafeBufferPointer(start: found.partitions, count: Int(found.partition_cnt))
        return (
            hosts,
            ClusterMetadata.Topic(
                name: foundName, partitions: partitions.map(ClusterMetadata.Partition.init),
                error: KafkaError(found.err, message: "topic \(foundName): \(reason)"))
        )
    }
}

extension ClusterMetadata.Partition {
    fileprivate init(_ partition: rd_kafka_metadata_partition) {
        self.init(
            number: partition.id, leader: partition.leader < 0 ? nil : partition.leader,
            replicas: Array(UnsafeBufferPointer(start: partition.replicas, count: Int(partition.replica_cnt))),
            inSyncReplicas: Array(UnsafeBufferPointer(start: partition.isrs, count: Int(partition.isr_cnt))))
    }
}

/// Asks where the leaders of partitions are, when librdkafka would find out too late.
///
/// It does not use librdkafka's own refresh (`topic.metadata.refresh.interval.ms`), which must not run that often: while the
/// leader of a group waits for metadata to share out the partitions, each other answer with metadata makes it join anew. With
/// round trips as long as the interval it would never be done. What the application asks for leaves the group alone.
struct MetadataRefresh {
    private static let interval = Duration.milliseconds(250)

    private var due = ContinuousClock.now

    /// Asks, if the last time is long enough ago, and does not wait: librdkafka uses the answer when it comes.
    mutating func askIfDue(about topics: some Sequence<String>, _ handle: ClientHandle) {
        guard due <= .now else { return }
        due = .now + Self.interval
        for topic in topics { _ = try? handle.metadata(topics: [topic], timeout: .zero) }
    }
}
