import JuiceEngine
import Testing

@testable import simulate

/// How a worker is assigned partitions, restores their state, and leaves.
@Suite struct WorkerAssignmentTests {
    @Test func stateSurvivesARebalanceIfNoOtherWorkerCommits() {
        let harness = Harness()
        harness.cluster.order("a", "banana")
        harness.run()
        harness.cluster.group.rebalance()
        harness.run()
        harness.cluster.order("b", "banana")
        harness.cluster.order("a", "banana")
        harness.run()
        #expect(harness.cluster.answers() == ["juiceMade a", "juiceMade b", "juiceMade a again"])
        #expect(harness.restored.map(\.stores) == [0, 1])
        #expect(harness.restored.map(\.records) == [0, 0])
    }

    /// A cluster may need seconds to elect a coordinator. A member that does not poll meanwhile loses its membership.
    @Test func theGroupIsPolledWhileIDsAreTakenOver() {
        let harness = Harness()
        harness.cluster.order("a", "banana")
        harness.run()
        harness.cluster.order("b", "banana")
        harness.fail(.commit, with: LogError(.startOver, "a test"))
        while harness.step() != .backOff(attempt: 1) {}
        harness.log.fault = { $0 == .initTransactions ? LogError(.retry, "no coordinator") : nil }
        harness.cluster.group.rebalance()
        for _ in 0..<5 { harness.step() }
        let assignments = harness.events.count { if case .assigned = $0 { true } else { false } }
        #expect(assignments == 2)
        harness.log.fault = { _ in nil }
        harness.run()
        #expect(harness.cluster.answers() == ["juiceMade a", "juiceMade b"])
        #expect(harness.restored.map(\.records) == [0, 0], "its state is still good")
    }

    /// A failed lookup does not discard what is already restored.
    @Test func stateSurvivesARestoreThatFails() {
        let harness = Harness()
        harness.cluster.order("a", "banana")
        harness.run()
        harness.cluster.group.rebalance()
        harness.fail(.extents, with: LogError(.startOver, "a test"))
        harness.run()
        harness.cluster.order("a", "banana")
        harness.run()
        #expect(harness.cluster.answers() == ["juiceMade a", "juiceMade a again"])
        #expect(harness.restored.map(\.records) == [0, 0])
    }

    @Test func commandsThatExpiredUnreadStopTheirPartitionOnly() {
        let cluster = SimulatedCluster(partitionCount: 2)
        let first = Harness(cluster, member: "first")
        cluster.order("1", "banana")
        cluster.order("2", "banana", partition: 1)
        first.run()
        first.log.leave()
        cluster.order("3", "banana")
        cluster.order("4", "banana")
        cluster.order("5", "banana", partition: 1)
        cluster[.orders, 0].start = 2

        let second = Harness(cluster, member: "second")
        second.run()
        #expect(cluster.answers() == ["juiceMade 1"])
        #expect(cluster.answers(partition: 1) == ["juiceMade 2", "juiceMade 5"])
        #expect(second.fault != nil)
    }

    @Test func commandsThatExpireWhileRunningStopTheirPartitionOnly() {
        let cluster = SimulatedCluster(partitionCount: 2)
        let harness = Harness(cluster)
        harness.run()
        cluster.order("1", "banana")
        cluster.order("2", "banana", partition: 1)
        cluster[.orders, 0].start = 1
        harness.run()
        #expect(cluster.answers().isEmpty)
        #expect(cluster.answers(partition: 1) == ["juiceMade 2"])
        #expect(harness.fault != nil)
    }

    @Test func aStockRecordThatCannotBeReadStopsItsPartitionOnly() {
        let cluster = SimulatedCluster(partitionCount: 2)
        cluster.send(.stock, partition: 0, key: Array(cluster.store(in: 0).utf8), value: Array("{".utf8))
        let harness = Harness(cluster)
        cluster.order("a", "banana", partition: 0)
        cluster.order("b", "banana", partition: 1)
        harness.run()
        #expect(cluster.answers(partition: 0).isEmpty)
        #expect(cluster.answers(partition: 1) == ["juiceMade b"])
        #expect(harness.faults.map(\.kind) == [.stock])
        #expect(harness.faults.first?.reason.contains("offset 0") == true)
    }

    @Test func aLaterStockRecordReplacesAFaultyOne() {
        let cluster = SimulatedCluster(partitionCount: 1)
        let first = Harness(cluster, member: "first")
        cluster.order("a", "banana")
        first.run()
        first.log.leave()
        let right = #"{"store":"gangnam","revision":1,"stock":{"banana":4}}"#
        for (stock, isServed) in [("{", false), (right, true)] {
            cluster.send(.stock, partition: 0, key: Array("gangnam".utf8), value: Array(stock.utf8))
            let harness = Harness(cluster, member: "next")
            harness.run()
            #expect((harness.fault == nil) == isServed)
            harness.log.leave()
        }
        let last = Harness(cluster, member: "last")
        cluster.order("b", "banana")
        last.run()
        #expect(cluster.values(.stock).last?.contains(#""revision":2"#) == true)
        #expect(cluster.values(.results).contains { $0.contains(#""left":{"banana":2}"#) })
    }

    @Test func stoppingFinishesTheTransactionAndLeaves() {
        let harness = Harness()
        harness.run()
        harness.cluster.order("a", "banana")
        harness.step()
        harness.requestStop()
        #expect(harness.run() == .stopped)
        #expect(harness.cluster.answers() == ["juiceMade a"])
        #expect(harness.cluster.group.members.isEmpty)
    }

    @Test func stoppingDoesNotWaitForARestore() {
        let cluster = SimulatedCluster(partitionCount: 1)
        let first = Harness(cluster, member: "first")
        cluster.order("1", "banana")
        first.run()
        first.log.leave()
        let harness = Harness(cluster, member: "second")
        harness.log.fault = { $0 == .readChangelog ? LogError(.retry, "slow") : nil }
        for _ in 0..<10 { harness.step() }
        harness.requestStop()
        #expect(harness.step() == .stopped)
    }
}
