import JuiceEngine
import JuiceMaker
import JuiceMessages

/// The engine's real worker on a simulated log, driven step by step.
package final class SimulatedWorker {
    package let log: SimulatedLog
    /// It is paused until this step of the simulation.
    var pausedUntil = 0
    /// Its requests are held back until this step.
    var troubledUntil = -1
    private var worker: Worker<SimulatedLog>
    private let undoBreaker: UndoBreaker?

    package init(
        _ cluster: SimulatedCluster,
        member: String,
        maxBatch: Int = 100,
        window: DuplicateWindow = .standard,
        flaw: Flaw? = nil,
        onEvent: @escaping (WorkerEvent) -> Void = { _ in }
    ) {
        log = SimulatedLog(cluster: cluster, member: member, flaw: flaw)
        let undoBreaker = UndoBreaker(flaw)
        self.undoBreaker = undoBreaker
        worker = Worker(
            log: log,
            menu: .standard,
            language: .english,
            partitionCount: cluster.partitionCount,
            window: window,
            maxBatch: maxBatch
        ) { event in
            if case .startingOver = event { undoBreaker?.save() }
            onEvent(event)
        }
    }

    package func step() -> Worker<SimulatedLog>.Step {
        undoBreaker?.states = Array(worker.partitions)
        defer { undoBreaker?.putBack() }
        return worker.step()
    }

    package func requestStop() { worker.requestStop() }

    package var held: HeldState { worker.held }
}

/// Breaks a worker's undo from outside: saves part of the state right before the worker takes changes back, and puts it
/// back after the step.
private final class UndoBreaker {
    /// The worker's partitions as the step begins.
    var states: [PartitionState] = []
    private var saved: [(state: PartitionState, applied: AppliedState)] = []
    private let breaksStock: Bool

    /// Nil unless the flaw is one of the undo.
    init?(_ flaw: Flaw?) {
        switch flaw {
        case .stockNotUndone: breaksStock = true
        case .answersNotUndone: breaksStock = false
        default: return nil
        }
    }

    func save() { saved = states.map { ($0, $0.applied) } }

    func putBack() {
        for (state, applied) in saved {
            if breaksStock {
                state.applied.stores = applied.stores
            } else {
                state.applied.duplicates = applied.duplicates
            }
        }
        saved = []
    }
}
