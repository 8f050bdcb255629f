import Kafka
import Synchronization
import Testing

@testable import JuiceRestockBot

/// When a bot is ready and alive, and why not.
struct BotHealthTests {
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
        health.stepped(work: BotWork.none)
        #expect(health.readiness == [])
    }

    @Test func itIsAliveWhileItMakesSteps() {
        let health = BotHealth { nil }
        let begun = ContinuousClock.now
        #expect(health.liveness(at: begun + .seconds(3600)) == [])
        health.stepped(work: nil)
        #expect(health.liveness(at: begun + .seconds(60)) == [])
        #expect(health.liveness(at: begun + .seconds(3600)).count == 1)
    }
}
