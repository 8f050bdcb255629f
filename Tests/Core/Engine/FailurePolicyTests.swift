import JuiceMessages
import Testing

@testable import JuiceEngine

/// What follows from failures: smaller batches, cut records, paused partitions.
@Suite struct FailurePolicyTests {
    private let error = LogError(.startOver, "a test")

    private func refusal(by topic: Topic) -> LogError { LogError(.startOver, "refused", subject: .record(topic, partition: 0)) }

    private func batch(_ count: Int, partition: Int32 = 0) -> Batch {
        Batch(
            (0..<count).map {
                CommandRecord(
                    topic: .orders, partition: partition, offset: Offset($0), timestamp: nil, key: nil, value: nil, index: $0)
            })
    }

    @Test func batchesThatFailAreHalvedAndDoubledAgain() {
        var failures = FailurePolicy(maxBatch: 100)
        var limits: [Int] = []
        while failures.batchLimit > 1 {
            failures.began(batch(failures.batchLimit))
            #expect(failures.failed(error, at: 0) == nil)
            limits.append(failures.batchLimit)
        }
        #expect(limits == [50, 25, 12, 6, 3, 1])
        #expect(failures.count == 6)
        for limit in [2, 4, 8, 16, 32, 64, 100, 100] {
            failures.began(batch(1))
            #expect(failures.committed(after: 10).isEmpty)
            #expect(failures.batchLimit == limit)
        }
        #expect(failures.count == 0)
    }

    @Test func aBatchSmallerThanTheLimitIsHalvedItself() {
        var failures = FailurePolicy(maxBatch: 100)
        failures.began(batch(10))
        _ = failures.failed(error, at: 0)
        #expect(failures.batchLimit == 5)
    }

    /// A transaction close to its timeout fails if it gets a little larger.
    @Test func slowBatchesAreHalvedToo() {
        var failures = FailurePolicy(maxBatch: 100)
        for (duration, limit) in [(6_000, 50), (3_000, 50), (1_000, 100)] as [(Timestamp, Int)] {
            failures.began(batch(failures.batchLimit))
            _ = failures.committed(after: duration)
            #expect(failures.batchLimit == limit)
        }
    }

    @Test func aFailureElsewhereHalvesNothing() {
        var failures = FailurePolicy(maxBatch: 100)
        failures.began(batch(100))
        failures.failedElsewhere()
        #expect(failures.batchLimit == 100)
        #expect(failures.count == 1)
    }

    /// Lets a batch of this many records of partition 6 fail.
    private func refuse(
        _ failures: inout FailurePolicy, _ subject: LogError.Subject, count: Int = 1
    ) -> PartitionFailure? {
        failures.began(batch(count, partition: 6))
        return failures.failed(LogError(.startOver, "refused", subject: subject), at: 0)
    }

    /// Stores live in 4 partitions, so a record of partition 6 belongs to partition 2.
    @Test(arguments: [Topic.orders, .restocks, .deadLetters])
    func cutsARecordOnceBeforePausingItsPartition(topic: Topic) {
        var failures = FailurePolicy(maxBatch: 1, partitionCount: 4)
        for pause in [5_000, 10_000] as [Timestamp] {
            #expect(refuse(&failures, .record(topic, partition: 1)) == nil)
            failures.began(batch(1, partition: 1))
            #expect(failures.cut == [])
            failures.began(batch(2, partition: 6))
            #expect(failures.cut == [])
            failures.began(batch(1, partition: 6))
            #expect(failures.cut == .contents)
            let failure = refuse(&failures, .record(topic, partition: 1))
            #expect(failure?.partition == 2 && failure?.fault == PartitionFault(.topic(topic), "refused"))
            #expect(failures.isPaused(2, at: pause - 1) && !failures.isPaused(2, at: pause))
            failures.began(batch(1, partition: 6))
            #expect(failures.cut == [])
        }
        #expect(failures.committed(after: 1) == [2])
    }

    /// So that they fail no others again.
    @Test func recordsThatATopicRefusedAreTriedAgainAlone() {
        var failures = FailurePolicy(maxBatch: 100)
        failures.pause(0, .refused, at: 0)
        for (time, limit) in [(4_999, 100), (5_000, 1)] as [(Timestamp, Int)] {
            failures.claimed(at: time)
            #expect(failures.batchLimit == limit)
        }
    }

    @Test func cutsOnlyThePartThatTheTopicRefuses() {
        var failures = FailurePolicy(maxBatch: 1, partitionCount: 4)
        #expect(refuse(&failures, .time(.orders, partition: 1)) == nil)
        #expect(failures.cut == .time)
        #expect(refuse(&failures, .record(.orders, partition: 1)) == nil)
        #expect(failures.cut == [.time, .contents])
        #expect(refuse(&failures, .time(.orders, partition: 1))?.partition == 2)
        #expect(failures.cut == [])
    }

