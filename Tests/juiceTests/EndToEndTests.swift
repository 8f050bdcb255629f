import JuiceMaker
import JuiceMessages
import JuiceService
import Kafka
import Logging
import TestSupport
import Testing

@testable import juice

/// Tests the client commands with the service, over TCP, on an embedded broker.
@Suite(.serialized, .concurrencyLimited, .timeLimit(.minutes(10)))
struct EndToEndTests {
    @Test func commandsAreAnsweredAndSeen() async throws {
        try await EmbeddedService.run { connection in
            let deadline = Deadline(after: .seconds(30))
            let client = TestClient(connection, deadline)
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

            try seesTheStock(connection, deadline)
            try seesTheAnswers(connection, deadline)
        }
    }

    @Test func nobodyThereIsUnavailable() async throws {
        let connection = Connection(bootstrapServers: "127.0.0.1:1", logger: EmbeddedService.quiet)
        let failure = #expect(throws: Failure.self) {
            try CommandSender(connection, timeout: .milliseconds(300)).send(
                .order(id: "o", store: "main", juice: "kiwi", quantity: 1), deadline: Deadline(after: .milliseconds(300)))
        }
        #expect(failure?.status == .unavailable)
        #expect(throws: Failure.self) { try StockReader(connection, store: nil, deadline: Deadline(after: .milliseconds(300))) }
    }

    @Test func aPropertyThatLibrdkafkaRefusesIsBadConfiguration() {
        let connection = Connection(
            bootstrapServers: "127.0.0.1:1", properties: ["no.such.property": "1"], logger: EmbeddedService.quiet)
        let failure = #expect(throws: Failure.self) { try connection.consumer() }
        #expect(failure?.status == .configuration)
        #expect(failure?.message.contains("no.such.property") == true)
    }

    // MARK: - Helpers

    private func seesTheStock(_ connection: Connection, _ deadline: Deadline) throws {
        // It follows the answers a moment later.
        var stock = try StockReader(connection, store: nil, deadline: deadline)
        try stock.readAll(idleTimeout: deadline.remaining)
        while stock.latest.isEmpty, deadline.remaining > .zero {
            stock = try StockReader(connection, store: nil, deadline: deadline)
            try stock.readAll(idleTimeout: deadline.remaining)
        }
        #expect(stock.latest.map(\.record.store) == ["강남"])
        let levels = stock.latest.first?.record.stock.map(\.amount)
        #expect(levels == [16, 10, 10, 8, 6])

        let other = try StockReader(connection, store: "main", deadline: deadline)
        try other.readAll(idleTimeout: deadline.remaining)
        #expect(other.latest.isEmpty)
    }

    private func seesTheAnswers(_ connection: Connection, _ deadline: Deadline) throws {
        let results = try ResultsReader(connection, store: "강남", deadline: deadline)
        let last = try results.last(2, idleTimeout: deadline.remaining)
        #expect(last.compactMap { $0.answer?.id } == ["r-1", "o-3"])
        var all: [String] = []
        try results.readAll(idleTimeout: deadline.remaining) { all.append($0.answer?.id ?? "") }
        #expect(all == ["o-1", "o-2", "r-1", "o-3"])
    }
}
