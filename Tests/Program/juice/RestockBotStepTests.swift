import FaultyNetwork
import JuiceMessages
import Kafka
import TestSupport
import Testing

@testable import juice

/// The bot step by step on the embedded broker: where it begins, what it commits, and how it recovers.
@Suite(.concurrencyLimited) struct RestockBotStepTests {
    private static let results = TopicPartition(topic: TopicNames().results, partition: 0)
    private static let restocks = TopicPartition(topic: TopicNames().restocks, partition: 0)

    private final class Site {
        let broker: EmbeddedBroker
        let clients: KafkaClients
        var base: KafkaConfiguration { clients.base }
        /// The refills that brokers confirmed.
        var sent: [String] = []

        init(_ properties: [String: String] = [:]) throws {
            broker = try EmbeddedBroker(logger: .quiet)
            for topic in [results.topic, restocks.topic] { try broker.createTopic(topic, partitionCount: 1) }
            // The embedded broker waits for a second less than the session timeout before members join again.
            let soon = ["session.timeout.ms": "2500", "heartbeat.interval.ms": "200"].merging(properties) { $1 }
            clients = KafkaClients(
                bootstrapServers: broker.bootstrapServers, origin: .embedded(processID: 0), properties: soon, logger: .quiet)
        }

        func bot() throws -> RestockBot {
            try RestockBot(clients, RestockBotPlan(group: "bots"), .quiet) { [unowned self] in sent.append("\($0.id) \($0.time)") }
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
                do throws(KafkaError) { try bot.step() } catch { return error }
            }
            #expect(isDone(bot), "\(sent)")
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
                let count = site.sent.count
                site.step(bot) { _ in site.sent.count > count }
                #expect(bot.underway.count == 1)
                bot.commit()
            }
            #expect(try site.committed() == 1)
            #expect(site.sent == ["bots/0-1 1000", "bots/0-1 1000"])
            try site.answer(Self.refilled("bots/0-1"))
            let bot = try site.bot()
            site.step(bot) { $0.isSettled }
            bot.commit()
            #expect(site.sent.count == 2)
            // The commit is not waited for.
            site.step(bot) { _ in (try? site.committed()) == 3 }
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
            site.step(try site.bot()) { _ in site.sent == ["bots/0-0 1000"] }
        }
    }

    /// After any error another bot reads again from the committed offsets, and decides the same.
    @Test func aRefillThatIsRefusedIsSentAgain() async throws {
        try await onThread {
            let site = try Site()
            try site.answer(Self.made(kiwi: 1))
            site.broker.fail(next: .produce, with: [.messageTooLarge])
            let lines = LogLines()
            let bot = RunningBot(site.clients, RestockBotPlan(group: "bots"), logger: lines.logger)
            #expect(bot.waits(for: 1, Deadline(after: .seconds(60))))
            try bot.stop()
            #expect(bot.refills.map(\.id) == ["bots/0-0"])
            #expect(lines.all.count { $0.hasPrefix("reading again from the committed offsets: ") } == 1, "\(lines.all)")
        }
    }

    @Test func aRightThatIsMissingEndsIt() async throws {
        try await onThread {
            let site = try Site()
            site.broker.fail(next: .joinGroup, with: Array(repeating: .groupAuthorizationFailed, count: 10))
            #expect(site.step(try site.bot()) { _ in false }?.code == .groupAuthorizationFailed)
        }
    }

    @Test func damageMakesItJoinAgain() async throws {
        try await onThread {
            let site = try Site(["check.crcs": "true"])
            try site.broker.append("before", damaged: nil, to: Self.results)
            try site.broker.append("damaged", damaged: .bit, to: Self.results)
            #expect(site.step(try site.bot()) { _ in false }?.code == .badMessage)
        }
    }
}
