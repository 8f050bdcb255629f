import Kafka
import Testing

/// How threads wait, and how one that hangs is noticed.
@Suite struct ThreadTests {
    @Test func pausesAreDoubledUpToASecond() {
        var backoff = Backoff()
        let pauses = (0..<10).map { _ in backoff.failed() }
        #expect(pauses == [10, 20, 40, 80, 160, 320, 640, 1000, 1000, 1000].map { .milliseconds($0) })
        #expect(Backoff.pause(after: 0) == .milliseconds(10))
        #expect(Backoff.pause(after: .max) == .milliseconds(1000))
    }

    @Test func aThreadThatMakesNoStepsIsStuckUnlessItHasEnded() {
        let (watch, start) = (ThreadWatchdog(), ContinuousClock.now)
        #expect(watch.stuck(at: start + .seconds(3600)) == [])
        for name in ["b", "a", "c"] { watch.stepped(name, now: start) }
        #expect(watch.stuck(at: start + ThreadWatchdog.longestStep) == [])
        watch.stepped("c", now: start + .seconds(100))
        watch.ended("b")
        watch.stepped("b", now: start)
        #expect(watch.stuck(at: start + .seconds(130)) == ["a has been stuck for 130 s"])
    }
}
