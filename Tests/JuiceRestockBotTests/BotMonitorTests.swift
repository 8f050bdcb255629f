import JuiceHTTP
import Kafka
import Synchronization
import Testing

@testable import JuiceRestockBot

/// When a bot is ready and alive, and why not, and what it counts.
struct BotMonitorTests {
    private final class Brokers: Sendable {
        let outage = Mutex<String?>(nil)
        let failure = Mutex<String?>(nil)
    }

    @Test func itIsReadyWhileItReadsItsShare() {
        let brokers = Brokers()
        let monitor = BotMonitor {
            brokers.outage.withLock { $0 }
        } failure: {
            brokers.failure.withLock { $0 }
        }
        let waiting = "the bot waits for its share of the stores"
        #expect(monitor.readiness == [waiting])
        brokers.failure.withLock { $0 = "kafka:9092: the name is not resolved" }
        #expect(monitor.readiness == ["\(waiting): kafka:9092: the name is not resolved"])
        brokers.failure.withLock { $0 = nil }
        monitor.stepped(work: BotWork.none)
        #expect(monitor.readiness == [])
        let error = KafkaError(code: .timedOut, isRetriable: true)
        monitor.handle(.lost(error))
        monitor.stepped(work: nil)
        #expect(monitor.readiness == ["\(waiting): \(error.message)"])
        brokers.outage.withLock { $0 = "no Kafka broker answers" }
        #expect(monitor.readiness == ["no Kafka broker answers"])
        brokers.outage.withLock { $0 = nil }
        monitor.handle(.recovered)
        #expect(monitor.readiness == [waiting])
    }

    @Test func itIsAliveWhileItMakesSteps() {
        let monitor = BotMonitor { nil }
        let begun = ContinuousClock.now
        #expect(monitor.liveness(at: begun + .seconds(3600)) == [])
        monitor.stepped(work: nil)
        #expect(monitor.liveness(at: begun + .seconds(60)) == [])
        #expect(monitor.liveness(at: begun + .seconds(3600)).count == 1)
    }

    @Test func refillsAndWorkAreCounted() {
        let registry = PrometheusRegistry()
        let monitor = BotMonitor(factory: registry) { nil }
        let refill = Refill(id: "g/0-1", partition: 0, store: "s", time: 0, entries: [])
        let error = KafkaError(code: .timedOut, isRetriable: true)
        for event in [BotEvent.sent([refill, refill]), .answered, .lost(error)] { monitor.handle(event) }
        #expect(registry.text().contains("juice_bot_partitions 0\n"))
        monitor.stepped(work: BotWork(partitions: 4, unreadPartitions: 3, shortStores: 2, underway: 1))
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
