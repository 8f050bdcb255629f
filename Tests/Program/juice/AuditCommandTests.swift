import Foundation
import JuiceMessages
import JuiceService
import Kafka
import MessageSamples
import Synchronization
import TestSupport
import Testing

@testable import juice

/// `juice audit` over an embedded broker: what it reads, and what it finds in topics that were damaged by hand.
@Suite(.serialized, .concurrencyLimited, .timeLimit(.minutes(10)))
struct AuditCommandTests {
    /// Records that keep the contract. The last ones of orders and results are a dead letter's.
    private static func records() throws -> [Topic: [EmbeddedBroker.KeyedValue]] {
        let shop = Shop(store: "g")
        let orders = [
            OutgoingCommand.order(id: "a", store: "g", juice: "kiwi"),
            .order(id: "b", store: "g", [OrderedJuice(juice: "kiwi"), OrderedJuice(juice: "mango")]), .cancel(id: "b", store: "g"),
        ]
        let restock = OutgoingCommand.restock(id: "r", store: "g", .add, [FruitAmount(fruit: "kiwi", amount: 5)])
        let commands = [(orders[0], 0), (orders[1], 1), (restock, 0), (orders[2], 2)] as [(OutgoingCommand, Offset)]
        let answers = try commands.map { try shop.answer($0, at: $1).first }
        let claim = #"{"type":"claim","ids":["a/b/0/0/0"],"since":0,"group":"a","instance":"b","partitions":1}"#
        let note =
            #"{"type":"deadLetter","topic":"orders","offset":3,"code":"notJSON","digest":"c289d1854f41beebf905fed199fe0c8a"}"#
        return [
            .orders: orders.map { ("g", String(decoding: $0.value, as: UTF8.self)) } + [("g", "nope")],
            .restocks: [("g", String(decoding: restock.value, as: UTF8.self))],
            .results: [(nil, claim)] + answers.map { ("g", $0) } + [(nil, note)],
            .stock: [("g", try #require(shop.stockRecord()))], .deadLetters: [("g", "nope")],
        ]
    }

    private static let letterHeaders = [
        ("juice.error.code", "notJSON"), ("juice.error.message", "a sentence"), ("juice.source.topic", "juice.orders"),
        ("juice.source.partition", "0"), ("juice.source.offset", "3"),
    ].map { RecordHeader(name: $0, value: $1) }

    /// A record, a part of it, or its key, and the replacement, or nil if the record is removed; and the places of the violations.
    @Test(
        arguments: [
            (.orders, 0, ("key", "g"), []),
            // The ledger goes on from the next answer.
            (.results, 2, nil, ["missing orders 0@1", "wrong results 0@2", "wrong results 0@3"]),
            // This note may not be written yet.
            (.results, 5, nil, []),
            (.results, 1, (#""juice":"kiwi""#, #""juice":"mango""#), ["wrong results 0@1"]),
            (.results, 1, ("key", "h"), ["wrong results 0@1"]),
            (.stock, 0, (#""kiwi":12"#, #""kiwi":13"#), ["wrong stock 0@0"]), (.stock, 0, nil, []),
            (.deadLetters, 0, nil, ["missing orders 0@3"]),
            (.deadLetters, 0, ("nope", "none"), ["missing orders 0@3", "wrong dead-letters 0@0"]),
        ] as [(Topic, Int, (String, String)?, [String])]
    )
    func damageIsFound(topic: Topic, index: Int, change: (old: String, new: String)?, expected: [String]) async throws {
        var records = try Self.records()
        switch change {
        case nil: records[topic]?.remove(at: index)
        case ("key", let key)?: records[topic]?[index].key = key
        case (let old, let new)?: records[topic]?[index].value.replace(old, with: new)
        }
        try await EmbeddedBroker.run(records, letterHeaders: Self.letterHeaders) { _, clients in
            let report = try AuditCommand.parse([]).report(on: clients)
            let places = report.violations.map { "\($0.category) \($0.place)" }
            #expect(places.sorted() == expected.sorted(), "\(report.lines)")
            #expect(report.isClean == expected.isEmpty)
            let json = try JSONSerialization.jsonObject(with: Data(JSONText.line(report).utf8)) as? [String: Any]
            let listed = (json?["violations"] as? [[String: Any]] ?? []).map { violation in
                let place = violation["place"] as? [String: Any] ?? [:]
                let members = ["topic", "partition", "offset"].map { "\(place[$0] ?? "")" }
                return "\(violation["category"] ?? "") \(members[0]) \(members[1])@\(members[2])"
            }
            #expect(listed == places)
            #expect(report.owners.map(\.instance) == ["b"])
            #expect(report.lines.contains { $0.hasPrefix("partition 0: b of group a from 0 (") && $0.hasSuffix(" on") })
        }
    }

    @Test func aServiceKeepsTheContract() async throws {
        try await EmbeddedService.run { clients in
            let client = TestClient(clients, Deadline(after: .seconds(60)))
            for id in ["a", "b", "a"] {
                _ = try client.answer(.order(id: id, store: "강남", juice: "mangoKiwi"))
            }
            let last = Mutex((done: 0, total: 0))
            let report = try AuditCommand.parse([]).report(on: clients) { done, total in last.withLock { $0 = (done, total) } }
            #expect(report.isClean, "\(report.lines)")
            #expect(report.counts.answers == 3)
            #expect(report.counts.duplicates == 1)
            #expect(!report.owners.isEmpty)
            #expect(last.withLock { $0.done == $0.total })
            #expect(try JSONText.indented(report).contains(#""isClean" : true"#))
        }
    }
}
