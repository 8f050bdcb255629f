import Kafka
import Metrics
import Synchronization

/// Tells whether a restock bot is ready and alive, and if not, why; and keeps its metrics through swift-metrics.
package final class BotMonitor: Sendable {
    private let steps = ThreadWatchdog()
    private let outage, failure: @Sendable () -> String?
    private let state = Mutex((isReading: false, trouble: KafkaError?.none))
    private let work: [(gauge: Gauge, field: KeyPath<BotWork, Int> & Sendable)]
    private let sent, answered, rejected, restarts: Counter

    /// A monitor of a bot that does not run yet: alive, but not ready. Gauges begin at 0.
    ///
    /// - Parameters:
    ///   - outage: returns a description while no broker answers, else nil.
    ///   - failure: returns which broker could not be reached last, and why, even if others answer.
    package init(
        factory: any MetricsFactory = NOOPMetricsHandler.instance, outage: @escaping @Sendable () -> String?,
        failure: @escaping @Sendable () -> String? = { nil }
    ) {
        func gauge(_ metric: BotMetric) -> Gauge { Gauge(label: metric.rawValue, factory: factory) }
        func refills(_ outcome: String) -> Counter {
            Counter(label: BotMetric.refills.rawValue, dimensions: [("outcome", outcome)], factory: factory)
        }
        (self.outage, self.failure) = (outage, failure)
        work = [
            (gauge(.partitions), \.partitions), (gauge(.unreadPartitions), \.unreadPartitions),
            (gauge(.shortStores), \.shortStores), (gauge(.underway), \.underway),
        ]
        (sent, answered, rejected) = (refills("sent"), refills("answered"), refills("rejected"))
        restarts = Counter(label: BotMetric.restarts.rawValue, factory: factory)
        record(.none)
    }

    /// Why the bot is not ready: no broker answers, or the group has assigned it nothing yet. An empty assignment is one, too.
    package var readiness: [String] {
        let (isReading, trouble) = state.withLock { $0 }
        if let outage = outage() { return [outage] }
        let reason = trouble?.message ?? failure()
        return isReading ? [] : ["the bot waits for its share of the stores" + (reason.map { ": \($0)" } ?? "")]
    }

    /// Why the bot is not alive: its thread hangs, and only a restart helps.
    package var liveness: [String] { liveness(at: .now) }

    func liveness(at now: ContinuousClock.Instant) -> [String] { steps.stuck(at: now) }

    /// The bot made a step.
    ///
    /// - Parameter work: what it has to do; nil while it does not read what its group gave it.
    package func stepped(work: BotWork?) {
        steps.stepped("the bot")
        state.withLock { $0.isReading = work != nil }
        record(work ?? .none)
    }

    private func record(_ state: BotWork) { for (gauge, field) in work { gauge.record(state[keyPath: field]) } }

    /// Counts what the bot did, and keeps the error that sent it back to the committed positions until it has recovered.
    package func handle(_ event: BotEvent) {
        switch event {
        case .sent(let refills): sent.increment(by: refills.count)
        case .answered: answered.increment()
        case .rejected: rejected.increment()
        case .lost(let error):
            restarts.increment()
            state.withLock { $0.trouble = error }
        case .recovered: state.withLock { $0.trouble = nil }
        case .watching, .beyondTarget: break
        }
    }
}

/// The metrics of a restock bot, by name and unit.
package enum BotMetric: String, CaseIterable {
    case ready = "juice_bot_ready"
    case partitions = "juice_bot_partitions"
    case unreadPartitions = "juice_bot_unread_partitions"
    case shortStores = "juice_bot_short_stores"
    case underway = "juice_bot_refills_underway"
    case refills = "juice_bot_refills_total"
    case restarts = "juice_bot_restarts_total"

    /// What the metric counts or measures, in a sentence.
    package var help: String {
        switch self {
        case .ready: "1 while brokers answer and the bot reads what its group gave it, else 0."
        case .partitions: "Partitions of the results that the bot reads."
        case .unreadPartitions: "Partitions of the results that the bot has not read to their ends, as far as it knows."
        case .shortStores: "Stores that are short of something and wait for a refill or for its answer."
        case .underway: "Refills that the bot has sent and that have no answer."
        case .refills: "Refills of the bot: sent, of these answered, and of these rejected. One that is sent again counts again."
        case .restarts: "Times that the bot began to read again from the committed positions."
        }
    }
}
