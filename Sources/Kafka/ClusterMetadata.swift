import CRdKafka

/// Brokers and topics as the cluster describes them.
public struct ClusterMetadata: Sendable {
    /// One broker.
    public struct Broker: Sendable, Hashable, Encodable {
        /// Its number in the cluster.
        public let id: Int32
        /// `host:port`, as it is advertised to clients.
        public let address: String
    }

    /// One topic.
    public struct Topic: Sendable, Encodable {
        /// The name.
        public let name: String
        /// Empty if there is an `error`.
        public package(set) var partitions: [Partition] = []
        /// The settings in effect, by Kafka's names. Not part of metadata: see ``Admin/configurations(ofTopics:timeout:)``.
        package var settings: [String: String]?
        /// Why the topic cannot be described, for example because it does not exist.
        public internal(set) var error: KafkaError?

        private enum CodingKeys: CodingKey { case name, partitions, settings }

        /// The number of partitions; 0 if there is an `error`.
        public var partitionCount: Int { partitions.count }
        /// The number of replicas of the first partition; 0 if there is none.
        public var replicationFactor: Int { partitions.first?.replicas.count ?? 0 }
        package var places: [TopicPartition] { partitions.map { TopicPartition(topic: name, partition: $0.number) } }
    }

    /// One partition of a topic, and the ids of its brokers.
    public struct Partition: Sendable, Encodable {
        /// The number within the topic, from 0.
        public let number: Int32
        /// The broker that serves reads and writes; nil while there is none.
        public let leader: Int32?
        /// The brokers with a replica.
        public let replicas: [Int32]
        /// The replicas that are in sync with the leader.
        public let inSyncReplicas: [Int32]
    }

    /// The brokers that the cluster considers alive.
    public package(set) var brokers: [Broker] = []
    /// The requested topics, in the order of the request.
    public package(set) var topics: [Topic] = []

    /// The topic of that name; nil if it does not exist or may not be described.
    public subscript(topic: String) -> Topic? { topics.first { $0.name == topic && $0.error == nil } }

    /// The broker that coordinates the transactions of an id: the leader of its partition of `__transaction_state`, which must be
    /// among the topics. Brokers choose the partition by Java's hash of the id.
    package func transactionCoordinator(of id: String) -> Int32? {
        guard let partitions = self[Self.transactionState]?.partitions, !partitions.isEmpty else { return nil }
        let hash = id.utf16.reduce(Int32(0)) { $0 &* 31 &+ Int32($1) }
        let number = (hash == .min ? 0 : abs(hash)) % Int32(clamping: partitions.count)
        return partitions.first { $0.number == number }?.leader
    }

    package static let transactionState = "__transaction_state"

    package mutating func add(settings: [String: [String: String]]) {
        for index in topics.indices { topics[index].settings = settings[topics[index].name] ?? topics[index].settings }
    }
}

extension ClientHandle {
    /// - Parameters:
    ///   - names: nil for all topics that the client may describe.
    ///   - serving: whether to serve the hooks, too: a background error says more than a timeout.
    func metadata(topics names: [String]?, timeout: Duration, serving: Bool = false) throws(KafkaError) -> ClusterMetadata {
        defer { if serving { poll(timeout: .zero) } }
        // librdkafka describes one topic or all of them, and callers need only a few.
        guard let names, !names.isEmpty else { return try describe(topic: nil, all: names == nil, timeout: timeout) }
        let answers = try names.map { name throws(KafkaError) in try describe(topic: name, timeout: timeout) }
        return ClusterMetadata(brokers: answers.last?.brokers ?? [], topics: answers.flatMap(\.topics))
    }

    private func describe(topic name: String?, all: Bool = false, timeout: Duration) throws(KafkaError) -> ClusterMetadata {
        let topic = name.flatMap { rd_kafka_topic_new(pointer, $0, nil) }
        if name != nil, topic == nil { throw KafkaError(rd_kafka_last_error()) ?? .outOfMemory }
        defer { if let topic { rd_kafka_topic_destroy(topic) } }

        var result: UnsafePointer<rd_kafka_metadata>?
        let code = rd_kafka_metadata(pointer, all ? 1 : 0, topic, &result, timeout.milliseconds)
        // Controllers serve other requests than brokers do (KIP-919).
        let isOther = code == RD_KAFKA_RESP_ERR__UNSUPPORTED_FEATURE
        let advice = "Kafka answers, but as no broker does: is this a KRaft controller's listener? Name a broker's"
        if let error = KafkaError(code, message: isOther ? advice : nil) { throw error }
        guard let metadata = result?.pointee else { throw .outOfMemory }
        defer { rd_kafka_metadata_destroy(result) }

        let brokers = UnsafeBufferPointer(start: metadata.brokers, count: Int(metadata.broker_cnt))
        let topics = UnsafeBufferPointer(start: metadata.topics, count: Int(metadata.topic_cnt)).prefix(
            all ? .max : name == nil ? 0 : 1)
        return ClusterMetadata(
            brokers: brokers.map { .init(id: $0.id, address: "\(String(cString: $0.host)):\($0.port)") },
            topics: topics.map(ClusterMetadata.Topic.init))
    }
}

extension ClusterMetadata.Topic {
    fileprivate init(_ topic: rd_kafka_metadata_topic) {
        self.init(name: String(cString: topic.topic))
        partitions = UnsafeBufferPointer(start: topic.partitions, count: Int(topic.partition_cnt)).map {
            ClusterMetadata.Partition(
                number: $0.id, leader: $0.leader < 0 ? nil : $0.leader,
                replicas: Array(UnsafeBufferPointer(start: $0.replicas, count: Int($0.replica_cnt))),
                inSyncReplicas: Array(UnsafeBufferPointer(start: $0.isrs, count: Int($0.isr_cnt))))
        }
        let fault = KafkaError.Code(topic.err).isMissing ? " does not exist" : ": \(String(cString: rd_kafka_err2str(topic.err)))"
        error = KafkaError(topic.err, message: "topic \(name)\(fault)")
    }
}

/// Requests metadata when librdkafka would notice too late that the leaders of partitions have moved.
///
/// librdkafka's own refresh (`topic.metadata.refresh.interval.ms`) must not run that often: while a group's leader waits for the
/// metadata that it needs to assign partitions, each other metadata response makes it rejoin, with slow brokers for ever. Responses
/// to the application's requests do not affect the group.
struct MetadataRefresh {
    private static let interval = Duration.milliseconds(250)

    private var due = ContinuousClock.now

    /// Sends a request if the last one is long enough ago. Does not wait: librdkafka uses the response when it arrives.
    mutating func askIfDue(about topics: some Sequence<String>, _ handle: ClientHandle) {
        guard due <= .now else { return }
        due = .now + Self.interval
        for topic in topics { _ = try? handle.metadata(topics: [topic], timeout: .zero) }
    }
}
