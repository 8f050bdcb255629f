import Foundation
import JuiceMessages
import Kafka
import TestSupport
import Testing

@testable import juice

/// Tests what `juice show` finds, and what all lines of `--json` have in common.
@Suite(.serialized, .concurrencyLimited, .timeLimit(.minutes(10)))
struct ShowTests {
    /// What a search shows, such as `made results/0`.
    private static func events(
        _ clients: KafkaClients, _ id: String, _ options: String...
    ) throws -> [String] {
        try ShowCommand.parse([id] + options).search(clients).run().map { event in
            "\(event.word) \(event.topic.dropFirst("juice.".count))/\(event.place.partition)"
        }
    }

    @Test func theRecordsOfACommandAreFound() async throws {
        try await EmbeddedService.run { clients in
            let client = TestClient(clients, Deadline(after: .seconds(60)))
            // 강남 lives in partition 0, and b in another.
            let order = OutgoingCommand.order(id: "a", store: "강남", juice: "kiwi")
            let others = [
                OutgoingCommand.cancel(id: "a", store: "강남"), .order(id: "ab", store: "강남", juice: "kiwi"),
                .restock(id: "a", store: "b", .set, [FruitAmount(fruit: "kiwi", amount: 3)]),
            ]
            for command in [order, order] + others { _ = try client.answer(command) }
            let orders = [
                "order orders/0", "made results/0", "order orders/0", "made results/0", "cancel orders/0", "cancelled results/0",
            ]
            #expect(try Self.events(clients, "a", "--store", "강남") == orders)
            // In all stores, also the restock and its answer.
            #expect(try Self.events(clients, "a").count == orders.count + 2)
            #expect(try Self.events(clients, "a", "--until", "1970-01-02").isEmpty)

            func send(_ value: [UInt8], to partition: Int32 = 2, _ headers: [RecordHeader] = []) throws {
                try clients.write(value, key: "강남", to: .orders, partition: partition, headers: headers)
            }
            let misplaced = OutgoingCommand.order(id: "misplaced", store: "강남", juice: "kiwi")
            let answers = try clients.newAnswers()
            try send(misplaced.value)
            _ = try #require(try answers.answer(to: misplaced, deadline: client.deadline))
            let forwarded = ["order orders/2", "forwarded orders/0", "made results/0"]
            #expect(try Self.events(clients, "misplaced") == forwarded)

            // As after a crash: it is forwarded once more from the same place.
            let first = try #require(try ShowCommand.parse(["misplaced"]).search(clients).run().first?.place)
            let source = Array("2/\(first.offset)".utf8)
            try send(misplaced.value, to: 0, [RecordHeader(name: HeaderName.forwardedFrom, value: source)])
            _ = try client.answer(.order(id: "later", store: "강남", juice: "kiwi"))
            #expect(try Self.events(clients, "misplaced").sorted() == (forwarded + ["forwarded orders/0"]).sorted())

            try send(Array(#"{"orderId":"broken","juice":"kiwi""#.utf8))
            _ = try DeadLetterEndToEndTests.letters(clients, atLeast: 1, client.deadline)
            #expect(try Self.events(clients, "broken", "--store", "강남") == ["dead letter dead-letters/2"])
            #expect(try Self.events(clients, "broken", "--store", "b").isEmpty)
        }
    }

    @Test func aCommandThatWaitsIsFound() async throws {
        try await EmbeddedBroker.run(partitions: 2) { _, clients in
            _ = try clients.send(.order(id: "a", store: "s", juice: "kiwi"), deadline: Deadline(after: .seconds(30)))
            let found = try ShowCommand.parse(["a"]).search(clients)
            #expect(try found.run().map(\.word) == ["order"])
            #expect(found.notes == ["no answer was found"])

            let search = try ShowCommand.parse(["b\u{1B}", "--store", "s"]).search(clients)
            #expect(try search.run().isEmpty)
            #expect(search.notFound.status == .notFound)
            #expect(search.notFound.message == #"no command of s has the id b\u001b"#)
            #expect(search.notFound.hint?.hasSuffix("without --store, all stores are searched") == true)
        }
    }

    private static let place = RecordPlace(timestamp: 1_769_862_896_089, partition: 3, offset: 42)

    /// The lines of `juice results`, `order --wait` and `stock`, of `dead-letters`, and of `show`.
    private static func lines(_ answer: String) -> [[UInt8]] {
        [
            RecordLine.json(place, record: Array(answer.utf8)),
            RecordLine.json(place, [("missing", "{}")], record: nil),
            RecordLine.json(place, record: Array("not JSON".utf8), isJSON: false),
            RecordLine.json(place, record: [0xFF], isJSON: false),
            RecordLine.json(place, record: Array(answer.replacing(",", with: ",\r\n").utf8)),
            DeadLetter(
                position: RecordPosition(partition: place.partition, offset: place.offset), timestamp: place.timestamp, key: nil,
                value: nil, headers: []
            ).json,
            CommandEvent(
                topic: "juice.results", store: "g", place: place, event: "answer", word: "made", text: "m",
                record: Array(answer.utf8)
            ).json,
            CommandEvent(
                topic: "juice.dead-letters", store: "g", place: place, event: "deadLetter", word: "dead letter",
                text: "m", members: [("code", "\"notJSON\"")]
            ).json,
        ]
    }

    @Test func everyLineHasTimePartitionAndOffset() throws {
        for line in Self.lines(try AnswerSample.made.record()) {
            #expect(!line.contains(UInt8(ascii: "\n")))
            let object = try #require(try JSONSerialization.jsonObject(with: Data(line)) as? [String: Any])
            #expect(object["time"] as? String == "2026-01-31T12:34:56.089Z")
            #expect(object["partition"] as? Int == 3)
            #expect(object["offset"] as? Int == 42)
            if let record = object["record"] as? [String: Any] { #expect(record["offset"] as? Int == 1) }
        }
    }
}
