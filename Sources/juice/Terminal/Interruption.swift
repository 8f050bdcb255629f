import Synchronization
import UnixSignals

/// Whether somebody pressed Ctrl-C, or asked the process to end, for loops that look between two steps.
///
/// From when it is made, these signals no longer end the process by themselves.
final class Interruption: Sendable {
    private let flag = Atomic(false)

    init() {
        // On Swift's own threads: the thread that looks is blocked most of the time.
        Task.detached { [weak self] in
            for await _ in await UnixSignalsSequence(trapping: .sigint, .sigterm) {
                self?.request()
            }
        }
    }

    var isRequested: Bool { flag.load(ordering: .relaxed) }

    /// Does what a signal does.
    func request() { flag.store(true, ordering: .relaxed) }
}
