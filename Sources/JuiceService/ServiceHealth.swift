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
    /// Whether all is well and, if not, why.
    public struct Report: Sendable, Equatable {
        /// What is wrong, one sentence each; empty if nothing is.
        public let reasons: [String]
        /// Whether nothing is wrong.
        public var isWell: Bool { reasons.isEmpty }
    }

    /// What a worker is doing.
    private enum Phase {
        case joining
        case restoring([Int32])
        case ready
        case startingOver(String)
        case left
    }

    private struct Worker {
        var phase = Phase.joining
        /// Partitions that are no longer read, with the reason. The service is not ready until they are assigned again.
        var stoppedPartitions: [Int32: String] = [:]
        /// Partitions whose transactions only fail, with the reason. The service is not ready until they work again.
        var failingPartitions: [Int32: String] = [:]

        mutating func enter(_ phase: Phase) {
            self.phase = phase
            stoppedPartitions = [:]
        }
    }

    private struct State {
        /// Empty until the topics have passed their check.
        var workers: [Worker] = []
        var isStopping = false
        /// A sentence about the outage while no broker answers.
        var outage: String?
        var isReady = false
    }

    private let onReadiness: @Sendable (Bool) -> Void
    private let state = Mutex(State())
    private let steps = ThreadWatchdog()

    /// The health of a service that does not run yet: alive but not ready.
    ///
    /// - Parameter onReadiness: called on a worker's thread whenever readiness changes; it must be quick.
    public init(onReadiness: @escaping @Sendable (Bool) -> Void = { _ in }) {
        self.onReadiness = onReadiness
    }

    /// Whether brokers answer and every worker reads its partitions, after restoring them, or has none assigned.
    public var readiness: Report { state.withLock { Report(reasons: Self.obstacles($0)) } }

    /// Whether every worker makes progress. A stuck worker does not recover, so the process should be restarted.
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
    /// Sets the sentence about the outage while no broker answers; nil once one answers again.
    func setOutage(_ outage: String?) { update { $0.outage = outage } }

    /// The workers are about to start.
    func started(workers count: Int) {
        update { $0.workers = (0..<count).map { _ in Worker() } }
        for number in 0..<count { stepped(worker: number) }
    }

    /// The service has been asked to stop.
    func stopping() { update { $0.isStopping = true } }

    /// The service has ended.
    func ended() {
        update { state in
            for index in state.workers.indices {
                state.workers[index].phase = .left
                steps.ended(Self.name(index))
            }
        }
    }

    /// A worker has made a step.
    func stepped(worker: Int) { steps.stepped(Self.name(worker)) }

    private static func name(_ worker: Int) -> String { "worker \(worker)" }

    /// Updates a worker's state.
    func record(_ event: WorkerEvent, ofWorker number: Int) {
        update { state in
            var worker = state.workers[number]
            switch event {
            case .assigned(let partitions): worker.enter(.restoring(partitions))
            case .restored(let partitions, _):
                worker.phase = .ready
                for partition in partitions { worker.stoppedPartitions[partition] = nil }
            case .committed: worker.phase = .ready
            case .revoked:
                worker.enter(.joining)
                worker.failingPartitions = [:]
            case .startingOver(let error): worker.enter(.startingOver(error.message))
            case .failed, .left:
                worker.enter(.left)
                steps.ended(Self.name(number))
            case .partitionStopped(let partition, let fault): worker.stoppedPartitions[partition] = fault.reason
            case .partitionFailing(let partition, let fault): worker.failingPartitions[partition] = fault.reason
            case .partitionRecovered(let partition): worker.failingPartitions[partition] = nil
            case .started, .retrying, .stockRewritten: break
            }
            state.workers[number] = worker
        }
    }

    private func update(_ change: (inout State) -> Void) {
        // Called under the lock, so that two changes cannot arrive in the wrong order.
        state.withLock { state in
            change(&state)
            let isReady = Self.obstacles(state).isEmpty
            guard isReady != state.isReady else { return }
            state.isReady = isReady
            onReadiness(isReady)
        }
    }
}
