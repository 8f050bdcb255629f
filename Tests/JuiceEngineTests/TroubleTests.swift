import Testing

@testable import JuiceEngine

/// What follows from a failure: smaller batches, less written for single records, partitions set aside.
@Suite struct TroubleTests {
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
        var trouble = Trouble(maxBatch: 100)
        var limits: [Int] = []
        while trouble.limit > 1 {
            trouble.began(batch(trouble.limit))
            #expect(trouble.failed(error, at: 0) == nil)
            limits.append(trouble.limit)
        }
        #expect(limits == [50, 25, 12, 6, 3, 1])
        #expect(trouble.failures == 6)
        for limit in [2, 4, 8, 16, 32, 64, 100, 100] {
            trouble.began(batch(1))
            #expect(trouble.committed(after: 10).isEmpty)
            #expect(trouble.limit == limit)
        }
        #expect(trouble.failures == 0)
    }

    @Test func aBatchSmallerThanTheLimitIsHalvedItself() {
        var trouble = Trouble(maxBatch: 100)
        trouble.began(batch(10))
        _ = trouble.failed(error, at: 0)
        #expect(trouble.limit == 5)
    }

    /// A transaction close to its timeout fails if it gets a little larger.
    @Test func slowBatchesAreHalvedToo() {
        var trouble = Trouble(maxBatch: 100)
        trouble.began(batch(100))
        _ = trouble.committed(after: 6_000)
        #expect(trouble.limit == 50)
        trouble.began(batch(50))
        _ = trouble.committed(after: 3_000)
        #expect(trouble.limit == 50)
        trouble.began(batch(50))
        _ = trouble.committed(after: 1_000)
        #expect(trouble.limit == 100)
    }

    @Test func aFailureForOtherReasonsHalvesNothing() {
        var trouble = Trouble(maxBatch: 100)
        trouble.began(batch(100))
        trouble.failedForOtherReasons()
        #expect(trouble.limit == 100)
        #expect(trouble.failures == 1)
    }

    @Test func lessIsWrittenForARecordEachTimeTheLogRefusesIt() {
        var trouble = Trouble(maxBatch: 1)
        var treatments: [Trouble.Treatment] = []
        for _ in 0..<6 {
            trouble.began(batch(1))
            treatments.append(trouble.treatment)
            #expect(trouble.failed(refusal, at: 0) == nil)
        }
        #expect(treatments == [.whole, .bare, .deadLetter, .truncated, .reasonOnly, .reasonOnly])
        trouble.began(batch(1, partition: 1))
        #expect(trouble.treatment == .whole)
        trouble.began(batch(2))
        #expect(trouble.treatment == .whole)
    }

    @Test func aPartitionWhoseSingleRecordsFailIsSetAsideLongerEachTime() throws {
        var trouble = Trouble(maxBatch: 1)
        func fail(at now: Timestamp) -> PartitionFault? {
            trouble.began(batch(1, partition: 3))
            return trouble.failed(error, at: now)?.fault
        }
        // Neither a few failures nor a short while are enough.
        #expect([0, 10, 20, 30].compactMap(fail).isEmpty)
        let fault = try #require(fail(at: 10_000))
        #expect(fault == PartitionFault(.record(.orders), at: 0, "a test"))
        #expect(trouble.isAside(3, at: 14_999))
        #expect(!trouble.isAside(3, at: 15_000))
        #expect(trouble.isFailing(3))
        #expect(fail(at: 15_000) != nil)
        #expect(trouble.isAside(3, at: 24_999))
        #expect(!trouble.isAside(3, at: 25_000))
        // A clock that is set back must not prolong the pause.
        #expect(!trouble.isAside(3, at: 0))
        trouble.began(batch(1, partition: 3))
        #expect(trouble.committed(after: 1) == [3])
        #expect(!trouble.isFailing(3))
    }

    @Test func aPartitionWithoutLeaderIsRetriedSoon() {
        var trouble = Trouble(maxBatch: 1)
        var now: Timestamp = 0
        var looks: [Timestamp] = []
        while now < 300_000 {
            trouble.setAside(3, .leaderless, at: now)
            while trouble.isAside(3, at: now) { now += 1 }
            looks.append(now)
        }
        #expect(looks.prefix(7) == [1_000, 2_000, 3_000, 4_000, 5_000, 6_250, 7_812])
        #expect(zip(looks, looks.dropFirst()).allSatisfy { $1 - $0 <= max(1_000, min($0 / 4, 20_000)) })
        let isRestored = trouble.restored(3)
        #expect(isRestored && !trouble.isFailing(3))
    }
}
