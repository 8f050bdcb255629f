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
        let plan = try RestockBotPlan(given())
        #expect((plan.low, plan.target, plan.group) == (5, 30, "juice-restock-bot"))
        #expect(plan.stores == nil && plan.fruits == nil && plan.onceWithin == nil)
    }

    @Test func theLongestIDFits() throws {
        let group = String(repeating: "g", count: 97)
        #expect("\(group)/\(Int32.max)-\(Int64.max)".utf8.count == CommandKind.maximumIDLength)
        #expect(try RestockBotPlan(given(["bot-group": group])).group == group)
    }

    @Test func readsWhatIsGiven() throws {
        let plan = try RestockBotPlan(
            given([
                "low": "0", "target": "1", "stores": "강남,a", "fruits": "딸기,kiwi", "bot-group": "bots", "group": "g",
                "once": "true", "timeout": "3s",
            ])
        )
        #expect((plan.low, plan.target, plan.group) == (0, 1, "bots"))
        #expect(plan.stores == [Name("a"), Name("강남")])
        #expect(plan.fruits == [Name("kiwi"), Name("strawberry")])
        #expect(plan.onceWithin == .seconds(3))
    }

    @Test(
        arguments: [
            (["low": "30"], "--low 30 must be below --target 30"),
            (["low": "-1"], "--low must be a whole number"), (["target": "1000000001"], "--target must be"),
            (["stores": "a,,b"], "--stores must be"), (["fruits": "durian"], "no fruit is called \"durian\""),
            (["bot-group": "juice-maker"], "--bot-group juice-maker is the service's"),
            (["bot-group": String(repeating: "g", count: 98)], "--bot-group must be"),
        ] as [([String: String], String)]
    )
    func refuses(values: [String: String], message: String) throws {
        let settings = try given(values)
        let failure = #expect(throws: Failure.self) { try RestockBotPlan(settings) }
        #expect(failure?.message.hasPrefix(message) == true, "\(failure?.message ?? "")")
    }

    @Test func aRefillIsALine() {
        let entries = [Refill.Entry(fruit: "kiwi", level: 5, added: 25), .init(fruit: "mango", level: 0, added: 30)]
        let refill = Refill(id: "bot/0-12", time: 0, store: "강남", entries: entries)
        #expect(
            refill.line(at: "12:34:56", paint: .none)
                == "12:34:56  강남          bot/0-12                  kiwi +25 (5 → 30), mango +30 (0 → 30)")
        #expect(
            refill.json(at: Date(timeIntervalSince1970: 1_769_862_896.789))
                == #"{"time":"2026-01-31T12:34:56.789Z","store":"강남","#
                + #""record":{"restockId":"bot/0-12","add":{"kiwi":25,"mango":30}}}"#
        )
    }
}

/// Tests the bot with the service, over TCP, on an embedded broker.
@Suite(.serialized, .concurrencyLimited, .timeLimit(.minutes(10)))
struct RestockBotTests {
    @Test func refillsOncePerShortage() async throws {
        try await EmbeddedService.run { clients in
            let deadline = Deadline(after: .seconds(60))
            let client = TestClient(clients, deadline)
            // One shortage from before the bot's start, one while it runs.
            #expect(try client.order("banana", quantity: 5, store: "강남").isMade)
            let bot = RunningBot(clients, RestockBotPlan())
            #expect(bot.waits(for: 1, deadline))
            #expect(try !client.order("strawberry", store: "main").isMade)
            #expect(bot.waits(for: 2, deadline))
            try bot.stop()
            #expect(bot.refills.map(\.store) == ["강남", "main"])

            // Another bot finds nothing to refill, and everything answered.
            let plan = RestockBotPlan(onceWithin: .seconds(30))
            let second = RunningBot(clients, plan)
            try second.wait()
            #expect(second.refills.isEmpty)
            #expect(try client.level(of: "banana", in: "강남") == 30)
            #expect(try client.level(of: "strawberry", in: "main") == 30)
        }
    }

    /// It breaks no connection, and requests time out late.
    @Test func aBrokerThatHangsIsNoticed() async throws {
        try await onThread {
            let broker = try EmbeddedBroker(logger: EmbeddedService.quiet)
            for name in TopicNames().all { try broker.createTopic(name, partitionCount: 1) }
            let clients = KafkaClients(
                bootstrapServers: broker.bootstrapServers, origin: .embedded(processID: 0),
                properties: ["socket.timeout.ms": "120000"], logger: EmbeddedService.quiet)
            let lines = LogLines()
            let bot = RunningBot(clients, RestockBotPlan(), logger: lines.logger)
            lines.waitForFirst(within: .seconds(60))
            #expect(lines.all == ["watching partitions=0"])
            broker.setRoundTrip(.seconds(120))
            lines.waitForFirst(within: .seconds(60))
            #expect(lines.all.last?.hasPrefix("no Kafka broker answers at ") == true, "\(lines.all)")
            broker.setRoundTrip(.zero)
            try bot.stop()
        }
    }

    @Test func endsSoonWhereNobodyAnswers() async throws {
        let clients = KafkaClients(bootstrapServers: "127.0.0.1:1", logger: EmbeddedService.quiet)
        try await onThread {
            let failure = #expect(throws: Failure.self) {
                try RunningBot(clients, .init(onceWithin: .milliseconds(300))).wait()
            }
            #expect(failure?.status == .unavailable)
            // A bot without --once waits until it is stopped.
            let lines = LogLines()
            let bot = RunningBot(clients, RestockBotPlan(), logger: lines.logger)
            lines.waitForFirst(within: .seconds(30))
            try bot.stop()
            #expect(
                lines.all == [
                    "no Kafka broker answers at 127.0.0.1:1: connection refused; trying again", "stopping: leaving the group",
                ])
        }
    }
}
