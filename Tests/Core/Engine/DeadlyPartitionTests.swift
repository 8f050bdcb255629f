import JuiceEngine
import JuiceMessages
import Testing

@testable import simulate

/// Commands that end every process that reads them. A partition whose owners keep ending is read last, and ever later, so the
/// other partitions are served.
@Suite struct DeadlyPartitionTests {
    private let cluster = SimulatedCluster(partitionCount: 2)

    private func process(_ number: Int) -> Harness { Harness(cluster, process: "\(number)") }

    /// A process takes the partitions over, and ends before it reads.
    private func end(_ number: Int) {
        let harness = process(number)
        for _ in 0..<1000 where harness.restored.isEmpty {
            cluster.writeAllMarkers()
            harness.step()
        }
        #expect(!harness.restored.isEmpty)
    }

    private func order(_ id: String) { for partition in 0..<2 as Range<Int32> { cluster.order(id, "kiwi", partition: partition) } }

    private var attempts: [Int] {
        cluster.values(.results).compactMap { value in
            guard case .claim(let claim) = Array(value.utf8).withUnsafeBytes({ JournalNote($0) }) else { return nil }
            return claim.attempt
        }
    }

    private static let reason =
        "orders [0]: the last 4 processes that took the partition over ended before they handled anything from offset 0 on"

    /// Runs until the partition has an answer, and returns how many milliseconds that took.
    private func time(of partition: Int32, by harness: Harness) -> Timestamp {
        let begun = cluster.now
        while cluster.answers(partition: partition).isEmpty, cluster.now < begun + 1_000_000 {
            harness.run(after: 500)
        }
        return cluster.now - begun
    }

    /// Each of these processes begins with another partition.
    @Test(arguments: [("30000000", 0), ("b0000000", 1)] as [(String, Int32)])
    func eachPartitionIsReadInItsTurn(process: String, first: Int32) {
        order("a")
        for number in 1...4 { end(number) }
        let fifth = Harness(cluster, process: process)
        fifth.run()
        #expect(fifth.failures.map(\.reason) == [Self.reason, Self.reason.replacing("[0]", with: "[1]")])
        #expect(attempts == [1, 2, 3, 4, 5])
        let journal = cluster.values(.results, partition: 1 - first)
        #expect((9_000...26_000).contains(time(of: first, by: fifth)))
        #expect(cluster.values(.results, partition: 1 - first) == journal, "the other one is left alone")
        #expect(cluster.answers(partition: first) == ["made a"])
        #expect(cluster.answers(partition: 1 - first).isEmpty)
        _ = time(of: 1 - first, by: fifth)
        #expect(cluster.answers(partition: 1 - first) == ["made a"])
        #expect(fifth.hasRecovered)
    }

    @Test func eachEndMakesThePauseLonger() {
        cluster.order("a", "kiwi")
        for number in 1...7 { end(number) }
        #expect(abs(time(of: 0, by: process(8)) - 80_000) < 2_000)
    }

    /// The takeover finds the fault, which ends no process.
    @Test func aPartitionWithAFaultIsStoppedAtOnce() throws {
        cluster.order("a", "kiwi")
        process(0).run()
        cluster[.stock, 0].damaged = [try #require(cluster[.stock, 0].read().records.last?.offset)]
        cluster.order("b", "kiwi")
        for number in 1...6 { end(number) }
        #expect(attempts.last == 6)
        let harness = process(7)
        harness.run()
        #expect(harness.faults.count == 1)
        #expect(harness.failures.isEmpty)
    }

    @Test func doesNotCountProcessesThatMakeProgress() {
        for number in 1...10 {
            order("\(number)")
            let harness = process(number)
            harness.run()
            #expect(harness.failures.isEmpty)
        }
        #expect(cluster.answers().count == 10)
    }

    @Test func withoutCommandsNothingIsCounted() {
        for number in 1...6 { end(number) }
        order("a")
        let harness = process(7)
        harness.run()
        #expect(harness.failures.isEmpty)
        #expect(cluster.answers() == ["made a"])
        #expect(attempts.suffix(2) == [0, 1])
    }

    /// The process has shown that it survives.
    @Test func theSameProcessIsNotCountedAgain() {
        order("a")
        for _ in 1...6 { end(1) }
        #expect(Set(attempts) == [1])
    }
}
