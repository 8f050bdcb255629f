import JuiceHTTP
import Kafka
import Synchronization
import Testing

@testable import JuiceRestockBot

/// When a bot is ready and alive, and why not, and what it counts.
struct BotMonitoringTests {
    private final class Brokers: Sendable { let outage = Mutex<String?>(nil) }

    @Test func itIsReadyWhileItReadsItsShare() {
        let brokers = Brokers()
        let health = BotHealth { brokers.outage.withLock { $0 } }
        let waiting = "the bot waits for its share of the stores"
        #expect(health.readiness == [waiting])
        health.stepped(work: BotWork.none)
        #expect(health.readiness == [])
        let error = KafkaError(code: .timedOut, isRetriable: true)
        health.handle(.lost(error))
        health.stepped(work: nil)
        #expect(health.readiness == ["\(waiting): \(error.message)"])
        brokers.outage.withLock { $0 = "no Kafka broker answers" }
        #expect(health.readiness == ["no Kafka broker answers"])
        brokers.outage.withLock { $0 = nil }
        health.handle(.recovered)
        #expect(health.readiness == [waiting])
    }

    @Test func itIsAliveWhileItMakesSteps() {
        let health = BotHealth { nil }
        let begun = ContinuousClock.now
        #expect(health.liveness(at: begun + .seconds(3600)) == [])
        health.stepped(work: nil)
        #expect(health.liveness(at: begun + .seconds(60)) == [])
        #expect(health.liveness(at: begun + .seconds(3600)).count == 1)
    }

    @Test func refillsAndWorkAreCounted() {
        let registry = PrometheusRegistry()
        let metrics = BotMetrics(factory: registry)
        let refill = Refill(id: "g/0-1", partition: 0, store: "s", time: 0, entries: [])
        let error = KafkaError(code: .timedOut, isRetriable: true)
        for event in [BotEvent.sent([refill, refill]), .answered, .lost(error)] { metrics.count(event) }
        #expect(registry.text().contains("juice_bot_partitions 0\n"))
        metrics.record(BotWork(partitions: 4, unreadPartitions: 3, shortStores: 2, underway: 1))
        let samples = registry.text().split(separator: "\n").filter { !$0.hasPrefix("#") }
        #expect(
            samples == [
                "juice_bot_partitions 4", "juice_bot_refills_total{outcome=\"answered\"} 1",
                "juice_bot_refills_total{outcome=\"rejected\"} 0", "juice_bot_refills_total{outcome=\"sent\"} 2",
                "juice_bot_refills_underway 1", "juice_bot_restarts_total 1", "juice_bot_short_stores 2",
                "juice_bot_unread_partitions 3",
            ])
    }
}
