import Kafka
import UnixSignals

extension StopSignal {
    /// A signal that Ctrl-C or SIGTERM gives, for loops that check it between two steps.
    ///
    /// Once it is made, these signals no longer end the process by themselves.
    static func onInterruption() -> StopSignal {
        let stop = StopSignal()
        // On Swift's own threads: the thread that checks is blocked most of the time.
        Task.detached { [weak stop] in for await _ in await UnixSignalsSequence(trapping: .sigint, .sigterm) { stop?.request() } }
        return stop
    }
}
