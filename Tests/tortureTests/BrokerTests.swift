import Testing

@testable import torture

@Suite struct BrokerTests {
    /// The result of `"…".hashCode()` in Java.
    @Test(arguments: [("", 0), ("a", 97), ("juice-maker", 2050344343), ("juice-maker/a/0/0", -209994517)])
    func namesHashAsInJava(_ name: String, _ hash: Int32) {
        #expect(javaHash(name) == hash)
    }

    @Test func gapsAreTheLongestOfEachPartition() {
        var gaps = ArrivalGaps()
        let start = ContinuousClock.now
        for (partition, seconds) in [(0, 0), (1, 1), (0, 2), (0, 5), (1, 9)] as [(Int32, Int)] {
            gaps.record(arrivalFrom: partition, at: start + .seconds(seconds))
        }
        let longest = gaps.drain()
        #expect(longest.ofEach == [0: .seconds(3), 1: .seconds(8)])
        #expect(longest.longest == .seconds(8))
        #expect(longest.ofAll == .seconds(4))
        #expect(gaps.drain().ofEach.isEmpty)
    }

    /// The service cannot answer while brokers accept no writes, so the goal for a killed broker depends on the clients' gaps.
    @Test(
        arguments: [
            (.stop, .leader, 1.9, 0), (.stop, .leader, 2.1, 1), (.kill, .leader, 10.9, 0), (.kill, .coordinator, 11.1, 1),
            (.kill, .neither, 2.9, 0), (.kill, .neither, 3.1, 1),
        ] as [(BrokerTrouble.Kind, BrokerRoles.Role, Double, Int)]
    )
    func goals(_ kind: BrokerTrouble.Kind, _ role: BrokerRoles.Role, _ gap: Double, _ over: Int) throws {
        var table = BrokerGapTable()
        table.add(.init(kind: kind, role: role, answers: .seconds(gap), clients: .zero, failover: .seconds(9)))
        let row = try #require(table.lines.dropFirst().first)
        #expect(row.hasPrefix("\(kind.pastTense), \(role.rawValue)"))
        #expect(row.hasSuffix(" \(over)"))
    }

    @Test func nothingDoneIsNotTold() { #expect(BrokerGapTable().lines.isEmpty) }
}
