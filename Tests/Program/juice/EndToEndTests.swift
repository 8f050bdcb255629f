import Foundation
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
            let client = TestClient(clients, Deadline(after: .seconds(300)))
            // A command that was sent before the service joined its group must be answered, too.
            let items = try OrderedJuice.items(["mangoKiwi:2"], on: .standard)
            let made = try client.answer(.order(id: "o-1", store: "강남", items))
            #expect(made.isMade && made.message == "juice made: 2 × mango kiwi juice")
            #expect(made.outcome.left == [FruitAmount(fruit: "mango", amount: 6), FruitAmount(fruit: "kiwi", amount: 8)])

            let short = try client.answer(.order(id: "o-2", store: "강남", juice: "strawberry"))
            #expect(short.message == "out of stock (strawberry)")

            let amounts = try RestockAmounts(["strawberry=+6"], on: .standard)
            let edited = try client.answer(.restock(id: "r-1", store: "강남", amounts.kind, amounts.amounts))
            #expect(edited.outcome.left == [FruitAmount(fruit: "strawberry", amount: 16)])

            let rejected = try client.answer(.order(id: "o-3", store: "강남", juice: "durian"))
            #expect(rejected.outcome == .rejected(reason: "unknownJuice"))

            // The stock follows the answers a moment later.
            let stock = ["강남": ["strawberry": 16, "banana": 10, "pineapple": 10, "kiwi": 8, "mango": 6]]
            while try client.stock() != stock, !client.deadline.isOver {}
            #expect(try client.stock() == stock)
            #expect(try client.stock(of: "main").isEmpty)

            // A store's answers are read from its partition alone.
            let topic = try TopicReader(clients, topic: clients.topics.results, of: "강남")
            #expect(topic.watermarks.values.map(\.isEmpty) == [false])
            let results = AnswerFilter(store: "강남")
            #expect(try topic.last(2, results.entry).compactMap { $0.answer?.id } == ["r-1", "o-3"])
            var all: [String] = []
            try topic.read(results.entry) { all.append($0.answer?.id ?? "") }
            #expect(all == ["o-1", "o-2", "r-1", "o-3"])

            // The answers of all stores are ordered by time.
            for (number, store) in ["a", "b", "c", "d", "a", "b"].enumerated() {
                _ = try client.answer(.order(id: "t-\(number)", store: store, juice: "kiwi"))
            }
            let everywhere = try TopicReader(clients, topic: clients.topics.results)
            let every = AnswerFilter()
            let ids = all + (0..<6).map { "t-\($0)" }
            all = []
            try everywhere.read(every.entry) { all.append($0.answer?.id ?? "") }
            #expect(all == ids)
            #expect(try everywhere.last(3, every.entry).compactMap { $0.answer?.id } == ids.suffix(3))
            let times = try everywhere.last(100, every.entry).compactMap(\.place.timestamp)
            let late = try everywhere.last(100, in: times[7]..<times[9], every.entry).compactMap(\.place.timestamp)
            #expect(late == times.filter { (times[7]..<times[9]).contains($0) })
            for id in ["t-2", "r-1"] {
                #expect(try everywhere.last(100, AnswerFilter(id: id).entry).compactMap { $0.answer?.id } == [id])
            }

            // Another store, by its bytes.
            #expect(try client.answer(.order(id: "o-1", store: "강남".decomposedStringWithCanonicalMapping, juice: "kiwi")).isMade)
            var stores: [StockRecord] = []
            let revisions = [1, 1, 1, 2, 2, 2]
            while stores.map(\.revision).sorted() != revisions, !client.deadline.isOver {
                let reader = try StockReader(clients, store: nil)
                stores = reader.latest.map(\.record)
            }
            #expect(stores.map(\.revision).sorted() == revisions)
            // Always in the same order, although both are equal as strings.
            #expect(stores.map(\.store).filter { $0 == "강남" }.map(\.utf8.count) == [6, 18])
            let reader = try StockReader(clients, store: "강남")
            #expect(reader.latest.map(\.record.revision) == [2])
        }
    }

    @Test func basketsAndCancelsMakeAHistory() async throws {
        try await EmbeddedService.run { clients in
            let client = TestClient(clients, Deadline(after: .seconds(60)))
            let answers = try clients.newAnswers()
            let items = [OrderedJuice(juice: "kiwi"), OrderedJuice(juice: "strawberryBanana")]
            #expect(try client.answer(.order(id: "b", store: "강남", items)).isMade)
            let cancel = OutgoingCommand.cancel(id: "b", store: "강남")
            #expect(try client.answer(cancel).message == "cancelled: kiwi 3, strawberry 10, banana 1 returned")
            // Not the order's answer, which has the same id.
            #expect(try answers.answer(to: cancel, deadline: client.deadline)?.answer.command == .cancel)
            // A till that did not hear of the cancel.
            #expect(try client.answer(.order(id: "b", store: "강남", items)).outcome == .rejected(reason: "cancelled"))
            #expect(try client.answer(.cancel(id: "unknown", store: "강남")).revision == nil)
            _ = try client.answer(.restock(id: "r", store: "강남", .set, [FruitAmount(fruit: "kiwi", amount: 3)]))

            func history(since time: Int64?) throws -> [String] {
                let reader = try TopicReader(clients, topic: clients.topics.results, of: "강남")
                let filter = AnswerFilter(store: "강남", showsOnlyChanges: true)
                return try AnswerPrinter.lines(filter) { printer in
                    try reader.read(in: (time ?? 0)..<Int64.max, filter.entry, printer.print)
                }
            }
            let printed = try history(since: nil)
            #expect(printed.count == 3)
            #expect(printed.first?.contains("  revision 1  used kiwi 3, ") == true)
            #expect(printed.dropFirst().first?.contains(" returned  revision 2  left kiwi 10, ") == true)
            #expect(printed.last?.hasSuffix("  revision 3  left kiwi 3") == true)
            #expect(try history(since: 0) == printed)
            #expect(try history(since: .max).isEmpty)
        }
    }

    @Test func trafficOrdersBasketsAndCancels() async throws {
        try await EmbeddedService.run { clients in
            let session = try TrafficSession(clients, stores: ["gangnam", "hongdae"], orders: 300, menu: .standard, seed: 7)
            try session.run(show: { _ in })
            let cancelled = try #require(session.counts[.cancelled])
            #expect(session.summary.hasPrefix("orders 300: \(cancelled) cancelled, "))
        }
    }
}
