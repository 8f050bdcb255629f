import JuiceEngine
import Testing

@testable import simulate

/// How a worker is assigned partitions, restores their state, and leaves.
@Suite struct WorkerAssignmentTests {
    private let harness = Harness()
    private var cluster: SimulatedCluster { harness.cluster }

    /// A cluster may need seconds to elect a coordinator. A member that does not poll meanwhile loses its membership.
    @Test func theGroupIsPolledWhileIDsAreTakenOver() {
        harness.order("a", "banana")
        cluster.order("b", "banana")
        harness.fail(.commit, with: .startOver())
        while harness.step() != .backOff(attempt: 1) {}
        harness.log.fault = { $0 == .initTransactions ? .retry() : nil }
        cluster.group.rebalance()
        for _ in 0..<5 { harness.step() }
        #expect(harness.events.count { if case .assigned = $0 { true } else { false } } == 2)
        harness.log.fault = { _ in nil }
        harness.run()
        #expect(cluster.answers() == ["made a", "made b"])
        #expect(harness.restored.map(\.records) == [0, 0], "its state is still good")
    }

    /// No other worker commits, so the state stays good. A failed lookup does not discard it.
    @Test func stateSurvivesARebalanceAndARestoreThatFails() {
        harness.order("a", "banana")
        cluster.group.rebalance()
        harness.fail(.extents, with: .startOver())
        harness.run()
        harness.order("a", "banana")
        #expect(cluster.answers() == ["made a", "made a again"])
        #expect(harness.restored.map(\.stores) == [0, 1])
        #expect(harness.restored.map(\.records) == [0, 0])
    }

    /// Whether they expire before the worker takes the partition over or while it has it.
    @Test(arguments: [true, false]) func commandsThatExpireUnreadStopTheirPartitionOnly(isRunning: Bool) {
        let harness = Harness(partitions: 2)
        let cluster = harness.cluster
        for partition in 0..<2 { cluster.order("before", "banana", partition: Int32(partition)) }
        harness.run()
        if !isRunning { harness.log.leave(handsOver: true) }
        for id in ["lost", "kept"] { cluster.order(id, "banana") }
        cluster.order("after", "banana", partition: 1)
        cluster[.orders, 0].start = 2
        let next = isRunning ? harness : Harness(cluster, member: "next")
        next.run()
        #expect(cluster.answers() == ["made before"])
        #expect(cluster.answers(partition: 1) == ["made before", "made after"])
        #expect(next.fault != nil)
    }

    @Test func aLaterStockRecordReplacesAFaultyOne() {
        harness.order("a", "banana")
        harness.log.leave(handsOver: true)
        for (stock, isServed) in [("{", false), (#"{"store":"gangnam","revision":1,"stock":{"banana":4}}"#, true)] {
            cluster.send(.stock, key: "gangnam", stock)
            let next = Harness(cluster, member: "next")
            next.runAndLeave()
            let kind: PartitionFault.Kind? = isServed ? nil : .stock
            #expect(next.fault?.kind == kind)
        }
        Harness(cluster, member: "last").order("b", "banana")
        #expect(cluster.values(.stock).last?.contains(#""revision":2"#) == true)
        #expect(cluster.values(.results).contains { $0.contains(#""left":{"banana":2}"#) })
    }

    @Test func stoppingFinishesTheTransactionAndLeaves() {
        harness.run()
        cluster.order("a", "banana")
        harness.step()
        harness.requestStop()
        #expect(harness.run() == .stopped)
        #expect(cluster.answers() == ["made a"])
        #expect(cluster.group.members.isEmpty)
    }

    /// They take as long as their journals are.
    @Test func partitionsThatStayAreAnsweredWhileOthersAreRestored() {
        let cluster = SimulatedCluster(partitionCount: 2)
        let (one, two) = (Harness(cluster, member: "one"), Harness(cluster, member: "two"))
        for harness in [one, two, one, two] { harness.run() }
        #expect([one.held.partitions, two.held.partitions] == [1, 1])
        for number in 0..<100 { cluster.order("\(number)", "durian", partition: 1) }
        cluster.order("before", "kiwi", partition: 1)
        two.runAndLeave()
        func step(until isMet: () -> Bool) {
            for _ in 0..<100 where !isMet() {
                cluster.writeAllMarkers()
                cluster.now += 5
                one.step()
            }
        }
        let former = one.events.count(where: \.isTakeover)
        step { one.events.count(where: \.isTakeover) > former }
        for id in ["first", "second"] {
            cluster.order(id, "kiwi")
            step { cluster.answers().contains("made \(id)") }
            // Checks of the logs, and answers that are read back, read the same way.
            cluster.now += 3_001
        }
        guard case .resumed(let read, let restoring)? = one.events.last(where: \.isTakeover) else {
            Issue.record("all was restored before")
            return
        }
        #expect((read, restoring) == ([0], [1]))
        #expect(cluster.answers() == ["made first", "made second"])
        one.run()
        guard case .restored(let partitions, let state, let records)? = one.events.last(where: \.isTakeover) else { return }
        #expect((partitions, state.stores) == ([0, 1], 2))
        #expect(records > 100)
        #expect(one.restarts == 0)
        cluster.order("before", "kiwi", partition: 1)
        cluster.order("after", "kiwi", partition: 1)
        one.run()
        #expect(cluster.answers(partition: 1).suffix(2) == ["made before again", "made after"])
    }

    @Test func stoppingDoesNotWaitForARestore() {
        harness.order("1", "banana")
        harness.log.leave(handsOver: true)
        let second = Harness(cluster, member: "second")
        second.log.fault = { $0 == .readChangelog ? .retry() : nil }
        for _ in 0..<10 { second.step() }
        second.requestStop()
        #expect(second.step() == .stopped)
    }
}

extension WorkerEvent {
    /// Whether the worker reads commands from now on.
    fileprivate var isTakeover: Bool {
        switch self {
        case .resumed, .restored: true
        default: false
        }
    }
}
