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
    /// Records by topic, which keep the contract until a test damages them.
    struct Records {
        typealias Record = (key: String?, value: String, headers: [RecordHeader])

        var orders: [Record] = [
            ("g", #"{"orderId":"a","juice":"kiwi"}"#, []),
            ("g", #"{"orderId":"b","items":[{"juice":"kiwi"},{"juice":"mango"}]}"#, []),
            ("g", #"{"orderId":"b","cancel":true}"#, []), ("g", "nope", []),
        ]
        var restocks: [Record] = [("g", #"{"restockId":"r","add":{"kiwi":5}}"#, [])]
        var results: [Record] = [
            (nil, #"{"type":"claim","ids":["a/b/0/0/0"],"since":0,"group":"a","instance":"b","partitions":1}"#, []),
            (
                "g",
                #"{"type":"juiceMade","orderId":"a","store":"g","offset":0,"juice":"kiwi","quantity":1,"used":{"kiwi":3},"#
                    + #""left":{"kiwi":7},"revision":1,"message":"m"}"#, []
            ),
            (
                "g",
                #"{"type":"juiceMade","orderId":"b","store":"g","offset":1,"items":[{"juice":"kiwi","quantity":1},"#
                    + #"{"juice":"mango","quantity":1}],"used":{"kiwi":3,"mango":3},"#
                    + #""left":{"kiwi":4,"mango":7},"revision":2,"message":"m"}"#, []
            ),
            ("g", #"{"type":"restocked","restockId":"r","store":"g","offset":0,"left":{"kiwi":9},"revision":3,"message":"m"}"#, []),
            (
                "g",
                #"{"type":"cancelled","orderId":"b","store":"g","offset":2,"returned":{"kiwi":3,"mango":3},"#
                    + #""left":{"kiwi":12,"mango":10},"revision":4,"message":"m"}"#,
                []
            ),
            (nil, #"{"type":"deadLetter","topic":"orders","offset":3,"code":"notJSON"}"#, []),
        ]
        var stock: [Record] = [
            ("g", #"{"store":"g","revision":4,"stock":{"strawberry":10,"banana":10,"pineapple":10,"kiwi":12,"mango":10}}"#, [])
        ]
        var deadLetters: [Record] = [
            (
                "g", "nope",
                [
                    ("juice.error.code", "notJSON"), ("juice.error.message", "a sentence"), ("juice.source.topic", "juice.orders"),
                    ("juice.source.partition", "0"), ("juice.source.offset", "3"),
                ].map { RecordHeader(name: $0, value: $1) }
            )
        ]

        var all: [(Topic, [Record])] {
            [(.orders, orders), (.restocks, restocks), (.results, results), (.stock, stock), (.deadLetters, deadLetters)]
        }
    }

    struct Damage: CustomTestStringConvertible, Sendable {
        let name: String
        /// The places of the violations: topic, partition and offset.
        let expected: [String]
        let change: @Sendable (inout Records) -> Void

        init(_ name: String, _ expected: String..., change: @escaping @Sendable (inout Records) -> Void) {
            (self.name, self.expected, self.change) = (name, expected, change)
        }

        var testDescription: String { name }
    }

    static let damages = [
        Damage("none") { _ in },
        // The ledger goes on with what the next answer tells.
        Damage("an answer removed", "missing orders 0@1", "wrong results 0@2", "wrong results 0@3") {
            $0.results.remove(at: 2)
        },
        Damage("a cancel's answer removed", "missing orders 0@2", "wrong stock 0@0") { $0.results.remove(at: 4) },
        // It may not be written yet.
        Damage("the last note removed") { $0.results.removeLast() },
        Damage("an answer doubled", "doubled results 0@2") { $0.results.insert($0.results[1], at: 1) },
        Damage("an answer altered", "wrong results 0@1") {
            $0.results[1].value = $0.results[1].value.replacing(#""quantity":1"#, with: #""quantity":2"#)
        },
        Damage("an answer of nobody", "wrong results 0@6") {
            let answer =
                #"{"type":"cancelled","orderId":"x","store":"g","offset":9,"returned":{},"left":{},"message":"m"}"#
            $0.results.append(("g", answer, []))
        },
        Damage("answers swapped", "missing orders 0@0", "wrong results 0@1", "doubled results 0@2") { $0.results.swapAt(1, 2) },
        Damage("a revision altered", "wrong results 0@2", "wrong results 0@3") {
            $0.results[2].value = $0.results[2].value.replacing(#""revision":2"#, with: #""revision":7"#)
        },
        Damage("another owner", "wrong results 0@6") {
            let note = #"{"type":"position","orders":4,"restocks":1,"stock":1,"claim":0,"ids":["a/c/0/0/0"]}"#
            $0.results.append((nil, note, []))
        },
        Damage("a stock record altered", "wrong stock 0@0") {
            $0.stock[0].value = $0.stock[0].value.replacing(#""kiwi":12"#, with: #""kiwi":13"#)
        },
        Damage("no stock record") { $0.stock = [] },
        Damage("a stock record of the future", "wrong stock 0@1") {
            $0.stock.append($0.stock[0])
            $0.stock[1].value = $0.stock[1].value.replacing(#""revision":4"#, with: #""revision":5"#)
        },
        Damage("a dead letter removed", "missing orders 0@3") { $0.deadLetters = [] },
        Damage("a dead letter altered", "missing orders 0@3", "wrong dead-letters 0@0") { $0.deadLetters[0].value = "none" },
        Damage("a key altered", "wrong results 0@1") { $0.results[1].key = "h" },
    ]

    @Test(arguments: damages)
    func damageIsFound(damage: Damage) async throws {
        try await onThread {
            let broker = try EmbeddedBroker(logger: EmbeddedService.quiet)
            let topics = TopicNames()
            let clients = KafkaClients(bootstrapServers: broker.bootstrapServers, logger: EmbeddedService.quiet)
            var records = Records()
            damage.change(&records)
            let producer = try clients.producer(timeout: .seconds(30))
            for (topic, records) in records.all {
                try broker.createTopic(topics[topic], partitionCount: 1)
                for (key, value, headers) in records {
                    try producer.send(
                        topic: topics[topic], key: key.map { Array($0.utf8) }, value: Array(value.utf8), headers: headers,
                        timeout: .seconds(30))
                }
            }
            let report = try AuditCommand.report(on: clients, given())
            let places = report.violations.map { violation in
                "\(violation.category) \(violation.topic.dropFirst(6)) \(violation.partition)@\(violation.offset)"
            }
            #expect(places.sorted() == damage.expected.sorted(), "\(report.lines)")
            #expect(report.isClean == damage.expected.isEmpty)
            #expect(report.owners.map(\.instance) == ["b"])
            #expect(report.lines.contains { $0.hasPrefix("partition 0: b of group a from 0 (") && $0.hasSuffix(" on") })
        }
    }

    @Test func aServiceKeepsTheContract() async throws {
        try await EmbeddedService.run { clients in
            let deadline = Deadline(after: .seconds(60))
            for id in ["a", "b", "a"] {
                let waiter = try AnswerWaiter(clients, deadline: deadline)
                _ = try CommandSender(clients, timeout: .seconds(30)).send(
                    .order(id: id, store: "강남", juice: "mangoKiwi", quantity: 2), deadline: deadline)
                _ = try waiter.answer(to: .order, id: id, store: "강남", deadline: deadline)
            }
            let last = Mutex((done: 0, total: 0))
            let report = try AuditCommand.report(
                on: clients, given(), onProgress: { done, total in last.withLock { $0 = (done, total) } })
            #expect(report.isClean, "\(report.lines)")
            #expect(report.counts.answers == 3)
            #expect(report.counts.duplicates == 1)
            #expect(!report.owners.isEmpty)
            #expect(last.withLock { $0.done == $0.total })
            #expect(try JSONText.indented(report).contains(#""isClean" : true"#))
        }
    }

    @Test func nobodyThereIsUnavailable() throws {
        let clients = KafkaClients(bootstrapServers: "127.0.0.1:1", logger: EmbeddedService.quiet)
        let settings = try given(["timeout": "0.3"])
        let failure = #expect(throws: Failure.self) { try AuditCommand.report(on: clients, settings) }
        #expect(failure?.status == .unavailable)
    }
}
