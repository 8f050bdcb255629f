import Foundation
import JuiceEngine
import JuiceMessages
import Kafka
import Synchronization

/// Whether the service is ready and alive, and why not.
///
/// ```swift
/// let health = ServiceHealth()
/// let service = OrderService(configuration: configuration, health: health, logger: logger)
/// health.readiness  // ["the topics are not checked yet"]; empty once the service runs and has restored its partitions
/// ```
package final class ServiceHealth: Sendable {
    /// A worker that brokers have not answered for some time.
    struct Silence: Equatable, CustomStringConvertible {
        let worker: Int
        /// Why its call failed; nil if it waits for the group to assign partitions to it.
        let call: String?
        let time: Duration

        var description: String {
            let what = call.map { "got no answer (\($0))" } ?? "was not taken as a member of its group"
            return "\(ServiceHealth.name(worker)) \(what) for \(time.components.seconds) s, although brokers answer"
        }
    }

    private struct Worker {
        /// What keeps it from reading any partition, in a sentence; nil if nothing does.
        var obstacle: String?
        /// Since when it has waited for an assignment, which may be empty; nil if it has one.
        var unassignedSince: ContinuousClock.Instant? = .now
        /// The call that it repeats, and since when; nil if the last one succeeded.
        var call: (error: String, since: ContinuousClock.Instant)?
        /// Partitions that are not read until they are assigned again, and those whose transactions only fail, with the reasons.
        /// The service is not ready until all work.
        var stoppedPartitions: [Int32: String] = [:]
        var failingPartitions: [Int32: String] = [:]
        /// Partitions with deleted answers that repeats may still ask for, and until when they may.
        var deletedAnswers: [Int32: Timestamp] = [:]

        mutating func holdUp(_ obstacle: String) { (self.obstacle, stoppedPartitions) = (obstacle, [:]) }

        var obstacles: [String] {
            [obstacle].compactMap(\.self)
                + stoppedPartitions.sorted { $0.key < $1.key }.map { "partition \($0) is stopped: \($1)" }
                + failingPartitions.sorted { $0.key < $1.key }.map { "partition \($0) only fails: \($1)" }
        }
    }

    private struct State {
        /// Empty until the topics have passed their check.
        var workers: [Worker] = []
        var isStopping = false
        /// Why there are no workers.
        var pending = "the topics are not checked yet"
        /// A sentence about the outage while no broker answers.
        var outage: String?
        /// What keeps workers waiting although brokers answer, if that is known.
        var hindrance: String?

        var obstacles: [String] {
            if isStopping { return ["the service is stopping"] }
            let others = workers.isEmpty ? [pending] : workers.flatMap(\.obstacles)
            return [outage, others.isEmpty ? nil : hindrance].compactMap(\.self) + others
        }
    }

    private let state = Mutex(State())
    private let steps = ThreadWatchdog()

    /// The health of a service that does not run yet: alive but not ready.
    package init() {}

    /// Why the service is not ready: no broker answers, or a worker does not read its partitions. Empty if it is ready.
    package var readiness: [String] { state.withLock(\.obstacles) }

    /// What an operator must know even if the service is ready.
    package var warnings: [String] {
        let now = Timestamp(Date().timeIntervalSince1970 * 1000)
        return state.withLock(\.workers).flatMap(\.deletedAnswers).filter { $0.value > now }.sorted { $0.key < $1.key }.map {
            "answers of partition \($0.key) were deleted that repeats may still ask for: do not restart this instance before"
                + " commands sent after \(Date(milliseconds: $0.value).formatted(.iso8601)) are answered"
        }
    }

    /// Why the service is not alive: a worker hangs, and only a restart helps. Empty if it is alive.
    package var liveness: [String] { liveness(at: .now) }

    func liveness(at now: ContinuousClock.Instant) -> [String] { steps.stuck(at: now) }

    // MARK: - For the service

    /// Sets the sentence about the outage while no broker answers; nil once one answers again.
    func setOutage(_ outage: String?) { update { $0.outage = outage } }

    /// Sets what keeps workers waiting although brokers answer; nil if no cause is known.
    func setHindrance(_ hindrance: String?) { update { $0.hindrance = hindrance } }

    /// The workers are about to start.
    func started(workers count: Int) {
        update { $0.workers = (0..<count).map { Worker(obstacle: Self.waiting($0)) } }
        for number in 0..<count { steps.began(Self.name(number)) }
    }

    /// The workers have ended, and others start with new clients.
    func renewing(_ reason: String) {
        update { ($0.workers, $0.hindrance, $0.pending) = ([], nil, "all Kafka clients are made anew: \(reason)") }
    }

    /// The worker that has waited longest for an answer; nil if none waits.
    ///
    /// - Parameter start: since when brokers have answered. Time before that does not count.
    func longestSilence(since start: ContinuousClock.Instant, at now: ContinuousClock.Instant = .now) -> Silence? {
        let silences = state.withLock(\.workers).enumerated().compactMap { number, worker -> Silence? in
            guard let since = worker.call?.since ?? worker.unassignedSince else { return nil }
            return Silence(worker: number, call: worker.call?.error, time: now - max(since, start))
        }
        return silences.max { $0.time < $1.time }
    }

    /// A call that failed has succeeded.
    func answered(worker: Int) { update { $0.workers[worker].call = nil } }

    /// The service has been asked to stop.
    func stopping() { update { $0.isStopping = true } }

    /// The service has ended.
    func ended() {
        update { state in for number in state.workers.indices { end(&state.workers[number], number) } }
    }

    func stepped(worker: Int) { steps.stepped(Self.name(worker)) }

    func record(_ event: WorkerEvent, ofWorker number: Int) {
        update { state in
            var worker = state.workers[number]
            switch event {
            case .started: worker.holdUp(Self.waiting(number))
            case .retrying(let error, let attempt):
                worker.call = (error.message, worker.call?.since ?? .now)
                // Without producers it does not even learn its assignment.
                if attempt == WorkerLogger.attemptsBeforeWarning, worker.obstacle != nil {
                    worker.obstacle = "\(Self.name(number)) tries again: \(error.message)"
                }
            case .assigned(let partitions):
                (worker.unassignedSince, worker.deletedAnswers) = (nil, [:])
                worker.holdUp(Self.restoring(partitions, number))
            case .resumed(_, let partitions): worker.obstacle = Self.restoring(partitions, number)
            case .restored(let partitions, _, _):
                worker.obstacle = nil
                for partition in partitions { worker.stoppedPartitions[partition] = nil }
            case .revoked:
                worker.holdUp(Self.waiting(number))
                (worker.failingPartitions, worker.unassignedSince) = ([:], .now)
            case .startingOver(let error): worker.holdUp("\(Self.name(number)) starts over: \(error.message)")
            case .clockRefused(let error): worker.holdUp("brokers refuse the time of this machine's clock: \(error.message)")
            case .failed, .left: end(&worker, number)
            case .partitionStopped(let partition, let fault):
                (worker.stoppedPartitions[partition], worker.failingPartitions[partition]) = (fault.reason, nil)
            case .partitionFailing(let partition, let fault): worker.failingPartitions[partition] = fault.reason
            case .partitionRecovered(let partition): worker.failingPartitions[partition] = nil
            case .answersDeleted(let partition, let time): worker.deletedAnswers[partition] = time
            case .committed, .stockRewritten: break
            }
            state.workers[number] = worker
        }
    }

    private func end(_ worker: inout Worker, _ number: Int) {
        worker.holdUp("\(Self.name(number)) has left its group")
        (worker.call, worker.unassignedSince) = (nil, nil)
        steps.ended(Self.name(number))
    }

    fileprivate static func name(_ worker: Int) -> String { "worker \(worker)" }
    private static func restoring(_ partitions: [Int32], _ worker: Int) -> String {
        "\(name(worker)) restores partition\(partitions.count == 1 ? "" : "s") \(partitions.map(String.init).joined(separator: ", "))"
    }
    private static func waiting(_ worker: Int) -> String { "\(name(worker)) waits for its share of the partitions" }

    private func update(_ change: (inout State) -> Void) { state.withLock { change(&$0) } }
}
