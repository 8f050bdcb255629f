import JuiceEngine
import Kafka
import Synchronization

/// Whether the service is ready and alive, and why not.
///
/// ```swift
/// let health = ServiceHealth()
/// let service = OrderService(configuration: configuration, health: health, logger: logger)
/// health.readiness.isWell  // false until the service runs and has restored its partitions
/// ```
public final class ServiceHealth: Sendable {
    /// An answer, with the reasons for a no.
    public struct Report: Sendable, Equatable {
        /// What is amiss, each in a sentence for a person.
        public let reasons: [String]
        /// Whether nothing is amiss.
        public var isWell: Bool { reasons.isEmpty }
    }

    /// What a worker is at.
    private enum Phase {
        case joining
        case restoring([Int32])
        case ready
        case startingOver(String)
        case left
    }

    private struct Worker {
        var phase = Phase.joining
        /// A partition that nobody reads keeps the service from being ready until it is assigned anew.
        var stoppedPartitions: [Int32: String] = [:]
        /// One that only fails does until it works again.
        var failingPartitions: [Int32: String] = [:]

        mutating func enter(_ phase: Phase) {
            self.phase = phase
            stoppedPartitions = [:]
        }
    }

    private struct State {
        /// Empty until the topics are found fit.
        var workers: [Worker] = []
        var isStopping = false
        /// What a person is told while no broker answers.
        var outage: String?
        var isReady = false
    }

    private let onReadiness: @Sendable (Bool) -> Void
    private let state = Mutex(State())
    private let steps = StepWatch()

    /// The health of a service that does not run yet: alive, but not ready.
    ///
    /// - Parameter onReadiness: called each time the service becomes ready or ceases to be, on a worker's thread; it must be
    ///   quick.
    public init(onReadiness: @escaping @Sendable (Bool) -> Void = { _ in }) {
        self.onReadiness = onReadiness
    }

    /// Whether a broker answers, and every worker has restored what it was assigned and reads commands, or has been assigned
    /// nothing.
    public var readiness: Report {
        state.withLock { Report(reasons: Self.obstacles($0)) }
    }

    /// Whether every worker still gets on. One that does not will not mend itself: the process should be restarted.
    public var liveness: Report { liveness(at: .now) }

    func liveness(at now: ContinuousClock.Instant) -> Report { Report(reasons: steps.stuck(at: now)) }

    private static func obstacles(_ state: State) -> [String] {
        if state.isStopping { return ["the service is stopping"] }
        let outage = [state.outage].compactMap { $0 }
        guard !state.workers.isEmpty else { return outage + ["the topics are not checked yet"] }
        return outage
            + state.workers.enumerated().flatMap { number, worker in
                let obstacle: String? =
                    switch worker.phase {
                    case .joining: "worker \(number) waits for its share of the partitions"
                    case .restoring(let partitions):
                        "worker \(number) restores \(partitions.count == 1 ? "partition" : "partitions") "
                            + partitions.map(String.init).joined(separator: ", ")
                    case .startingOver(let reason): "worker \(number) starts over: \(reason)"
                    case .left: "worker \(number) has left its group"
                    case .ready: nil
                    }
                let stopped = worker.stoppedPartitions.sorted { $0.key < $1.key }
                let failing = worker.failingPartitions.sorted { $0.key < $1.key }
                return [obstacle].compactMap { $0 } + stopped.map { "partition \($0) is stopped: \($1)" }
                    + failing.map { "partition \($0) only fails: \($1)" }
            }
    }
}

// MARK: - For the service

extension ServiceHealth {
    /// No broker answers, for this reason; nil once one does again.
    func note(outage: String?) { update { $0.outage = outage } }

    /// The workers are about to start.
    func started(workers count: Int) {
        update { $0.workers = (0..<count).map { _ in Worker() } }
        for number in 0..<count { stepped(worker: number) }
    }

    /// The service was asked to stop.
    func stopping() { update { $0.isStopping = true } }

    /// The service ended.
    func ended() {
        update { state in
            for index in state.workers.indices {
                state.workers[index].phase = .left
                steps.ended(Self.name(index))
            }
        }
    }

    /// A worker made a step.
    func stepped(worker: Int) {
        steps.stepped(Self.name(worker))
    }

    private static func name(_ worker: Int) -> String { "worker \(worker)" }

    /// Takes note of what a worker did.
    func note(_ event: WorkerEvent, ofWorker number: Int) {
        update { state in
            var worker = state.workers[number]
            switch event {
            case .assigned(let partitions): worker.enter(.restoring(partitions))
            case .restored, .committed: worker.phase = .ready
            case .revoked:
                worker.enter(.joining)
                worker.failingPartitions = [:]
            case .startingOver(let error): worker.enter(.startingOver(error.message))
            case .failed, .left:
                worker.enter(.left)
                steps.ended(Self.name(number))
            case .partitionStopped(let partition, let fault):
                worker.stoppedPartitions[partition] = fault.reason
            case .partitionFailing(let partition, let fault):
                worker.failingPartitions[partition] = fault.reason
            case .partitionRecovered(let partition): worker.failingPartitions[partition] = nil
            case .started, .retrying: break
            }
            state.workers[number] = worker
        }
    }

    private func update(_ change: (inout State) -> Void) {
        // Told under the lock, so that two changes cannot overtake each other.
        state.withLock { state in
            change(&state)
            let isReady = Self.obstacles(state).isEmpty
            guard isReady != state.isReady else { return }
            state.isReady = isReady
            onReadiness(isReady)
        }
    }
}