    @Test func cutsRefusedRecordsOfTwoPartitions() {
        var failures = FailurePolicy(maxBatch: 1)
        for partition in [0, 1] as [Int32] {
            failures.began(batch(1, partition: partition))
            #expect(failures.failed(refusal(by: .deadLetters), at: 0) == nil)
        }
        for partition in [0, 1] as [Int32] {
            failures.began(batch(1, partition: partition))
            #expect(failures.cut == .contents)
            #expect(failures.committed(after: 1) == [])
        }
    }

    @Test func recordsAreTriedWholeAgainAfterAnyOtherFailure() {
        let ends: [(inout FailurePolicy) -> Void] = [
            { _ = $0.failed(self.error, at: 0) }, { $0.failedElsewhere() }, { _ = $0.claimsFailed([0, 1], self.error, at: 0) },
            { _ = $0.committed(after: 1) }, { $0.forgetPartitions() },
        ]
        for end in ends {
            var failures = FailurePolicy(maxBatch: 1)
            #expect(refuse(&failures, .record(.deadLetters, partition: 0)) == nil)
            #expect(failures.cut == .contents)
            end(&failures)
            failures.began(batch(1, partition: 6))
            #expect(failures.cut == [])
        }
    }

    /// A batch of records may be too large where a single one is not.
    @Test func anAnswerThatIsRefusedAlonePausesItsPartition() {
        var failures = FailurePolicy(maxBatch: 4, partitionCount: 4)
        #expect(refuse(&failures, .record(.results, partition: 2), count: 4) == nil)
        #expect(failures.batchLimit == 2)
        let failure = refuse(&failures, .record(.results, partition: 2))
        #expect(failure?.partition == 2 && failure?.fault.kind == .topic(.results))
        failures.began(batch(0))
        #expect(failures.wroteOwed(of: [2]) == [], "that proves nothing")
        failures.claimed(at: 5_000)
        #expect(failures.batchLimit == 1)
    }

    /// Due stock stems from earlier transactions, so its transaction may have commands of other partitions only.
    @Test(arguments: [(0, Topic.stock), (0, .results), (1, .stock), (4, .stock)])
    func aRefusedOwedRecordPausesItsPartitionAtOnce(count: Int, topic: Topic) {
        var failures = FailurePolicy(maxBatch: 4, partitionCount: 4)
        let failure = refuse(&failures, .record(topic, partition: 3), count: count)
        #expect(failure?.partition == 3 && failure?.fault.kind == .topic(topic))
        #expect(failures.isPaused(3, at: 4_999) && failures.batchLimit == 4)
        failures.began(batch(0))
        #expect(failures.wroteOwed(of: [3, 2]) == [3])
        #expect(!failures.isFailing(3))
    }

    @Test func aPartitionWhoseSingleRecordsFailIsPausedLongerEachTime() throws {
        var failures = FailurePolicy(maxBatch: 1)
        func fail(at now: Timestamp) -> PartitionFault? {
            failures.began(batch(1, partition: 3))
            return failures.failed(error, at: now)?.fault
        }
        // Neither a few failures nor a short time is enough.
        #expect([0, 10, 20, 30].compactMap(fail).isEmpty)
        let fault = try #require(fail(at: 10_000))
        #expect(fault == PartitionFault(.record(.orders), at: 0, "a test"))
        #expect(failures.isPaused(3, at: 14_999))
        #expect(!failures.isPaused(3, at: 15_000))
        #expect(failures.isFailing(3))
        #expect(fail(at: 15_000) != nil)
        #expect(failures.isPaused(3, at: 24_999))
        #expect(!failures.isPaused(3, at: 25_000))
        failures.began(batch(1, partition: 3))
        #expect(failures.committed(after: 1) == [3])
        #expect(!failures.isFailing(3))
    }

    @Test func aPartitionWithoutLeaderIsRetriedSoon() {
        var failures = FailurePolicy(maxBatch: 1)
        var now: Timestamp = 0
        var looks: [Timestamp] = []
        while now < 300_000 {
            failures.pause(3, .leaderless, at: now)
            while failures.isPaused(3, at: now) { now += 1 }
            looks.append(now)
        }
        #expect(looks.prefix(7) == [1_000, 3_000, 7_000, 15_000, 31_000, 47_000, 63_000])
        let isRestored = failures.tookOver(3)
        #expect(isRestored && !failures.isFailing(3))
    }
}
