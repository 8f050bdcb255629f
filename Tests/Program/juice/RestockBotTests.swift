import FaultyNetwork
import Foundation
import JuiceDomain
import JuiceMessages
import JuiceService
import Kafka
import Logging
import TestSupport
import Testing

@testable import juice

/// Tests the bot's settings.
struct RestockBotPlanTests {
    @Test func hasDefaults() throws {
        let plan = try RestockBotCommand.parse([]).plan()
        #expect((plan.low, plan.target, plan.group) == (5, 30, "juice-restock-bot"))
        #expect(plan.stores == nil)
    }

    @Test func theLongestIDFits() throws {
        let group = String(repeating: "g", count: 97)
        #expect("\(group)/\(Int32.max)-\(Int64.max)".utf8.count == CommandKind.maximumIDLength)
        #expect(try RestockBotCommand.parse(["--bot-group", group]).plan().group == group)
    }

    @Test func readsWhatIsGiven() throws {
        let options = ["--low", "0", "--target", "1", "--stores", "강남,a", "--bot-group", "bots", "--group", "g"]
        let plan = try RestockBotCommand.parse(options).plan()
        #expect((plan.low, plan.target, plan.group) == (0, 1, "bots"))
        #expect(plan.stores == [Name("a"), Name("강남")])
    }

    @Test(
        arguments: [
            ("--low=30", "--low 30 must be below --target 30"), ("--low=-1", "for '--low <count>': it must be a whole number"),
            ("--target=1000000001", "for '--target <count>': it must be"), ("--stores=a,,b", "it must be stores' ids"),
            ("--bot-group=juice-maker", "--bot-group juice-maker is the service's"),
            ("--bot-group=\(String(repeating: "g", count: 98))", "it must be 1 to 97 bytes long"),
        ] as [(String, String)]
    )
    func refuses(option: String, message: String) {
        let error = #expect(throws: (any Error).self) { try RestockBotCommand.parse([option]).plan() }
        #expect(failure(error)?.message.contains(message) == true, "\(failure(error)?.message ?? "")")
    }
}

/// Tests the bot with the service, over TCP, on an embedded broker.
@Suite(.serialized, .concurrencyLimited, .timeLimit(.minutes(10)))
struct RestockBotTests {
    @Test func refillsOncePerShortage() async throws {
        try await EmbeddedService.run { clients in
            let deadline = Deadline(after: .seconds(60))
            let client = TestClient(clients, deadline)
            let bot = RunningBot(clients, RestockBotPlan())
            // 0 left.
            #expect(try client.order("banana", quantity: 5, store: "강남").isMade)
            #expect(bot.waits(for: 1, deadline))
            // An order that needs 16 of the 10 strawberries.
            #expect(try !client.order("strawberry", store: "main").isMade)
            #expect(bot.waits(for: 2, deadline))
            #expect(try client.waits(for: 30, of: "banana", in: "강남"))
            #expect(try client.waits(for: 30, of: "strawberry", in: "main"))
            try bot.stop()

            // Another bot finds nothing to refill.
            let second = RunningBot(clients, RestockBotPlan())
            #expect(try client.order("mango", store: "main").isMade)
            second.log.waitForFirst(within: .seconds(30))
            try second.stop()
            #expect(second.log.refills.isEmpty)
        }
    }

    /// It breaks no connection, and requests time out late.
    @Test func aBrokerThatHangsIsNoticed() async throws {
        try await onThread {
            let broker = try EmbeddedBroker(logger: EmbeddedService.quiet)
            for name in TopicNames().all { try broker.createTopic(name, partitionCount: 1) }
            let clients = KafkaClients(
                bootstrapServers: broker.bootstrapServers, capabilities: .embedded,
                properties: ["socket.timeout.ms": "120000"], logger: EmbeddedService.quiet)
            let bot = RunningBot(clients, RestockBotPlan())
            bot.log.waitForFirst(within: .seconds(60))
            #expect(bot.log.all == ["watching partitions=0"])
            broker.setRoundTrip(.seconds(120))
            bot.log.waitForFirst(within: .seconds(60))
            #expect(bot.log.all.last?.hasPrefix("no Kafka broker answers at ") == true, "\(bot.log.all)")
            broker.setRoundTrip(.zero)
            try bot.stop()
        }
    }

    @Test func waitsWhereNoBrokerAnswers() async throws {
        let clients = KafkaClients(bootstrapServers: "127.0.0.1:1", logger: EmbeddedService.quiet)
        try await onThread {
            let bot = RunningBot(clients, RestockBotPlan())
            bot.log.waitForFirst(within: .seconds(30))
            try bot.stop()
            #expect(
                bot.log.all == [
                    "no Kafka broker answers at 127.0.0.1:1: connection refused; trying again", "stopping: leaving the group",
                ])
        }
    }
}

