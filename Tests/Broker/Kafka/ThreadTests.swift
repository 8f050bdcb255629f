import Kafka
import Testing

/// How a thread that hangs is noticed.
@Suite struct ThreadTests {
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
