import JuiceEngine

/// A consumer group of static members: membership, the assignment of some topics, and offsets committed plainly.
struct SimulatedGroup {
    /// Identifies a member. Its earlier selves have the same name and other numbers.
    struct Membership: Hashable {
        let name: String
        let number: Int
        let generation: Int
    }

    /// The number of each topic's partitions known to the group.
    private(set) var partitionCounts: [Int32]
    private(set) var generation = 0
    /// Names in the order of joining, with the number of each member's latest self.
    private(set) var members: [(name: String, number: Int)] = []
    /// By name, then by topic.
    private var assignments: [String: [[Int32]]] = [:]
    private var joinCount = 0
    private var offsets: [Place: Offset] = [:]
    /// Whether every member is assigned everything, as no group should.
    var isConfused = false

    init(partitionCounts: [Int32]) { self.partitionCounts = partitionCounts }

    /// Learns of new partitions of a topic, and rebalances.
    mutating func setPartitionCount(_ count: Int32, ofTopic index: Int) {
        partitionCounts[index] = count
        rebalance()
    }

    /// Adds a member. A known name gets its former assignment back without a rebalance, and its former self is fenced.
    mutating func join(_ name: String) -> Membership {
        joinCount += 1
        if let index = members.firstIndex(where: { $0.name == name }) {
            members[index].number = joinCount
        } else {
            members.append((name, joinCount))
            rebalance()
        }
        return Membership(name: name, number: joinCount, generation: generation)
    }

    /// Removes a member that leaves or whose session expires.
    mutating func remove(_ name: String) {
        guard members.contains(where: { $0.name == name }) else { return }
        members.removeAll { $0.name == name }
        rebalance()
    }

    /// Begins a new generation. Each topic's partitions are assigned by range.
    mutating func rebalance() {
        generation += 1
        assignments = [:]
        guard !members.isEmpty else { return }
        let none = partitionCounts.map { _ in [Int32]() }
        for (topic, count) in partitionCounts.enumerated() {
            for partition in 0..<count {
                let owner = Int(partition) * members.count / Int(count)
                for index in isConfused ? members.indices : owner..<owner + 1 {
                    assignments[members[index].name, default: none][topic].append(partition)
                }
            }
        }
    }

    /// A member's partitions, by topic.
    func assignment(of name: String) -> [[Int32]] {
        assignments[name] ?? partitionCounts.map { _ in [] }
    }

    /// Whether a member is not fenced, in whatever generation.
    func isMember(_ membership: Membership) -> Bool {
        members.contains { $0.name == membership.name && $0.number == membership.number }
    }

    /// Whether a later self of the member has joined.
    func isReplaced(_ membership: Membership) -> Bool {
        members.contains { $0.name == membership.name && $0.number > membership.number }
    }

    func isCurrent(_ membership: Membership) -> Bool {
        isMember(membership) && membership.generation == generation
    }

    mutating func commit(_ positions: [Place: Offset]) {
        offsets.merge(positions) { $1 }
    }

    func committed(_ places: [Place]) -> [Place: Offset] {
        offsets.filter { places.contains($0.key) }
    }

    /// Expires the offsets, as for a group that was idle for too long.
    mutating func forgetOffsets() { offsets = [:] }

    /// Deletes the group. Its members do not know yet.
    mutating func delete() {
        members = []
        assignments = [:]
        offsets = [:]
        generation += 1
    }
}
