import CRdKafka

/// Brokers and topics as the cluster describes them.
public struct ClusterMetadata: Sendable {
    /// One topic.
    public struct Topic: Sendable {
        /// The topic's name.
        public let name: String
        /// The number of its partitions; 0 where `error` says why.
        public let partitionCount: Int
        /// The partitions that have no leader at present, so that nothing can be written to them or asked of them.
        public let leaderless: Set<Int32>
        /// Copies kept of each partition.
        public let replicationFactor: Int
        /// Why nothing is known of it, such as that it does not exist.
        public let error: KafkaError?
    }

    /// `host:port` of each broker.
    public let brokers: [String]
    /// The topics that were asked for, in that order.
    public let topics: [Topic]

    /// The topic of that name, unless it does not exist or may not be seen.
    public subscript(topic: String) -> Topic? {
        topics.first { $0.name == topic && $0.error == nil }
    }
}

extension ClientHandle {
    func metadata(topics names: [String], timeout: Duration) throws(KafkaError) -> ClusterMetadata {
        var brokers: [String] = []
        var topics: [ClusterMetadata.Topic] = []
        // librdkafka describes one topic or all of them; a service asks for a handful.
        if names.isEmpty {
            (brokers, _) = try describe(topic: nil, timeout: timeout)
        }
        for name in names {
            let (hosts, topic) = try describe(topic: name, timeout: timeout)
            brokers = hosts
            if let topic { topics.append(topic) }
        }
        return ClusterMetadata(brokers: brokers, topics: topics)
    }

    private func describe(
        topic name: String?,
        timeout: Duration
    ) throws(KafkaError) -> ([String], ClusterMetadata.Topic?) {
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
        let hosts = UnsafeBufferPointer(start: metadata.brokers, count: Int(metadata.broker_cnt))
            .map { "\(String(cString: $0.host)):\($0.port)" }
        guard metadata.topic_cnt > 0, let found = metadata.topics?.pointee else { return (hosts, nil) }
        let foundName = String(cString: found.topic)
        let reason = String(cString: rd_kafka_err2str(found.err))
        return (
            hosts,
            ClusterMetadata.Topic(
                name: foundName,
                partitionCount: Int(found.partition_cnt),
                leaderless: Set(
                    UnsafeBufferPointer(start: found.partitions, count: Int(found.partition_cnt))
                        .filter { $0.leader < 0 }.map(\.id)
                ),
                replicationFactor: found.partition_cnt > 0 ? Int(found.partitions.pointee.replica_cnt) : 0,
                error: KafkaError(found.err, message: "topic \(foundName): \(reason)")
            )
        )
    }
}
