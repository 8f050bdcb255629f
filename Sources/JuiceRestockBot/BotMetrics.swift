import Metrics

/// The metrics of a restock bot, by name and unit.
package enum BotMetric: String, CaseIterable, Sendable {
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

/// Reports what a restock bot does through swift-metrics. Used on the bot's thread only.
package final class BotMetrics {
    private let partitions: Gauge
    private let unreadPartitions: Gauge
    private let shortStores: Gauge
    private let underway: Gauge
    private let sent: Counter
    private let answered: Counter
    private let rejected: Counter
    private let restarts: Counter

    /// Registers the metrics; gauges begin at 0.
    package init(factory: any MetricsFactory) {
        func gauge(_ metric: BotMetric) -> Gauge {
            let gauge = Gauge(label: metric.rawValue, factory: factory)
            gauge.record(0)
            return gauge
        }
        func refills(_ outcome: String) -> Counter {
            Counter(label: BotMetric.refills.rawValue, dimensions: [("outcome", outcome)], factory: factory)
        }
        partitions = gauge(.partitions)
        unreadPartitions = gauge(.unreadPartitions)
        shortStores = gauge(.shortStores)
        underway = gauge(.underway)
        (sent, answered, rejected) = (refills("sent"), refills("answered"), refills("rejected"))
        restarts = Counter(label: BotMetric.restarts.rawValue, factory: factory)
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
