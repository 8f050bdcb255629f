import JuiceEngine

/// A consumer group of static members: who they are, how they share the partitions of some topics, and what is committed.
package struct SimulatedGroup {
    /// What a member proves itself with. An earlier self has the same name and another number.
    struct Membership: Hashable {
        let name: String
        let number: Int
        let generation: Int
    }

    /// An offset and its place among all that were ever sent. Of two transactions the one that sent later wins, in
    /// whichever order their markers are written: so does Apache Kafka, by the offsets' own place in the group's log.
    struct SentOffset {
        let offset: Offset
        let sequence: Int
    }

    /// How many partitions each topic has, as far as the group knows.
    private(set) var partitionCounts: [Int32]
    private(set) var generation = 0
    /// Names in the order of joining, with the number of each one's latest self.
    package private(set) var members: [(name: String, number: Int)] = []
    /// By name, then by topic.
    private var assignments: [String: [[Int32]]] = [:]
    private var joinCount = 0
    private var offsets: [SimulatedCluster.Place: SentOffset] = [:]

    init(partitionCounts: [Int32]) { self.partitionCounts = partitionCounts }

    /// Hears of new partitions of a topic, and shares all out anew.
    mutating func note(_ count: Int32, ofTopic index: Int) {
        partitionCounts[index] = count
        rebalance()
    }

    /// Lets a member in. One that is known by its name gets its former share back and nobody else is disturbed; its
    /// former self is fenced.
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

    /// What happens to a member that leaves, or is not heard of for the session timeout.
    package mutating func remove(_ name: String) {
        guard members.contains(where: { $0.name == name }) else { return }
        members.removeAll { $0.name == name }
        rebalance()
    }

    /// Begins a new generation and shares out the partitions by range, each topic by itself.
    package mutating func rebalance() {
        generation += 1
        assignments = [:]
        guard !members.isEmpty else { return }
        let none = partitionCounts.map { _ in [Int32]() }
        for (topic, count) in partitionCounts.enumerated() {
            for partition in 0..<count {
                let index = Int(partition) * members.count / Int(count)
                assignments[members[index].name, default: none][topic].append(partition)
            }
        }
    }

    /// By topic.
    func assignment(of name: String) -> [[Int32]] {
        assignments[name] ?? partitionCounts.map { _ in [] }
    }

    /// Whether a member is still who it was, whatever the generation.
    func isMember(_ membership: Membership) -> Bool {
        members.contains { $0.name == membership.name && $0.number == membership.number }
    }

    func isCurrent(_ membership: Membership) -> Bool {
        isMember(membership) && membership.generation == generation
    }

    mutating func commit(_ sent: [SimulatedCluster.Place: SentOffset]) {
        offsets.merge(sent) { $0.sequence < $1.sequence ? $1 : $0 }
    }

    package func committed(_ places: [SimulatedCluster.Place]) -> [SimulatedCluster.Place: Offset] {
        offsets.filter { places.contains($0.key) }.mapValues(\.offset)
    }

    /// What a broker does with a group that was idle for too long.
    package mutating func forgetOffsets() { offsets = [:] }
}
