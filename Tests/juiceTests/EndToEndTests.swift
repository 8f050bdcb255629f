import JuiceDomain
import JuiceMessages
import JuiceService
import Kafka
import Logging
import TestSupport
import Testing

@testable import juice

/// Tests the commands with the service, over TCP, on an embedded broker.
@Suite(.serialized, .concurrencyLimited, .timeLimit(.minutes(10)))
struct EndToEndTests {
    @Test func commandsAreAnsweredAndSeen() async throws {
        try await EmbeddedService.run { clients in
            let deadline = Deadline(after: .seconds(30))
            let client = TestClient(clients, deadline)
            // A command that was sent before the service joined its group must be answered, too.
            let made = try client.answer(.order(id: "o-1", store: "강남", juice: "mangoKiwi", quantity: 2))
            guard case .juiceMade(let juices, let used, let left) = made.outcome else {
                Issue.record("\(made)")
                return
            }
            #expect(juices == .single(OrderedJuice(juice: "mangoKiwi", quantity: 2)))
            #expect(used == [FruitAmount(fruit: "mango", amount: 4), FruitAmount(fruit: "kiwi", amount: 2)])
            #expect(left == [FruitAmount(fruit: "mango", amount: 6), FruitAmount(fruit: "kiwi", amount: 8)])

            let short = try client.answer(.order(id: "o-2", store: "강남", juice: "strawberry", quantity: 1))
            #expect(short.message == "out of stock (strawberry)")

            let amounts = try RestockAmounts(["strawberry=+6"])
            let restocked = try client.answer(.restock(id: "r-1", store: "강남", amounts.kind, amounts.amounts))
            #expect(restocked.outcome == .restocked(left: [FruitAmount(fruit: "strawberry", amount: 16)]))

            let rejected = try client.answer(.order(id: "o-3", store: "강남", juice: "durian", quantity: 1))
            #expect(rejected.outcome == .rejected(reason: "unknownJuice"))

            try seesTheStock(clients, deadline)
            try seesTheAnswers(clients, deadline)
        }
    }

    @Test func basketsAndCancelsMakeAHistory() async throws {
        try await EmbeddedService.run { clients in
            let client = TestClient(clients, Deadline(after: .seconds(60)))
            let waiter = try AnswerWaiter(clients, deadline: client.deadline)
            let items = [OrderedJuice(juice: "kiwi", quantity: 1), OrderedJuice(juice: "strawberryBanana", quantity: 1)]
            let made = try client.answer(.order(id: "b", store: "강남", items))
            #expect(made.isMade)
            let cancelled = try client.answer(.cancel(id: "b", store: "강남"))
            guard case .cancelled(let returned, _) = cancelled.outcome else {
                Issue.record("\(cancelled)")
                return
            }
            #expect(returned.map(\.fruit) == ["kiwi", "strawberry", "banana"])
            // Not the order's answer, which has the same id.
            let found = try waiter.answer(to: .cancel, id: "b", store: "강남", deadline: client.deadline)
            #expect(found?.answer.command == .cancel)
            // A till that did not hear of the cancel.
            let late = try client.answer(.order(id: "b", store: "강남", items))
            #expect(late.outcome == .rejected(reason: "cancelled"))
            #expect(try client.answer(.cancel(id: "unknown", store: "강남")).revision == nil)
            _ = try client.answer(.restock(id: "r", store: "강남", .set, [FruitAmount(fruit: "kiwi", amount: 3)]))

            let printed = try history(clients, since: nil)
            #expect(printed.count == 3)
            #expect(printed.first?.contains(" 1  order b: kiwi, strawberryBanana  used kiwi 3, ") == true)
            #expect(printed.dropFirst().first?.contains(" 2  cancel b  returned kiwi 3, ") == true)
            #expect(printed.last?.hasSuffix(" 3  restock r  left kiwi 3") == true)
            #expect(try history(clients, since: 0) == printed)
            #expect(try history(clients, since: .max).isEmpty)
        }
    }

    @Test func trafficOrdersBasketsAndCancels() async throws {
        try await EmbeddedService.run { clients in
            let plan = try TrafficPlan(given(["orders": "300", "seed": "7"]))
            let session = try TrafficSession(
                clients, traffic: Traffic(stores: plan.stores, menu: .standard, seed: plan.seed), plan: plan)
            try session.run(until: { false }, show: { _ in })
            #expect(session.tally.orders == 300)
            #expect(session.tally.cancelled > 0)
            #expect(session.inFlight == 0)
        }
    }

    @Test func nobodyThereIsUnavailable() async throws {
        let clients = KafkaClients(bootstrapServers: "127.0.0.1:1", logger: EmbeddedService.quiet)
        let failure = #expect(throws: Failure.self) {
            try CommandSender(clients, timeout: .milliseconds(300)).send(
                .order(id: "o", store: "main", juice: "kiwi", quantity: 1), deadline: Deadline(after: .milliseconds(300)))
        }
        #expect(failure?.status == .unavailable)
        #expect(throws: Failure.self) { try StockReader(clients, store: nil, deadline: Deadline(after: .milliseconds(300))) }
    }

    @Test func aPropertyThatLibrdkafkaRefusesIsBadConfiguration() {
        let clients = KafkaClients(
            bootstrapServers: "127.0.0.1:1", properties: ["no.such.property": "1"], logger: EmbeddedService.quiet)
        let failure = #expect(throws: Failure.self) { try clients.consumer() }
        #expect(failure?.status == .configuration)
        #expect(failure?.message.contains("no.such.property") == true)
    }

    // MARK: - Helpers

    private func seesTheStock(_ clients: KafkaClients, _ deadline: Deadline) throws {
        // It follows the answers a moment later.
        var levels: [String: [Int]] = [:]
        while levels["강남"] != [16, 10, 10, 8, 6], !deadline.isOver {
            let stock = try StockReader(clients, store: nil, deadline: deadline)
            try stock.readAll(idleTimeout: deadline.remaining)
            levels = Dictionary(uniqueKeysWithValues: stock.latest.map { ($0.record.store, $0.record.stock.map(\.amount)) })
        }
        #expect(levels == ["강남": [16, 10, 10, 8, 6]])

        let other = try StockReader(clients, store: "main", deadline: deadline)
        try other.readAll(idleTimeout: deadline.remaining)
        #expect(other.latest.isEmpty)
    }

    private func seesTheAnswers(_ clients: KafkaClients, _ deadline: Deadline) throws {
        // A store's answers are read from its partition alone.
        let topic = try TopicReader(clients, topic: clients.topics.results, of: "강남", deadline: deadline)
        #expect(topic.watermarks.values.map(\.isEmpty) == [false])
        let results = try ResultsReader(clients, store: "강남", deadline: deadline)
        let last = try results.last(2, idleTimeout: deadline.remaining)
        #expect(last.compactMap { $0.answer?.id } == ["r-1", "o-3"])
        var all: [String] = []
        try results.readAll(idleTimeout: deadline.remaining) { all.append($0.answer?.id ?? "") }
        #expect(all == ["o-1", "o-2", "r-1", "o-3"])
    }

    private func history(_ clients: KafkaClients, since time: Int64?) throws -> [String] {
        var bytes: [UInt8] = []
        let reader = try ResultsReader(clients, store: "강남", deadline: Deadline(after: .seconds(30)))
        var printer = AnswerPrinter(HistoryFormat(paint: .none), printsJSON: false, to: BatchedOutput { bytes += $0 })
        try printer.collecting { body throws(Failure) in try reader.readAll(since: time, idleTimeout: .seconds(30), body) }
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
    }
}
