import Kafka
import Testing

/// The small parts that all users of Kafka here share.
@Suite struct SessionTests {
    @Test func pausesAreDoubledUpToASecond() {
        var backoff = Backoff()
        let pauses = (0..<10).map { _ in backoff.failed() }
        #expect(pauses == [10, 20, 40, 80, 160, 320, 640, 1000, 1000, 1000].map { .milliseconds($0) })
        #expect(Backoff.pause(after: 0) == .milliseconds(10))
        #expect(Backoff.pause(after: .max) == .milliseconds(1000))
    }

    @Test func onlyWhatMayPassIsRetriedAndOnlyAsLongAsItIsWorthIt() {
        func attempts(of error: KafkaError, worth limit: Int) -> Int {
            var count = 0
            _ = try? retrying(while: { count < limit }) { () throws(KafkaError) in
                count += 1
                throw error
            }
            return count
        }
        #expect(attempts(of: KafkaError(code: .timedOut, isRetriable: true), worth: 3) == 3)
        #expect(attempts(of: KafkaError(code: .fenced), worth: 3) == 1)
        #expect(attempts(of: KafkaError(code: .state, isRetriable: true, requiresAbort: true), worth: 3) == 1)
    }

    @Test func aRangeIsReadOnceItsEndIsPassed() {
        let partitions = (0..<3).map { TopicPartition(topic: "t", partition: $0) }
        var unread = UnreadRanges([partitions[0]: 5..<10, partitions[1]: 0..<1, partitions[2]: 4..<4])
        #expect(!unread.isEmpty)
        unread.passed(partitions[0], next: 9)
        unread.passed(partitions[2], next: 100)
        unread.passed(partitions[1], next: 1)
        #expect(!unread.isEmpty)
        // The end of the partition reveals a marker at the end of the range.
        unread.passed(partitions[0], next: 12)
        #expect(unread.isEmpty)
    }

    @Test func aThreadThatMakesNoStepsIsStuckUnlessItHasEnded() {
        let (watch, start) = (StepWatch(), ContinuousClock.now)
        #expect(watch.stuck(at: start + .seconds(3600)) == [])
        for name in ["b", "a", "c"] { watch.stepped(name, now: start) }
        #expect(watch.stuck(at: start + StepWatch.longestStep) == [])
        watch.stepped("c", now: start + .seconds(100))
        watch.ended("b")
        watch.stepped("b", now: start)
        #expect(watch.stuck(at: start + .seconds(130)) == ["a has been stuck for 130 s"])
    }

    @Test(arguments: [
        (KafkaError.Code.topicAuthorizationFailed, true), (.invalidArgument, true), (.inconsistentGroupProtocol, true),
        (.timedOut, false), (.fenced, false), (.messageTooLarge, false),
    ])
    func someErrorsAreHopeless(code: KafkaError.Code, isHopeless: Bool) {
        #expect(code.isHopeless == isHopeless)
    }
}
