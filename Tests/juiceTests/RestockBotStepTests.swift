import BrokerFaults
import JuiceMessages
import Kafka
import TestSupport
import Testing

@testable import JuiceRestockBot

/// The bot step by step on the embedded broker: where it begins, what it commits, and how it recovers.
@Suite(.concurrencyLimited) struct RestockBotStepTests {
    private static let results = TopicPartition(topic: TopicNames().results, partition: 0)
    private static let restocks = TopicPartition(topic: TopicNames().restocks, partition: 0)

    private final class Site {
        let broker: EmbeddedBroker
        let base: KafkaConfiguration
        var events: [String] = []

        init(_ properties: [String: String] = [:]) throws {
            broker = try EmbeddedBroker(logger: .quiet)
            for topic in [results.topic, restocks.topic] { try broker.createTopic(topic, partitionCount: 1) }
            // The embedded broker waits for a second less than the session timeout before members join again.
            base = KafkaConfiguration([
                "bootstrap.servers": broker.bootstrapServers, "session.timeout.ms": "2500", "heartbeat.interval.ms": "200",
            ]).merging(properties)
        }

        func bot() throws -> RestockBot {
            RestockBot(
                base: base, group: "bots", topics: TopicNames(), rules: try #require(RefillRules(low: 5, target: 30)),
                capabilities: .embedded, hooks: ClientHooks(logger: .quiet)
            ) { [unowned self] in
                if case .sent(let refill) = $0 { events.append("\(refill.id) \(refill.time)") }
                if case .lost(let error) = $0 { events.append("lost \(error.code)") }
                if case .recovered = $0 { events.append("recovered") }
            }
        }

        /// Writes these answers, a second after 1970 began.
        func answer(_ answers: String...) throws {
            let producer = try Producer(configuration: base, hooks: ClientHooks(logger: .quiet))
            for answer in answers {
                try producer.send(
                    topic: results.topic, key: nil, value: Array(answer.utf8), timestamp: 1000, timeout: .seconds(60))
            }
        }

        /// Steps until this is so, or a minute is over.
        @discardableResult func step(_ bot: RestockBot, until isDone: (RestockBot) -> Bool) -> KafkaError? {
            let deadline = ContinuousClock.now + .seconds(60)
            while !isDone(bot), .now < deadline {
                do throws(KafkaError) { _ = try bot.step() } catch { return error }
            }
            #expect(isDone(bot), "\(events)")
            return nil
        }

        func reader() throws -> Consumer {
            try Consumer(configuration: base.merging(["group.id": "bots"]), hooks: ClientHooks(logger: .quiet))
        }

        func committed() throws -> Offset? {
            let reader = try reader()
            defer { reader.close() }
            return try reader.committed([results], timeout: .seconds(30))[results] ?? nil
        }
    }

    private static func made(kiwi: Int) -> String {
        #"{"type":"juiceMade","orderId":"1","store":"a","offset":1,"juice":"kiwi","quantity":1,"used":{"kiwi":3},"#
            + #""left":{"kiwi":\#(kiwi)},"revision":1,"message":"m"}"#
    }

    private static func refilled(_ id: String) -> String {
        #"{"type":"restocked","restockId":"\#(id)","store":"a","offset":1,"left":{"kiwi":30},"revision":2,"message":"m"}"#
    }

    /// The offset is committed only up to an unanswered refill, so each bot sends it again under the same id, with the same time.
    @Test func aSuccessorSendsTheSame() async throws {
        try await onThread {
            let site = try Site()
            try site.answer(#"{"type":"copy","topic":"restocks","offset":7}"#, Self.made(kiwi: 1))
            for _ in 0..<2 {
                let bot = try site.bot()
                site.step(bot) { $0.work?.underway == 1 }
                bot.leave(isCommitting: true)
                #expect(try site.committed() == 1)
            }
            #expect(site.events == ["bots/0-1 1000", "bots/0-1 1000"])
            try site.answer(Self.refilled("bots/0-1"))
            let bot = try site.bot()
            site.step(bot) { $0.work?.isSettled ?? false }
            bot.leave(isCommitting: true)
            #expect(site.events.count == 2)
            #expect(try site.committed() == 3)
        }
    }

    /// A committed offset that is not in the log is not read from.
    @Test func itBeginsWithTheOldestIfItsOffsetIsNotInTheLog() async throws {
        try await onThread {
            let site = try Site()
            try site.answer(Self.made(kiwi: 1))
            let reader = try site.reader()
            try reader.commit([Self.results: 1000])
            reader.close()
            let bot = try site.bot()
            site.step(bot) { $0.work?.underway == 1 }
            #expect(site.events == ["bots/0-0 1000"])
            bot.leave()
        }
    }

    /// After any error it reads again from the committed offsets, and decides the same.
    @Test func aRefillThatIsRefusedIsSentAgain() async throws {
        try await onThread {
            let site = try Site()
            try site.answer(Self.made(kiwi: 1))
            site.broker.fail(next: .produce, with: [.messageTooLarge])
            let bot = try site.bot()
            site.step(bot) { $0.work?.underway == 1 && site.events.contains("recovered") }
            #expect(site.events == ["lost \(KafkaError.Code.messageTooLarge)", "bots/0-0 1000", "recovered"])
            bot.leave()
        }
    }

    @Test func aRightThatIsMissingEndsIt() async throws {
        try await onThread {
            let site = try Site()
            site.broker.fail(next: .joinGroup, with: Array(repeating: .groupAuthorizationFailed, count: 10))
            let bot = try site.bot()
            #expect(site.step(bot) { _ in false }?.code == .groupAuthorizationFailed)
            bot.leave()
        }
    }

    @Test func damageMakesItJoinAgain() async throws {
        try await onThread {
            let site = try Site(["check.crcs": "true"])
            try site.broker.append("before", damaged: nil, to: Self.results)
            try site.broker.append("damaged", damaged: .bit, to: Self.results)
            let bot = try site.bot()
            site.step(bot) { _ in site.events.contains("lost \(KafkaError.Code.badMessage)") }
            #expect(bot.work == nil)
            bot.leave()
        }
    }
}
