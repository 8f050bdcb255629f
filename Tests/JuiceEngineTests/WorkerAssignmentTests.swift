import JuiceEngine
import JuiceSimulation
import Testing

/// How a worker is assigned partitions, restores their state, and leaves.
@Suite struct WorkerAssignmentTests {
    @Test func stateMovesWithItsPartitions() {
        let cluster = SimulatedCluster(partitionCount: 2)
        let first = Harness(cluster, member: "a")
        cluster.order("1", "banana", partition: 1)
        first.run()
        let second = Harness(cluster, member: "b")
        first.run()
        second.run()
        cluster.order("2", "banana", partition: 1)
        first.run()
        second.run()
        #expect(cluster.answers(partition: 1) == ["juiceMade 1", "juiceMade 2"])
        #expect(cluster.values(.stock, partition: 1).last?.contains(#""banana":6"#) == true)
        #expect(second.events.contains { if case .committed = $0 { true } else { false } })
    }

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
        let restored = harness.events.compactMap { event -> RestoredState? in
            if case .restored(_, let state) = event { state } else { nil }
        }
        #expect(restored.map(\.stores) == [0, 1])
        #expect(restored.map(\.records) == [0, 0])
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
        let restored = harness.events.compactMap { event -> RestoredState? in
            if case .restored(_, let state) = event { state } else { nil }
        }
        #expect(restored.map(\.records) == [0, 0], "its state is still good")
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
        let restored = harness.events.compactMap { event -> RestoredState? in
            if case .restored(_, let state) = event { state } else { nil }
        }
        #expect(restored.map(\.records) == [0, 0])
    }

    @Test func stateIsNotReusedAfterAnotherWorkerCommitted() {
        let cluster = SimulatedCluster(partitionCount: 1)
        let first = Harness(cluster, member: "first")
        cluster.order("a", "banana")
        first.run()
        // It misses a rebalance without noticing.
        cluster.group.remove("first")
        let second = Harness(cluster, member: "second")
        cluster.order("b", "banana")
        second.run()
        second.log.leave()
        first.run()
        cluster.order("c", "banana")
        first.run()
        #expect(cluster.values(.stock).last?.contains(#""revision":3,"stock":{"strawberry":10,"banana":4"#) == true)
    }

    @Test func aMemberThatLostItsPartitionsCannotCommit() {
        let cluster = SimulatedCluster(partitionCount: 1)
        let zombie = Harness(cluster, member: "zombie")
        zombie.run()
        cluster.order("1", "banana")
        // It pauses in a transaction, and meanwhile its partitions move to another worker.
        for _ in 0..<2 { zombie.step() }
        cluster.group.remove("zombie")
        let heir = Harness(cluster, member: "heir")
        heir.run()
        #expect(cluster.answers() == ["juiceMade 1"])
        zombie.run()
        heir.run()
        #expect(cluster.answers() == ["juiceMade 1"])
        #expect(zombie.events.contains { if case .startingOver = $0 { true } else { false } })
    }

    @Test func restoringWaitsForAnUndecidedTransaction() {
        let cluster = SimulatedCluster(partitionCount: 1)
        let dead = Harness(cluster, member: "dead")
        dead.run()
        cluster.order("1", "banana")
        // It dies after the decision to commit, before any marker is written.
        for _ in 0..<4 { dead.step() }
        cluster.group.remove("dead")

        let heir = Harness(cluster, member: "heir")
        for _ in 0..<20 { heir.step() }
        #expect(!heir.events.contains { if case .restored = $0 { true } else { false } })
        cluster.writeAllMarkers()
        heir.run()
        cluster.order("2", "banana")
        heir.run()
        #expect(cluster.answers() == ["juiceMade 1", "juiceMade 2"])
        #expect(cluster.values(.stock, partition: 0).last?.contains(#""banana":6"#) == true)
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
        #expect(second.events.contains { if case .partitionStopped(0, _) = $0 { true } else { false } })
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
        #expect(harness.events.contains { if case .partitionStopped(0, _) = $0 { true } else { false } })
    }

    /// How far the inputs are read stands in the journal.
    @Test func lostGroupOffsetsChangeNothing() {
        let cluster = SimulatedCluster(partitionCount: 2)
        let first = Harness(cluster, member: "first")
        cluster.order("1", "banana")
        first.run()
        first.log.leave()
        cluster.group.forgetOffsets()

        let second = Harness(cluster, member: "second")
        cluster.order("2", "banana", partition: 1)
        cluster.order("3", "banana")
        second.run()
        #expect(cluster.answers() == ["juiceMade 1", "juiceMade 3"])
        #expect(cluster.answers(partition: 1) == ["juiceMade 2"])
    }

    /// The claims tell a successor whose transaction may be open.
    @Test func partitionsAreClaimedBeforeAnythingElse() {
        let harness = Harness()
        harness.cluster.order("a", "banana")
        harness.run()
        #expect(harness.cluster.values(.results).first?.hasPrefix(#"{"type":"claim","ids":["#) == true)
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
        let faults = harness.events.compactMap { event -> PartitionFault? in
            if case .partitionStopped(0, let fault) = event { fault } else { nil }
        }
        #expect(faults.map(\.kind) == [.stock])
        #expect(faults.first?.reason.contains("offset 0") == true)
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
            #expect(
                harness.events.contains { if case .partitionStopped = $0 { true } else { false } } != isServed
            )
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
