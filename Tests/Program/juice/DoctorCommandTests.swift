import Foundation
import JuiceMessages
import JuiceService
import Kafka
import MessageSamples
import TestSupport
import Testing

@testable import juice

/// `juice doctor` over an embedded broker. It writes nothing.
@Suite(.serialized, .concurrencyLimited, .timeLimit(.minutes(10)))
struct DoctorCommandTests {
    @Test func aServiceThatAnswersIsWell() async throws {
        try await EmbeddedService.run(partitions: 2) { clients in
            let client = TestClient(clients, Deadline(after: .seconds(60)))
            for id in ["a", "b", "c"] { _ = try client.answer(.order(id: id, store: "강남", juice: "kiwi")) }
            let report = try DoctorCommand.parse([]).report(on: clients)
            #expect(report.status == 0)
            #expect(report.lines(.none).first == "all is well", "\(report.lines(.none))")
            #expect(report.seen.brokers.count == 1 && report.seen.silence.isEmpty)
            #expect(report.seen.topics.map(\.name) == clients.topics.all)
            #expect(report.seen.partitions.map(\.instance) == ["test", "test"])
            let inputs = report.seen.partitions.flatMap(\.inputs).filter { $0.end > 0 }
            #expect(inputs.map(\.topic) == [clients.topics.orders])
            #expect(inputs.map(\.next) == [3])
            #expect(inputs.map(\.waiting) == [0])
            #expect(inputs.allSatisfy { $0.lastAnswered.map { abs($0.timeIntervalSince(report.seen.time)) < 60 } ?? false })
            #expect(try JSONText.indented(report).contains(#""status" : 0"#))
        }
    }

    @Test func reportsDeadLettersAndLookalikeStores() async throws {
        try await EmbeddedService.run(partitions: 2) { clients in
            let client = TestClient(clients, Deadline(after: .seconds(60)))
            for value in ["junk", "{}"] { try clients.write(Array(value.utf8), key: "a", to: .orders) }
            for store in ["a", "a "] { _ = try client.answer(.order(id: "1", store: store, juice: "kiwi")) }
            let report = try DoctorCommand.parse([]).report(on: clients)
            #expect(report.status == 0)
            let faults = report.findings.map(\.fault)
            #expect(faults.first == #"stores whose names look alike: a and "a ""#, "\(faults)")
            #expect(
                faults.last?.hasPrefix("2 dead letters not sent again (1 missingID, 1 notJSON), the last at 20") == true,
                "\(faults)")
        }
    }

    private static func ends(_ clients: KafkaClients) throws -> [TopicPartition: Offset] {
        let consumer = try clients.consumer(isolation: "read_uncommitted")
        defer { consumer.close() }
        let partitions = try consumer.partitions(of: clients.topics.all, timeout: .seconds(60))
        return try consumer.endOffsets(of: partitions, timeout: .seconds(60))
    }

    private static let claim =
        #"{"type":"claim","ids":["juice-maker/b/0/0/0"],"since":0,"group":"juice-maker","instance":"b","partitions":1}"#
    private static let (order, answer, stock) = {
        let (shop, order) = (Shop(store: "g"), OutgoingCommand.order(id: "a", store: "g", juice: "kiwi"))
        let answer = try? shop.answer(order, at: 0).first
        return (String(decoding: order.value, as: UTF8.self), answer ?? "", shop.stockRecord() ?? "")
    }()

    /// The records of the topics, the exit status, and how the worst finding begins.
    @Test(
        arguments: [
            ([.orders: [order], .results: [claim, answer], .stock: [stock]], 0, nil),
            // The stock may lag behind.
            ([.orders: [order], .results: [claim, answer]], 0, nil),
            (
                [.orders: [order], .stock: [stock]], 78,
                "partition 0 is stopped: stock [0] has 1 changes, but the results have 0"
            ),
            (
                [.orders: [order.replacing(#""a""#, with: #""z""#)], .results: [claim, answer], .stock: [stock]], 78,
                #"partition 0 is stopped: orders [0]: the log has order "z" of store "g" at offset 0, but another record was handled"#
            ),
            (
                [.results: [claim, answer], .stock: [stock]], 78,
                "partition 0 is stopped: orders [0]: the next offset to read is 1, but the log ends at 0"
            ),
            (
                [.orders: [order], .results: [claim, answer], .stock: ["nope"]], 78,
                "partition 0 is stopped: stock record at offset 0: "
            ),
        ] as [([Topic: [String]], Int32, String?)]
    )
    func findsRecordsThatStopAPartition(records: [Topic: [String]], status: Int32, fault: String?) async throws {
        let keyed = records.mapValues { $0.map { (key: $0 == Self.claim ? nil : "g", value: $0) } }
        try await EmbeddedBroker.run(keyed) { _, clients in
            let before = try Self.ends(clients)
            let report = try DoctorCommand.parse([]).report(on: clients)
            #expect(try Self.ends(clients) == before)
            #expect(report.status == status, "\(report.lines(.none))")
            #expect(report.findings.first?.fault.hasPrefix(fault ?? "") ?? (fault == nil), "\(report.findings)")
        }
    }
}
