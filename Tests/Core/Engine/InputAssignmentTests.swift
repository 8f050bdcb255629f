import JuiceEngine
import JuiceMessages
import Testing

/// Which input partitions a worker reads if stores live in four partitions.
@Suite struct InputShareTests {
    private struct Case: Sendable {
        let given: [Int32]
        let counts: (orders: Int32, restocks: Int32)
        let orders: [Int32]
        let restocks: [Int32]
    }

    private static let cases = [
        Case(given: [0, 1], counts: (4, 4), orders: [0, 1], restocks: [0, 1]),
        Case(given: [], counts: (4, 4), orders: [], restocks: []),
        Case(given: [0, 1, 2], counts: (8, 4), orders: [0, 1, 2, 4, 5, 6], restocks: [0, 1, 2]),
        Case(given: [3, 4, 5], counts: (8, 4), orders: [3, 7], restocks: [3]),
        Case(given: [6, 7], counts: (8, 4), orders: [], restocks: []),
        Case(given: [0, 1], counts: (4, 8), orders: [0, 1], restocks: [0, 1, 4, 5]),
        Case(given: [3, 4, 5], counts: (8, 8), orders: [3, 7], restocks: [3, 7]),
        Case(given: [1], counts: (6, 10), orders: [1, 5], restocks: [1, 5, 9]),
    ]

    @Test func theOwnerOfAPartitionReadsBothItsTopics() {
        for test in Self.cases {
            let assignment = Self.assignment(test.given, test.counts)
            #expect(Self.inputs(assignment, .orders) == test.orders)
            #expect(Self.inputs(assignment, .restocks) == test.restocks)
            #expect(assignment.partitions == test.given.filter { $0 < 4 })
        }
    }

    /// For any number of members and partitions, even if some members do not know of all partitions yet.
    @Test func noPartitionIsReadByTwo() {
        for counts in [(4, 4), (8, 4), (4, 8), (8, 8), (9, 5)] as [(orders: Int32, restocks: Int32)] {
            for members in 1...10 {
                let given = (0..<members).map { Self.range(counts.orders, $0, of: members) }
                let informed = given.map { Self.assignment($0, counts) }
                let mixed = given.enumerated().map { $0 % 2 == 0 ? informed[$0] : Self.assignment($1, (4, 4)) }
                for (topic, count) in [(InputTopic.orders, counts.orders), (.restocks, counts.restocks)] {
                    for partition in 0..<count {
                        #expect(informed.count { Self.inputs($0, topic).contains(partition) } == 1)
                        #expect(mixed.count { Self.inputs($0, topic).contains(partition) } <= 1)
                    }
                }
            }
        }
    }

    private static func inputs(_ assignment: InputAssignment, _ topic: InputTopic) -> [Int32] {
        assignment.partitions.flatMap(assignment.inputs).filter { $0.topic == topic }.map(\.partition).sorted()
    }

    private static func assignment(_ orders: [Int32], _ counts: (orders: Int32, restocks: Int32)) -> InputAssignment {
        InputAssignment(orders: orders, partitionCount: 4, orderCount: counts.orders, restockCount: counts.restocks)
    }

    /// Assigns by range as Kafka does: the first members get one more.
    private static func range(_ count: Int32, _ member: Int, of members: Int) -> [Int32] {
        let (each, more) = Int(count).quotientAndRemainder(dividingBy: members)
        let start = member * each + min(member, more)
        return (start..<(start + each + (member < more ? 1 : 0))).map(Int32.init)
    }
}
