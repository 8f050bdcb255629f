import JuiceEngine
import JuiceMessages
import Testing

/// Which input partitions a worker reads if stores live in four partitions.
@Suite struct InputShareTests {
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
