import JuiceMaker
import JuiceMessages
import JuiceService
import Kafka
import TestSupport
import Testing

@testable import juice

/// Tests baskets, cancels and the history with the service, over TCP, on an embedded broker.
@Suite(.serialized, .concurrencyLimited, .timeLimit(.minutes(10)))
struct LedgerEndToEndTests {
    @Test func basketsAndCancelsMakeAHistory() async throws {
        try await EmbeddedService.run { connection in
            let client = TestClient(connection, Deadline(after: .seconds(60)))
            let items = [OrderedJuice(juice: "kiwi", quantity: 1), OrderedJuice(juice: "strawberryBanana", quantity: 1)]
            let made = try client.answer(.order(id: "b", store: "강남", items))
            #expect(made.isMade)
            let cancelled = try client.answer(.cancel(id: "b", store: "강남"))
            guard case .cancelled(let returned, _) = cancelled.outcome else {
                Issue.record("\(cancelled)")
                return
            }
            #expect(returned.map(\.fruit) == ["kiwi", "strawberry", "banana"])
            // A till that did not hear of the cancel.
            let late = try client.answer(.order(id: "b", store: "강남", items))
            #expect(late.outcome == .rejected(reason: "cancelled"))
            #expect(try client.answer(.cancel(id: "unknown", store: "강남")).revision == nil)
            _ = try client.answer(.restock(id: "r", store: "강남", .set, [FruitAmount(fruit: "kiwi", amount: 3)]))

            let printed = try history(connection, since: nil)
            #expect(printed.count == 3)
            #expect(printed.first?.contains(" 1  order b: kiwi, strawberryBanana  used kiwi 3, ") == true)
            #expect(printed.dropFirst().first?.contains(" 2  cancel b  returned kiwi 3, ") == true)
            #expect(printed.last?.hasSuffix(" 3  restock r  left kiwi 3") == true)
            #expect(try history(connection, since: 0) == printed)
            #expect(try history(connection, since: .max).isEmpty)
        }
    }

    @Test func aCancelsAnswerIsToldFromItsOrders() async throws {
        try await EmbeddedService.run { connection in
            let client = TestClient(connection, Deadline(after: .seconds(60)))
            let waiter = try AnswerWaiter(connection, deadline: client.deadline)
            _ = try client.answer(.order(id: "o", store: "s", juice: "kiwi"))
            _ = try client.answer(.cancel(id: "o", store: "s"))
            let found = try waiter.answer(to: .cancel, id: "o", store: "s", deadline: client.deadline)
            #expect(found?.answer.command == .cancel)
        }
    }

    @Test func aStoresAnswersAreReadFromItsPartitionAlone() async throws {
        try await EmbeddedService.run { connection in
            let client = TestClient(connection, Deadline(after: .seconds(60)))
            for store in ["a", "b", "c", "강남"] {
                _ = try client.order("kiwi", store: store)
                let topic = connection.topics.results
                let reader = try TopicReader(connection, topic: topic, of: store, deadline: client.deadline)
                #expect(reader.watermarks.count == 1)
                #expect(reader.watermarks.values.allSatisfy { $0.high > $0.low })
            }
        }
    }

    @Test func trafficOrdersBasketsAndCancels() async throws {
        try await EmbeddedService.run { connection in
            let plan = try TrafficPlan(given(["orders": "300", "seed": "7"]))
            let session = try TrafficSession(
                connection, traffic: Traffic(stores: plan.stores, menu: .standard, seed: plan.seed), plan: plan)
            try session.run(until: { false }, show: { _ in })
            #expect(session.tally.orders == 300)
            #expect(session.tally.cancelled > 0)
            #expect(session.inFlight == 0)
        }
    }

    private func history(_ connection: Connection, since time: Int64?) throws -> [String] {
        var bytes: [UInt8] = []
        let reader = try ResultsReader(connection, store: "강남", deadline: Deadline(after: .seconds(30)))
        var printer = AnswerPrinter(HistoryFormat(paint: .none), printsJSON: false, to: BatchedOutput { bytes += $0 })
        try printer.collecting { body throws(Failure) in try reader.readAll(since: time, idleTimeout: .seconds(30), body) }
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
    }
}
