import JuiceEngine
import Synchronization

/// Whether the service is ready: every worker has restored what it was assigned and reads commands, or has been
/// assigned nothing.
final class Readiness: Sendable {
    private struct State {
        var readyWorkers: Set<Int> = []
        var isReady = false
    }

    private let workerCount: Int
    private let onChange: @Sendable (Bool) -> Void
    private let state = Mutex(State())

    /// - Parameter onChange: called on a worker's thread each time the answer changes; it is false at first.
    init(workerCount: Int, onChange: @escaping @Sendable (Bool) -> Void) {
        self.workerCount = workerCount
        self.onChange = onChange
    }

    /// Takes note of what a worker did.
    func note(_ event: WorkerEvent, ofWorker worker: Int) {
        switch event {
        case .restored, .committed: set(worker, isReady: true)
        case .assigned, .revoked, .startingOver, .partitionStopped, .failed, .left:
            set(worker, isReady: false)
        case .started, .aborted, .retrying: break
        }
    }

    private func set(_ worker: Int, isReady: Bool) {
        // Told under the lock, so that two changes cannot overtake each other.
        state.withLock { state in
            if isReady { state.readyWorkers.insert(worker) } else { state.readyWorkers.remove(worker) }
            let isReady = state.readyWorkers.count == workerCount
            guard isReady != state.isReady else { return }
            state.isReady = isReady
            onChange(isReady)
        }
    }
}
