import Kafka

/// The roles of brokers for the service at one moment: what a broker leads or coordinates fails with it.
struct BrokerRoles {
    /// The role of a broker for one partition of the service.
    enum Role: String, CaseIterable {
        case leader = "leader there"
        case coordinator = "coordinator there"
        case neither = "neither there"
    }

    /// The topics whose partitions are assigned to workers.
    private static let topics = ["orders", "restocks", "results", "stock"]

    private let leaders: [Int32: Set<Int32>]
    /// By partition: the coordinators of the group and of the transactional ids of its reader.
    private let coordinators: [Int32: Set<Int32>]

    /// - Parameter members: the partitions that each member of the group reads, by its `group.instance.id`.
    init(plan: Plan, members: [String: Set<Int32>], admin: Admin) throws(KafkaError) {
        let metadata = try admin.metadata(
            topics: Self.topics.map(plan.topic) + ["__consumer_offsets", "__transaction_state"],
            timeout: .seconds(5)
        )
        var leaders: [Int32: Set<Int32>] = [:]
        for topic in Self.topics {
            for partition in metadata[plan.topic(topic)]?.partitions ?? [] {
                if let leader = partition.leader { leaders[partition.number, default: []].insert(leader) }
            }
        }
        self.leaders = leaders

        /// Kafka's rule for the coordinator of a name.
        func coordinator(of name: String, in topic: String) -> Int32? {
            guard let partitions = metadata[topic]?.partitions, !partitions.isEmpty else { return nil }
            let hash = javaHash(name)
            let number = Int32(hash == .min ? 0 : Int(hash.magnitude) % partitions.count)
            return partitions.first { $0.number == number }?.leader
        }
        let groupCoordinator = coordinator(of: plan.group, in: "__consumer_offsets")
        var coordinators: [Int32: Set<Int32>] = [:]
        for (member, partitions) in members {
            // Member `juice-1-0` has the transactional ids `GROUP/juice-1/0/0` to `GROUP/juice-1/0/2`, unless a producer has
            // moved on to another: then the role that is printed may be wrong.
            guard let end = member.lastIndex(of: "-") else { continue }
            let owner = "\(plan.group)/\(member[..<end])/\(member[end...].dropFirst())"
            let mine =
                (0...2).map { coordinator(of: "\(owner)/\($0)", in: "__transaction_state") }
                + [groupCoordinator]
            for partition in partitions { coordinators[partition] = Set(mine.compactMap { $0 }) }
        }
        self.coordinators = coordinators
    }

    func role(of broker: Int32, for partition: Int32) -> Role {
        if leaders[partition, default: []].contains(broker) { return .leader }
        return coordinators[partition, default: []].contains(broker) ? .coordinator : .neither
    }
}

/// Java's `String.hashCode`, by which Kafka distributes names over its internal topics.
func javaHash(_ text: String) -> Int32 {
    text.utf16.reduce(0) { $0 &* 31 &+ Int32($1) }
}
