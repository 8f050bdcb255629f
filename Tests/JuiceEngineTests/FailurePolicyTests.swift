import Testing

@testable import JuiceEngine

/// What follows from a failure: smaller batches, less written for single records, partitions that are paused.
@Suite struct FailurePolicyTests {
    private let error = LogError(.startOver, "a test")
    private let refusal = LogError(.startOver, "too large", subject: .record)

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

    @Test func lessIsWrittenForARecordEachTimeTheLogRefusesIt() {
        var failures = FailurePolicy(maxBatch: 1)
        var fallbacks: [Fallback] = []
        for _ in 0..<6 {
            failures.began(batch(1))
            fallbacks.append(failures.fallback)
            #expect(failures.failed(refusal, at: 0) == nil)
        }
        #expect(fallbacks == [.none, .withoutHeaders, .deadLetter, .truncatedDeadLetter, .emptyDeadLetter, .emptyDeadLetter])
        failures.began(batch(1, partition: 1))
        #expect(failures.fallback == .none)
        failures.began(batch(2))
        #expect(failures.fallback == .none)
    }

    @Test func aPartitionWhoseSingleRecordsFailIsPausedLongerEachTime() throws {
        var failures = FailurePolicy(maxBatch: 1)
        func fail(at now: Timestamp) -> PartitionFault? {
            failures.began(batch(1, partition: 3))
            return failures.failed(error, at: now)?.fault
        }
        // Neither a few failures nor a short while are enough.
        #expect([0, 10, 20, 30].compactMap(fail).isEmpty)
        let fault = try #require(fail(at: 10_000))
        #expect(fault == PartitionFault(.record(.orders), at: 0, "a test"))
        #expect(failures.isPaused(3, at: 14_999))
        #expect(!failures.isPaused(3, at: 15_000))
        #expect(failures.isFailing(3))
        #expect(fail(at: 15_000) != nil)
        #expect(failures.isPaused(3, at: 24_999))
        #expect(!failures.isPaused(3, at: 25_000))
        // A clock that is set back must not prolong the pause.
        #expect(!failures.isPaused(3, at: 0))
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
        #expect(looks.prefix(7) == [1_000, 2_000, 3_000, 4_000, 5_000, 6_250, 7_812])
        #expect(zip(looks, looks.dropFirst()).allSatisfy { $1 - $0 <= max(1_000, min($0 / 4, 20_000)) })
        let isRestored = failures.tookOver(3)
        #expect(isRestored && !failures.isFailing(3))
    }
}
