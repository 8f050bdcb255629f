import JuiceHTTP
import Kafka
import Testing

@testable import JuiceRestockBot

/// What a bot counts.
struct BotMetricsTests {
    @Test func refillsAndWorkAreCounted() {
        let registry = PrometheusRegistry()
        let metrics = BotMetrics(factory: registry)
        let refill = Refill(id: "g/0-1", partition: 0, store: "s", time: 0, entries: [])
        metrics.count(.sent([refill, refill]))
        metrics.count(.answered)
        metrics.count(.lost(KafkaError(code: .timedOut, isRetriable: true)))
        metrics.record(BotWork(partitions: 4, unreadPartitions: 3, shortStores: 2, underway: 1))
        let text = registry.text()
        for line in [
            "juice_bot_partitions 4", "juice_bot_unread_partitions 3", "juice_bot_short_stores 2",
            "juice_bot_refills_underway 1", "juice_bot_restarts_total 1",
            #"juice_bot_refills_total{outcome="sent"} 2"#,
            #"juice_bot_refills_total{outcome="answered"} 1"#,
            #"juice_bot_refills_total{outcome="rejected"} 0"#,
        ] {
            #expect(text.contains("\(line)\n"))
        }
        metrics.record(.none)
        #expect(registry.text().contains("juice_bot_partitions 0\n"))
    }
}
