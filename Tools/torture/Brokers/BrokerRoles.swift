import Kafka

/// The roles of brokers for the service at one moment: what a broker leads or coordinates fails with it.
struct BrokerRoles {
    /// The role of a broker for one partition of the service.
    enum Role: String, CaseIterable {
        case leader = "leader there"
        case coordinator = "coordinator there"
        case neither = "neither there"
    }

    private static let internalTopics = ["__consumer_offsets", "__transaction_state"]

    private var leaders: [Int32: Set<Int32>] = [:]
    /// By partition: the coordinators of the group, and of the transactional ids that write to it.
    private var coordinators: [Int32: Set<Int32>] = [:]

    init(_ bed: TestBed) throws(KafkaError) {
        let topics = ["orders", "restocks", "results", "stock"].map(bed.plan.topic)
        let names = topics + Self.internalTopics
        let metadata = try bed.cluster.admin.metadata(topics: names, timeout: .seconds(5))
        for partition in topics.flatMap({ metadata[$0]?.partitions ?? [] }) {
            if let leader = partition.leader { leaders[partition.number, default: []].insert(leader) }
        }
        /// Kafka's rule for the coordinator of a name.
        func coordinator(of name: String, in topic: String) -> Int32? {
            guard let partitions = metadata[topic]?.partitions, !partitions.isEmpty else { return nil }
            let hash = javaHash(name)
            let number = Int32(hash == .min ? 0 : Int(hash.magnitude) % partitions.count)
            return partitions.first { $0.number == number }?.leader
        }
        let group = coordinator(of: bed.plan.group, in: Self.internalTopics[0])
        for (partition, ids) in bed.watch.transactionalIDs {
            let all = ids.map { coordinator(of: $0, in: Self.internalTopics[1]) } + [group]
            coordinators[partition] = Set(all.compactMap { $0 })
        }
    }

    func role(of broker: Int32, for partition: Int32) -> Role {
        if leaders[partition, default: []].contains(broker) { return .leader }
        return coordinators[partition, default: []].contains(broker) ? .coordinator : .neither
    }
}

/// Java's `String.hashCode`, by which Kafka distributes names over its internal topics.
func javaHash(_ text: String) -> Int32 { text.utf16.reduce(0) { $0 &* 31 &+ Int32($1) } }
