import JuiceEngine
import JuiceMessages
import Testing

@testable import JuiceService
@testable import simulate

/// The metrics of a worker that runs on a simulated log.
@Suite struct WorkerMetricsTests {
    @Test func commandsAreCountedByTheirResultsOnceCommitted() {
        let worker = ObservedWorker()
        worker.run()
        worker.order("a", "kiwi")
        worker.order("b", "strawberry")
        worker.order("c", "durian")
        worker.order("a", "kiwi")
        worker.send("no JSON")
        worker.run()
        // Only the last answer is at hand.
        #expect(worker.count(.answersReadBack) == 1)
        let results = ["juice_made", "out_of_stock", "restocked", "rejected"]
        #expect(results.map { worker.count(.commands, [("result", $0)]) } == [1, 1, 0, 1])
        #expect(worker.count(.duplicates) == 1)
        #expect(worker.count(.deadLetters) == 1)
        #expect(worker.count(.forwards) == 0)
    }

    @Test func commandsOfAnotherPartitionAreForwards() {
        let worker = ObservedWorker(partitionCount: 8)
        worker.run()
        let stores = (0..<20).map { "store-\($0)" }
        for store in stores {
            worker.cluster.send(
                .orders, partition: 0, key: Array(store.utf8), value: Array(#"{"orderId":"\#(store)","juice":"kiwi"}"#.utf8))
        }
        worker.run()
        #expect(worker.count(.commands, [("result", "juice_made")]) == 20)
        #expect((1..<20).contains(worker.count(.forwards)))
    }

    @Test func transactionsAreCountedByTheirOutcomes() {
        let worker = ObservedWorker()
        worker.run()
        #expect(worker.count(.transactions, [("outcome", "committed")]) == 0, "a claim is no work done")
        worker.order("a", "kiwi")
        worker.fail(.produce, with: LogError(.startOver, "a test"))
        worker.run()
        worker.order("b", "kiwi")
        worker.fail(.commit, with: LogError(.startOver, "a test"))
        worker.run()
        #expect(worker.count(.transactions, [("outcome", "failed")]) == 2)
        let committed = worker.count(.transactions, [("outcome", "committed")])
        #expect(committed == 2)
        #expect(worker.durations(.transactionDuration).count == committed)
        #expect(worker.count(.commands, [("result", "juice_made")]) == 2, "each is counted once")
    }

    @Test func latencyIsFromTheCommandsTimestampToItsCommit() {
        let worker = ObservedWorker()
        worker.run()
        worker.order("a", "kiwi")
        worker.cluster.now += 7
        worker.order("b", "kiwi")
        worker.cluster.now += 3
        worker.run()
        #expect(worker.durations(.answerLatency) == [10_000_000, 3_000_000])
    }

    @Test func aFailedTransactionsCommandsAreTimedOnce() {
        let worker = ObservedWorker()
        worker.run()
        worker.order("a", "kiwi")
        worker.fail(.commit, with: LogError(.startOver, "a test"))
        worker.run()
        #expect(worker.durations(.answerLatency).count == 1)
    }

    @Test func nonsensicalTimestampsHaveNoLatency() {
        let worker = ObservedWorker()
        let metrics = WorkerMetrics(worker: 0, topics: TopicNames(), factory: worker.factory)
        let (now, week): (Timestamp, Timestamp) = (1_700_000_000_000, 604_800_000)
        metrics.committed(
            after: .zero,
            commandTimes: [-10_000_000_000_000, .min, .max, 0, now + 60_001, now - week - 1, now - week, now - 3, now + 5], at: now)
        #expect(worker.durations(.answerLatency) == [week * 1_000_000, 3_000_000, 0])
    }

    @Test func stateAndRestoresAreTold() {
        let worker = ObservedWorker(partitionCount: 2)
        #expect(worker.gauge(.assignedPartitions) == 0)
        worker.run()
        #expect(worker.gauge(.assignedPartitions) == 2)
        #expect(worker.durations(.restoreDuration).count == 1)
        worker.order("a", "kiwi")
        worker.run()
        #expect(worker.gauge(.stores) == 1)
        #expect(worker.gauge(.rememberedCommands) == 1)
        #expect(worker.gauge(.restoreRemaining) == 0)
    }

    @Test func aPartitionThatOnlyFailsIsCountedUntilItWorks() {
        let worker = ObservedWorker()
        let metrics = WorkerMetrics(worker: 0, topics: TopicNames(), factory: worker.factory)
        metrics.record(.partitionFailing(3, PartitionFault(.leader(topic: "t"), "a test")))
        #expect(worker.gauge(.stoppedPartitions) == 1)
        metrics.record(.partitionRecovered(3))
        #expect(worker.gauge(.stoppedPartitions) == 0)
    }

    @Test func aPartitionThatIsStoppedIsCountedUntilItIsGivenUp() {
        let worker = ObservedWorker()
        let metrics = WorkerMetrics(worker: 0, topics: TopicNames(), factory: worker.factory)
        metrics.record(.partitionStopped(3, PartitionFault(.stock, "a test")))
        metrics.record(.partitionStopped(3, PartitionFault(.stock, "a test")))
        #expect(worker.gauge(.stoppedPartitions) == 1)
        metrics.record(.revoked)
        #expect(worker.gauge(.stoppedPartitions) == 0)
    }

    @Test func aRestoreCountsDown() {
        var progress = RestoreProgress()
        progress.setEnds([PartitionExtents(partition: 0, inputs: [:], results: 40..<50, stock: 0..<100)])
        #expect(progress.remaining == 0, "nothing is opened yet")
        progress.begin(at: [
            ChangelogPosition(topic: .stock, partition: 0, offset: 0), ChangelogPosition(topic: .results, partition: 0, offset: 40),
        ])
        #expect(progress.remaining == 110)
        let places = [(ChangelogTopic.stock, Offset(10)), (.stock, 29), (.results, 43)]
        let records = places.enumerated().map { index, place in
            ChangelogBatch.Record(topic: place.0, partition: 0, offset: place.1, timestamp: nil, key: nil, value: nil, index: index)
        }
        progress.advance(by: ChangelogBatch(records: records, ends: []))
        #expect(progress.remaining == 70 + 6)
        progress.advance(by: ChangelogBatch(records: [], ends: [ChangelogPosition(topic: .stock, partition: 0, offset: 100)]))
        #expect(progress.remaining == 6)
    }
}