/// The bot step by step on the embedded broker: where it begins, what it commits, and how it recovers.
@Suite(.concurrencyLimited) struct RestockBotStepTests {
    private static let results = TopicPartition(topic: TopicNames().results, partition: 0)

    private final class Site {
        let broker: EmbeddedBroker
        let clients: KafkaClients
        /// Has a line for each refill that brokers confirmed.
        let log = LogLines()

        init(_ properties: [String: String] = [:]) throws {
            broker = try EmbeddedBroker(logger: .quiet)
            for topic in [results.topic, TopicNames().restocks] { try broker.createTopic(topic, partitionCount: 1) }
            // The embedded broker waits for a second less than the session timeout before members join again.
            let soon = ["session.timeout.ms": "2500", "heartbeat.interval.ms": "200"].merging(properties) { $1 }
            clients = KafkaClients(
                bootstrapServers: broker.bootstrapServers, capabilities: .embedded, properties: soon, logger: .quiet)
        }

        func bot() throws -> RestockBot { try RestockBot(clients.logging(to: log.logger), RestockBotPlan(group: "bots")) }

        /// Writes these answers, a second after 1970 began.
        func answer(_ answers: String...) throws {
            let producer = try Producer(configuration: clients.base(), hooks: ClientHooks(logger: .quiet))
            for answer in answers {
                try producer.send(
                    topic: results.topic, key: nil, value: Array(answer.utf8), timestamp: 1000, timeout: .seconds(60))
            }
        }

        /// Steps until this is so, or a minute is over.
        @discardableResult func step(_ bot: RestockBot, until isDone: () throws -> Bool) rethrows -> KafkaError? {
            let deadline = ContinuousClock.now + .seconds(60)
            while try !isDone(), .now < deadline {
                do throws(KafkaError) { try bot.step() } catch { return error }
            }
            #expect(try isDone(), "\(log.all)")
            return nil
        }

        func reader() throws -> Consumer {
            try Consumer(configuration: clients.base().merging(["group.id": "bots"]), hooks: ClientHooks(logger: .quiet))
        }

        func committed() throws -> Offset? {
            let reader = try reader()
            defer { reader.close() }
            return try reader.committed([results], timeout: .seconds(30))[results]?.offset
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
            for count in 1...2 {
                let bot = try site.bot()
                site.step(bot) { site.log.refills.count == count }
                bot.commit()
            }
            #expect(site.log.refills == ["bots/0-1", "bots/0-1"])
            #expect(try site.committed() == 1)
            var times: [Int64?] = []
            try TopicReader(site.clients, topic: TopicNames().restocks).readAll {
                times.append($0.timestamp)
            }
            #expect(times == [1000, 1000])
            try site.answer(Self.refilled("bots/0-1"))
            let bot = try site.bot()
            // The commit is not waited for.
            try site.step(bot) {
                bot.commit()
                return try site.committed() == 3
            }
            #expect(site.log.refills.count == 2)
        }
    }

    /// A committed offset that is not in the log is not read from.
    @Test func itBeginsWithTheOldestIfItsOffsetIsNotInTheLog() async throws {
        try await onThread {
            let site = try Site()
            try site.answer(Self.made(kiwi: 1))
            let reader = try site.reader()
            try reader.commit([Self.results: .init(1000)])
            reader.close()
            site.step(try site.bot()) { site.log.refills == ["bots/0-0"] }
        }
    }

    /// After any error another bot reads again from the committed offsets, and decides the same.
    @Test func aRefillThatIsRefusedIsSentAgain() async throws {
        try await onThread {
            let site = try Site()
            try site.answer(Self.made(kiwi: 1))
            site.broker.fail(next: .produce, with: [.messageTooLarge])
            let bot = RunningBot(site.clients, RestockBotPlan(group: "bots"))
            #expect(bot.waits(for: 1, Deadline(after: .seconds(60))))
            try bot.stop()
            #expect(bot.log.refills == ["bots/0-0"])
            let lines = bot.log.all
            #expect(lines.count { $0.hasPrefix("reading again from the committed offsets: ") } == 1, "\(lines)")
        }
    }

    @Test func aRightThatIsMissingEndsIt() async throws {
        try await onThread {
            let site = try Site()
            site.broker.fail(next: .joinGroup, with: Array(repeating: .groupAuthorizationFailed, count: 10))
            #expect(site.step(try site.bot()) { false }?.code == .groupAuthorizationFailed)
        }
    }

    @Test func damageMakesItJoinAgain() async throws {
        try await onThread {
            let site = try Site(["check.crcs": "true"])
            try site.broker.append("before", damaged: nil, to: Self.results)
            try site.broker.append("damaged", damaged: .bit, to: Self.results)
            #expect(site.step(try site.bot()) { false }?.code == .badMessage)
        }
    }
}
