import JuiceEngine
import JuiceMaker
import JuiceMessages

/// The engine's real worker on a simulated log, driven step by step.
package final class SimulatedWorker {
    package let log: SimulatedLog
    /// It does nothing before this step of the simulation.
    var pausedUntil = 0
    /// Until then its requests are held back.
    var troubledUntil = -1
    private var worker: Worker<SimulatedLog>

    package init(
        _ cluster: SimulatedCluster,
        member: String,
        maxBatch: Int = 100,
        window: DuplicateWindow = .standard,
        flaw: Flaw? = nil,
        onEvent: @escaping (WorkerEvent) -> Void = { _ in }
    ) {
        log = SimulatedLog(cluster: cluster, member: member, flaw: flaw)
        worker = Worker(
            log: log,
            menu: .standard,
            language: .english,
            partitionCount: cluster.partitionCount,
            window: window,
            maxBatch: maxBatch,
            stateType: flaw?.stateType ?? PartitionState.self,
            onEvent: onEvent
        )
    }

    package func step() -> Worker<SimulatedLog>.Step { worker.step() }

    package func requestStop() { worker.requestStop() }

    package var held: HeldState { worker.held }
}
