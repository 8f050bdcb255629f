import JuiceEngine
import JuiceMessages

/// A consumer group of static members: membership, the assignment of some topics, and offsets committed outside transactions.
struct SimulatedGroup {
    /// Identifies a member. Former members of the same name have other numbers.
    struct Membership: Hashable {
        let name: String
        let number: Int
        let generation: Int
    }

    /// The number of partitions of each topic that the group knows. When it learns of new ones, it rebalances.
    var partitionCounts: [Int32] { didSet { rebalance() } }
    private(set) var generation = 0
    /// Names in the order of joining, with each name's latest number.
    private(set) var members: [(name: String, number: Int)] = []
    private var joinCount = 0
    private(set) var committed: [Place: GroupOffset] = [:]
    var offsets: [Place: Offset] { committed.mapValues(\.offset) }
    /// Whether every member is assigned everything, which no group should do.
    var isConfused = false

    init(partitionCounts: [Int32]) { self.partitionCounts = partitionCounts }

    /// Adds a member. A known name gets its former assignment back without a rebalance, and the former member is fenced.
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

    /// A consumer that reads only the orders, and answers none of them.
    private static let stranger = "a stranger"

    mutating func admitStranger() { _ = join(Self.stranger) }

    /// Removes a member that leaves or whose session expires.
    mutating func remove(_ name: String) {
        guard members.contains(where: { $0.name == name }) else { return }
        members.removeAll { $0.name == name }
        rebalance()
    }

    /// Begins a new generation.
    mutating func rebalance() { generation += 1 }

    /// A member's partitions by topic, assigned by range.
    func assignment(of name: String) -> [[Int32]] {
        partitionCounts.indices.map { topic in
            let (count, members) = (partitionCounts[topic], topic == 0 ? members : members.filter { $0.name != Self.stranger })
            let index = members.firstIndex { $0.name == name }
            return (0..<count).filter { isConfused ? index != nil : Int($0) * members.count / Int(count) == index }
        }
    }

    /// Whether a member is not fenced, in any generation.
    func isMember(_ membership: Membership) -> Bool {
        members.contains { $0.name == membership.name && $0.number == membership.number }
    }

    /// Whether a later member of the same name has joined.
    func isReplaced(_ membership: Membership) -> Bool {
        members.contains { $0.name == membership.name && $0.number > membership.number }
    }

    func isCurrent(_ membership: Membership) -> Bool { isMember(membership) && membership.generation == generation }

    mutating func commit(_ offsets: [Place: GroupOffset]) { committed.merge(offsets) { $1 } }

    /// Expires the offsets, as for a group that was idle for too long.
    mutating func forgetOffsets() { committed = [:] }

    /// Deletes the group. Its members do not know yet.
    mutating func delete() {
        (members, committed) = ([], [:])
        rebalance()
    }
}
