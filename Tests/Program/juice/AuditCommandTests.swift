import Foundation
import JuiceMessages
import JuiceService
import Kafka
import Synchronization
import TestSupport
import Testing

@testable import juice

/// `juice audit` over an embedded broker: what it reads, and what it finds in topics that were damaged by hand.
@Suite(.serialized, .concurrencyLimited, .timeLimit(.minutes(10)))
struct AuditCommandTests {
    /// Records that keep the contract, each with its key, or - for none, and its value.
    private static let records: [Topic: [String]] = [
        .orders: [
            #"g {"orderId":"a","juice":"kiwi"}"#, #"g {"orderId":"b","items":[{"juice":"kiwi"},{"juice":"mango"}]}"#,
            #"g {"orderId":"b","cancel":true}"#, "g nope",
        ],
        .restocks: [#"g {"restockId":"r","add":{"kiwi":5}}"#],
        .results: [
            #"- {"type":"claim","ids":["a/b/0/0/0"],"since":0,"group":"a","instance":"b","partitions":1}"#,
            #"g {"type":"juiceMade","orderId":"a","store":"g","offset":0,"juice":"kiwi","quantity":1,"used":{"kiwi":3},"#
                + #""left":{"kiwi":7},"revision":1,"message":"m"}"#,
            #"g {"type":"juiceMade","orderId":"b","store":"g","offset":1,"items":[{"juice":"kiwi","quantity":1},"#
                + #"{"juice":"mango","quantity":1}],"used":{"kiwi":3,"mango":3},"left":{"kiwi":4,"mango":7},"#
                + #""revision":2,"message":"m"}"#,
            #"g {"type":"restocked","restockId":"r","store":"g","offset":0,"left":{"kiwi":9},"revision":3,"message":"m"}"#,
            #"g {"type":"cancelled","orderId":"b","store":"g","offset":2,"returned":{"kiwi":3,"mango":3},"#
                + #""left":{"kiwi":12,"mango":10},"revision":4,"message":"m"}"#,
            #"- {"type":"deadLetter","topic":"orders","offset":3,"code":"notJSON","#
                + #""digest":"c289d1854f41beebf905fed199fe0c8a"}"#,
        ],
        .stock: [#"g {"store":"g","revision":4,"stock":{"strawberry":10,"banana":10,"pineapple":10,"kiwi":12,"mango":10}}"#],
        .deadLetters: ["g nope"],
    ]

    private static let letterHeaders = [
        ("juice.error.code", "notJSON"), ("juice.error.message", "a sentence"), ("juice.source.topic", "juice.orders"),
        ("juice.source.partition", "0"), ("juice.source.offset", "3"),
    ].map { RecordHeader(name: $0, value: $1) }

    /// A record, a part of it and its replacement, or nil if the record is removed; and the places of the violations.
    @Test(
        arguments: [
            (.orders, 0, ("", ""), []),
            // The ledger goes on from the next answer.
            (.results, 2, nil, ["missing orders 0@1", "wrong results 0@2", "wrong results 0@3"]),
            // This note may not be written yet.
            (.results, 5, nil, []),
            (.results, 1, (#""quantity":1"#, #""quantity":2"#), ["wrong results 0@1"]),
            (.results, 1, ("g {", "h {"), ["wrong results 0@1"]),
            (.stock, 0, (#""kiwi":12"#, #""kiwi":13"#), ["wrong stock 0@0"]), (.stock, 0, nil, []),
            (.deadLetters, 0, nil, ["missing orders 0@3"]),
            (.deadLetters, 0, ("nope", "none"), ["missing orders 0@3", "wrong dead-letters 0@0"]),
        ] as [(Topic, Int, (String, String)?, [String])]
    )
    func damageIsFound(topic: Topic, index: Int, change: (old: String, new: String)?, expected: [String]) async throws {
        var records = Self.records
        let whole = records[topic]?.remove(at: index) ?? ""
        if let change {
            records[topic]?.insert(change.old.isEmpty ? whole : whole.replacing(change.old, with: change.new), at: index)
        }
        try await onThread { [records] in
            let broker = try EmbeddedBroker(logger: .quiet)
            let clients = KafkaClients.patient(broker.bootstrapServers)
            let producer = try clients.producer(timeout: .seconds(30))
            for (topic, records) in records {
                try broker.createTopic(clients.topics[topic], partitionCount: 1)
                for record in records {
                    try producer.send(
                        topic: clients.topics[topic], key: record.hasPrefix("-") ? nil : Array(record.utf8.prefix(1)),
                        value: Array(record.utf8.dropFirst(2)), headers: topic == .deadLetters ? Self.letterHeaders : [],
                        timeout: .seconds(30))
                }
            }
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
                _ = try client.answer(.order(id: id, store: "강남", juice: "mangoKiwi", quantity: 2))
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
