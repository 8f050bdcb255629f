import Kafka
import Metrics
import Synchronization

/// Tells whether a restock bot is ready and alive, and if not, why.
package final class BotHealth: Sendable {
    private let steps = ThreadWatchdog()
    private let outage: @Sendable () -> String?
    private let state = Mutex((isReading: false, trouble: KafkaError?.none))

    /// The health of a bot that does not run yet: alive, but not ready.
    ///
    /// - Parameter outage: returns a description while no broker answers, else nil.
    package init(outage: @escaping @Sendable () -> String?) { self.outage = outage }

    /// Why the bot is not ready: no broker answers, or the group has assigned it nothing yet. An empty assignment is one, too.
    package var readiness: [String] {
        let (isReading, trouble) = state.withLock { $0 }
        if let outage = outage() { return [outage] }
        guard !isReading else { return [] }
        return ["the bot waits for its share of the stores" + (trouble.map { ": \($0.message)" } ?? "")]
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
    }

    /// Keeps the error that sent the bot back to the committed positions, until it has recovered.
    package func handle(_ event: BotEvent) {
        switch event {
        case .lost(let error): state.withLock { $0.trouble = error }
        case .recovered: state.withLock { $0.trouble = nil }
        case .watching, .beyondTarget, .sent, .answered, .rejected: break
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

/// Reports what a restock bot does through swift-metrics.
package struct BotMetrics {
    private let partitions, unreadPartitions, shortStores, underway: Gauge
    private let sent, answered, rejected, restarts: Counter

    /// Registers the metrics; gauges begin at 0.
    package init(factory: any MetricsFactory) {
        func gauge(_ metric: BotMetric) -> Gauge { Gauge(label: metric.rawValue, factory: factory) }
        func refills(_ outcome: String) -> Counter {
            Counter(label: BotMetric.refills.rawValue, dimensions: [("outcome", outcome)], factory: factory)
        }
        (partitions, unreadPartitions) = (gauge(.partitions), gauge(.unreadPartitions))
        (shortStores, underway) = (gauge(.shortStores), gauge(.underway))
        (sent, answered, rejected) = (refills("sent"), refills("answered"), refills("rejected"))
        restarts = Counter(label: BotMetric.restarts.rawValue, factory: factory)
        record(.none)
    }

    /// Counts what the bot did.
    package func count(_ event: BotEvent) {
        switch event {
        case .sent(let refills): sent.increment(by: refills.count)
        case .answered: answered.increment()
        case .rejected: rejected.increment()
        case .lost: restarts.increment()
        case .watching, .beyondTarget, .recovered: break
        }
    }

    /// Records what the bot has to do after a step.
    package func record(_ work: BotWork) {
        partitions.record(work.partitions)
        unreadPartitions.record(work.unreadPartitions)
        shortStores.record(work.shortStores)
        underway.record(work.underway)
    }
}
