import JuiceDomain
import JuiceEngine
import JuiceMessages

/// The engine's real worker on a simulated log, driven step by step.
final class SimulatedWorker {
    let log: SimulatedPort
    /// It is paused until this step of the simulation.
    var pausedUntil = 0
    private var worker: Worker<SimulatedPort>
    private let breaker: StateBreaker?

    init(
        _ log: SimulatedPort, stores: [String]? = nil, maxBatch: Int = 100, window: DuplicateWindow = .standard,
        answerBytes: Int = 4 << 20, commitInterval: Timestamp = 0, noteInterval: Timestamp = 24 * 3_600_000,
        oldestForward: Timestamp? = nil, process: String = "",
        onEvent: @escaping (WorkerEvent) -> Void = { _ in }
    ) {
        self.log = log
        let breaker = StateBreaker(log.flaw)
        self.breaker = breaker
        let settings = WorkerSettings(
            menu: log.cluster.menu, language: .english,
            stores: log.flaw == .unknownStoresServed ? nil : stores.map { ByteKeyTable(keys: $0) },
            partitionCount: log.cluster.partitionCount, group: "group-\(log.group)", instance: log.member, process: process,
            window: window, answerBytes: answerBytes, maxBatch: maxBatch, commitInterval: commitInterval,
            noteInterval: noteInterval, oldestForward: oldestForward,
            times: log.flaw == .timesJudgedByClock ? CommandTimes() : log.cluster.times)
        worker = Worker(log: log, settings: settings) { event in
            breaker?.noticed(event)
            onEvent(event)
        }
    }

    func step() -> Worker<SimulatedPort>.Step {
        breaker?.before = Array(worker.partitions)
        defer { breaker?.putBack(into: worker.partitions) }
        return worker.step()
    }

    func requestStop() { worker.requestStop() }

    var held: HeldState { worker.held }
    var isRestoring: Bool { worker.isRestoring }
}

/// Breaks a worker's state from outside: saves part of it right before the worker undoes changes or gives partitions away, and puts
/// it back later.
private final class StateBreaker {
    /// The worker's partitions as the step begins.
    var before: [PartitionState] = []
    private var saved: [(state: PartitionState, applied: StateStore)] = []
    /// The numbers of the worker's partitions, and of those before the last rebalance.
    private var numbers: [Int32] = []
    private var formerNumbers: [Int32] = []
    private var isDue = false
    private let flaw: Flaw

    /// Nil unless the flaw concerns the state.
    init?(_ flaw: Flaw?) {
        guard let flaw, [.stockNotUndone, .answersNotUndone, .stateKeptBlindly].contains(flaw) else { return nil }
        self.flaw = flaw
    }

    func noticed(_ event: WorkerEvent) {
        switch event {
        case .startingOver where flaw != .stateKeptBlindly:
            saved = before.map { ($0, $0.applied) }
            isDue = true
        case .revoked where flaw == .stateKeptBlindly:
            saved = before.map { ($0, $0.applied) }
            formerNumbers = numbers
        case .restored(let partitions, _, _) where flaw == .stateKeptBlindly:
            numbers = partitions
            isDue = true
        default: break
        }
    }

    func putBack(into partitions: PartitionTable) {
        guard isDue else { return }
        let former = Dictionary(zip(formerNumbers, saved.map(\.applied))) { $1 }
        for (state, applied) in saved {
            switch flaw {
            case .stockNotUndone: state.applied.stores = applied.stores
            case .answersNotUndone: state.applied.duplicates = applied.duplicates
            default: break
            }
        }
        for (state, number) in zip(partitions, numbers) {
            if let applied = former[number] { state.applied.stores = applied.stores }
        }
        (saved, isDue) = ([], false)
    }
}
