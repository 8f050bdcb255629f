import JuiceEngine
import JuiceMessages
import Testing

@testable import simulate

/// Another program's transaction, which stays open in the journal or the stock of one partition, holds up that partition alone.
@Suite struct OpenTransactionTests {
    private let cluster = SimulatedCluster(partitionCount: 2)

    @Test(arguments: [Topic.results, .stock]) func aForeignTransactionHoldsUpItsPartitionAlone(topic: Topic) throws {
        let place = Place(topic: topic, partition: 1)
        cluster.beginForeignTransaction(in: place)
        let harness = Harness(cluster)
        for partition in 0..<2 as Range<Int32> { cluster.order("\(partition)", "kiwi", partition: partition) }
        let begun = cluster.now
        while cluster.answers().isEmpty, cluster.now < begun + 10_000 {
            harness.run(limit: 20)
            cluster.now += 100
        }
        #expect(cluster.answers() == ["made 0"])
        #expect(cluster.now < begun + 4_000)
        let fault = try #require(harness.failures.first)
        #expect(harness.failures.count == 1 && fault.offset == 0)
        #expect(fault.reason.contains("\(topic) [1] since offset 0"), "\(fault.reason)")
        #expect(!cluster.values(.results, partition: 1).contains { $0.contains(#""claim""#) })

        // It is watched without disturbing the other partition.
        let claims = cluster.values(.results).count { $0.contains(#""since""#) }
        for _ in 0..<20 {
            harness.run(after: 3_001)
        }
        #expect(cluster.values(.results).count { $0.contains(#""since""#) } == claims)
        #expect(cluster.answers(partition: 1).isEmpty)

        cluster.endForeignTransactions()
        harness.run(after: 3_001)
        #expect(cluster.answers(partition: 1) == ["made 1"] && harness.hasRecovered)
    }

    /// Nothing is committed there meanwhile, so only the takeover shows the recovery.
    @Test func aPartitionWithoutCommandsRecovers() {
        cluster.beginForeignTransaction(in: Place(topic: .results, partition: 1))
        let harness = Harness(cluster)
        harness.wait(3_001)
        cluster.endForeignTransactions()
        harness.wait(3_001)
        #expect(harness.hasRecovered)
    }

    /// Once the transaction has ended, the takeover finds that the orders were recreated. It stops the partition once, and does not
    /// keep taking over the other one.
    @Test func aPartitionThatIsStoppedAfterAForeignTransactionIsLeftAlone() {
        let harness = Harness(cluster)
        for partition in 0..<2 as Range<Int32> { cluster.order("\(partition)", "kiwi", partition: partition) }
        harness.run()
        cluster.beginForeignTransaction(in: Place(topic: .results, partition: 1))
        cluster.group.rebalance()
        harness.wait(3_001)
        cluster[.orders, 1].clear()
        cluster.endForeignTransactions()
        harness.wait(3_001)
        func stops() -> Int { harness.events.count { if case .partitionStopped(1, _) = $0 { true } else { false } } }
        #expect(stops() == 1)
        let claims = cluster.values(.results).count { $0.contains(#""since""#) }
        for _ in 0..<3 { harness.wait(3_001) }
        #expect(stops() == 1)
        #expect(cluster.values(.results).count { $0.contains(#""since""#) } == claims)
    }

    /// An anchor checks first, so a healthy owner is not fenced in vain.
    @Test func anAnchorFencesNobodyIfItCannotFinish() {
        let harness = Harness(cluster)
        cluster.order("0", "kiwi", partition: 0)
        harness.run()
        cluster.beginForeignTransaction(in: Place(topic: .stock, partition: 0))
        let records = cluster[.results, 0].end
        #expect(throws: LogError.self) { try cluster.anchor(InputPosition(topic: .orders, partition: 0, offset: 0)) }
        #expect(cluster[.results, 0].end == records)
        harness.run()
        #expect(harness.restarts == 0)
    }
}

extension Harness {
    /// Runs the worker for this many milliseconds.
    fileprivate func wait(_ time: Timestamp) {
        let end = cluster.now + time
        while cluster.now < end {
            run(limit: 20)
            cluster.now += 100
        }
        run()
    }
}
