import Kafka
import Metrics
import Synchronization

/// Tells whether a restock bot is ready and alive, and if not, why; and keeps its metrics through swift-metrics.
package final class BotMonitor: Sendable {
    /// What each metric counts or measures, in a sentence.
    package static let help: KeyValuePairs = [
        "juice_bot_ready": "1 while brokers answer and the bot reads what its group gave it, else 0.",
        "juice_bot_partitions": "Partitions of the results that the bot reads.",
        "juice_bot_unread_partitions": "Partitions of the results that the bot has not read to their ends, as far as it knows.",
        "juice_bot_short_stores": "Stores that are short of something and wait for a refill or for its answer.",
        "juice_bot_refills_underway": "Refills that the bot has sent and that have no answer.",
        "juice_bot_refills_total":
            "Refills of the bot: sent, of these answered, and of these rejected. One that is sent again counts again.",
        "juice_bot_restarts_total": "Times that the bot began to read again from the committed offsets.",
    ]

    private let steps = ThreadWatchdog()
    private let watch: BrokerWatch
    private let state = Mutex((isReading: false, trouble: KafkaError?.none))
    private let partitions, unread, short, underway: Gauge
    private let sent, answered, rejected, restarts: Counter

    /// A monitor of a bot that does not run yet: alive, but not ready. Gauges begin at 0.
    package init(factory: any MetricsFactory = NOOPMetricsHandler.instance, watch: BrokerWatch) {
        func gauge(_ name: String) -> Gauge { Gauge(label: "juice_bot_" + name, factory: factory) }
        func refills(_ outcome: String) -> Counter {
            Counter(label: "juice_bot_refills_total", dimensions: [("outcome", outcome)], factory: factory)
        }
        self.watch = watch
        (partitions, unread) = (gauge("partitions"), gauge("unread_partitions"))
        (short, underway) = (gauge("short_stores"), gauge("refills_underway"))
        (sent, answered, rejected) = (refills("sent"), refills("answered"), refills("rejected"))
        restarts = Counter(label: "juice_bot_restarts_total", factory: factory)
        record(nil)
    }

    /// Why the bot is not ready: no broker answers, or the group has assigned it nothing yet. An empty assignment is one, too.
    package var readiness: [String] {
        let (isReading, trouble) = state.withLock { $0 }
        if let outage = watch.obstacle { return [outage] }
        let reason = trouble?.message ?? watch.lastFailure
        return isReading ? [] : ["the bot waits for its share of the stores" + (reason.map { ": \($0)" } ?? "")]
    }

    /// Why the bot is not alive: its thread hangs, and only a restart helps.
    package func liveness(at now: ContinuousClock.Instant = .now) -> [String] { steps.stuck(at: now) }

    /// The bot made a step, and this is what it has to do; nil while it does not read what its group gave it.
    package func stepped(work: BotWork?) {
        steps.stepped("the bot")
        state.withLock { $0.isReading = work != nil }
        record(work)
    }

    private func record(_ work: BotWork?) {
        partitions.record(work?.partitions ?? 0)
        unread.record(work?.unreadPartitions ?? 0)
        short.record(work?.shortStores ?? 0)
        underway.record(work?.underway ?? 0)
    }

    /// Counts what the bot did, and keeps the error that sent it back to the committed offsets until it has recovered.
    package func handle(_ event: BotEvent) {
        switch event {
        case .sent: sent.increment()
        case .answered: answered.increment()
        case .rejected: rejected.increment()
        case .lost(let error):
            restarts.increment()
            state.withLock { $0.trouble = error }
        case .recovered: state.withLock { $0.trouble = nil }
        case .watching: watch.reached()
        }
    }
}
