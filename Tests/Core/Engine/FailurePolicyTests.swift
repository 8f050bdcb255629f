import JuiceMessages
import Testing

@testable import JuiceEngine

/// What follows from a failure: smaller batches, less written for single records, partitions that are paused.
@Suite struct FailurePolicyTests {
    private let error = LogError(.startOver, "a test")

    private func refusal(by topic: Topic = .results, partition: Int32 = 0) -> LogError {
        LogError(.startOver, "too large", subject: .record(topic, partition: partition))
    }

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

    /// Makes the transaction of a record fail, and then its trial, in which the topic takes the probe.
    private func refuse(_ failures: inout FailurePolicy, by topic: Topic) {
        for isTrial in [false, true] {
            failures.began(batch(1))
            #expect((failures.suspect?.topic == topic) == isTrial)
            if isTrial { failures.probed() }
            let failure = failures.failed(refusal(by: topic), at: 0)
            #expect(failure == nil)
        }
        failures.began(batch(1))
        #expect(failures.suspect == nil)
    }

    @Test(arguments: [
        ([Topic.results, .results, .deadLetters, .deadLetters], [Fallback.withoutHeaders, .deadLetter]),
        ([.orders, .orders, .deadLetters, .deadLetters], [.withoutHeaders, .deadLetter]),
        ([.deadLetters, .deadLetters], []),
    ]) func lessIsWrittenForARecordThatATopicRefusesWhileItTakesOthers(topics: [Topic], first: [Fallback]) {
        var failures = FailurePolicy(maxBatch: 1)
        let fallbacks = topics.map { topic in
            refuse(&failures, by: topic)
            return failures.fallback
        }
        #expect(fallbacks == first + [.truncatedDeadLetter, .emptyDeadLetter])
        failures.began(batch(1, partition: 1))
        #expect(failures.fallback == .none)
        failures.began(batch(2))
        #expect(failures.fallback == .none)
    }

    @Test func aTopicThatRefusesTheProbePausesThePartitionAndEndsTheFallback() {
        var failures = FailurePolicy(maxBatch: 1, partitionCount: 4)
        refuse(&failures, by: .results)
        #expect(failures.fallback == .withoutHeaders)
        // Added partitions belong to those that stores live in.
        failures.began(batch(1, partition: 6))
        #expect(failures.failed(refusal(), at: 0) == nil)
        failures.began(batch(1, partition: 6))
        let failure = failures.failed(refusal(), at: 0)
        #expect(failure?.partition == 2 && failure?.fault == PartitionFault(.topic(.results), "too large"))
        #expect(failures.isPaused(2, at: 4_999) && !failures.isPaused(2, at: 5_000))
        failures.began(batch(1, partition: 6))
        #expect(failures.fallback == .none && failures.suspect == nil)
        let working = failures.committed(after: 1)
        #expect(working == [2])
    }

    @Test func aFallbackEndsAfterAnyOtherFailure() {
        let ends: [(inout FailurePolicy) -> Void] = [
            { _ = $0.failed(self.error, at: 0) }, { $0.failedElsewhere() }, { _ = $0.claimsFailed([0, 1], self.error, at: 0) },
            { _ = $0.committed(after: 1) },
        ]
        for end in ends {
            var failures = FailurePolicy(maxBatch: 1)
            refuse(&failures, by: .results)
            #expect(failures.fallback == .withoutHeaders)
            end(&failures)
            failures.began(batch(1))
            #expect(failures.fallback == .none)
        }
    }

    /// What is owed precedes the batch's answers in their transaction, so it is not known yet what was refused.
    @Test func whatIsOwedIsWrittenAloneBeforeACommandIsSuspected() {
        var failures = FailurePolicy(maxBatch: 1)
        failures.began(batch(1))
        failures.writesOwed()
        #expect(failures.failed(refusal(by: .stock), at: 0) == nil)
        #expect(failures.owesFirst && !failures.isSuspected(batch(1)))
        failures.began(batch(0))
        let fault = failures.failed(refusal(by: .stock, partition: 3), at: 0)
        #expect(fault?.partition == 3 && fault?.fault.kind == .topic(.stock))
        failures.claimed(at: 5_000)
        #expect(failures.owesFirst)
        failures.began(batch(0))
        let working = failures.wroteOwed(of: [3, 4])
        #expect(working == [3])
        #expect(!failures.owesFirst && !failures.isFailing(3))
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
