import JuiceHTTP
import TestSupport
import Testing

@testable import JuiceRestockBot
@testable import Kafka

/// When a bot is ready and alive, and why not, and what it counts.
struct BotMonitorTests {
    private let watch = BrokerWatch(bootstrapServers: "kafka:9092", logger: .quiet)

    @Test func itIsReadyWhileItReadsItsShare() {
        let monitor = BotMonitor(watch: watch)
        let waiting = "the bot waits for its share of the stores"
        #expect(monitor.readiness == [waiting])
        watch.noticed(KafkaError(code: .resolve, message: "the name is not resolved").with(\.broker, "b:1"))
        #expect(monitor.readiness == ["\(waiting): b:1: the name is not resolved"])
        monitor.stepped(work: BotWork(partitions: 0, unreadPartitions: 0, shortStores: 0, underway: 0))
        #expect(monitor.readiness == [])
        let error = KafkaError(code: .timedOut, isRetriable: true)
        monitor.handle(.lost(error))
        monitor.stepped(work: nil)
        #expect(monitor.readiness == ["\(waiting): \(error.message)"])
        watch.failed()
        #expect(monitor.readiness.first?.hasPrefix("no Kafka broker answers at kafka:9092") == true)
        watch.reached()
        monitor.handle(.recovered)
        monitor.stepped(work: BotWork(partitions: 0, unreadPartitions: 0, shortStores: 0, underway: 0))
        #expect(monitor.readiness == [])
    }

    @Test func itIsAliveWhileItMakesSteps() {
        let monitor = BotMonitor(watch: watch)
        let begun = ContinuousClock.now
        #expect(monitor.liveness(at: begun + .seconds(3600)) == [])
        monitor.stepped(work: nil)
        #expect(monitor.liveness(at: begun + .seconds(60)) == [])
        #expect(monitor.liveness(at: begun + .seconds(3600)).count == 1)
    }

    @Test func refillsAndWorkAreCounted() {
        let registry = PrometheusRegistry()
        let monitor = BotMonitor(factory: registry, watch: watch)
        let refill = Refill(id: "g/0-1", partition: 0, store: "s", time: 0, entries: [])
        let error = KafkaError(code: .timedOut, isRetriable: true)
        for event in [BotEvent.sent(refill), .sent(refill), .answered, .lost(error)] { monitor.handle(event) }
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
