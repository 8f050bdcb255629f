import JuiceEngine
import Synchronization

/// Whether the service is ready: every worker has restored what it was assigned and reads commands, or has been
/// assigned nothing.
final class Readiness: Sendable {
    private struct State {
        var restored: Set<Int> = []
        /// A partition that nobody reads keeps the service from being ready until it is assigned anew.
        var withStoppedPartition: Set<Int> = []
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
        case .restored, .committed: update { $0.restored.insert(worker) }
        case .assigned, .revoked, .startingOver, .failed, .left:
            update {
                $0.restored.remove(worker)
                $0.withStoppedPartition.remove(worker)
            }
        case .partitionStopped: update { $0.withStoppedPartition.insert(worker) }
        case .started, .aborted, .retrying: break
        }
    }

    private func update(_ change: (inout State) -> Void) {
        // Told under the lock, so that two changes cannot overtake each other.
        state.withLock { state in
            change(&state)
            let isReady = state.restored.count == workerCount && state.withStoppedPartition.isEmpty
            guard isReady != state.isReady else { return }
            state.isReady = isReady
            onChange(isReady)
        }
    }
}
