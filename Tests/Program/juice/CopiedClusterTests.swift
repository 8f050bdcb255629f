import Foundation
import JuiceMessages
import JuiceService
import Kafka
import TestSupport
import Testing

@testable import juice

/// A cluster is lost after its topics were copied to a second one. Both are embedded, and have no transaction markers before
/// librdkafka 2.15. Instead, the copy lacks the oldest orders, as if they had expired: either makes offsets differ.
/// docs/OPERATIONS.md says how to try it on real brokers.
@Suite(.serialized, .concurrencyLimited, .timeLimit(.minutes(10)))
struct CopiedClusterTests {
    private static let stores = ["gangnam", "hongdae", "jamsil", "강남"]
    private static let minute = Duration.seconds(60)

    @Test func theServiceGoesOnInTheCopy() async throws {
        try await EmbeddedService.run(partitions: 2) { first in
            let client = TestClient(first, Deadline(after: Self.minute))
            for round in 0..<4 {
                for store in Self.stores {
                    _ = try client.answer(.order(id: "\(store)-\(round)", store: store, juice: "kiwi"))
                }
            }
            let second = try EmbeddedKafka(topics: first.topics, partitions: 2, runFiles: nil, logger: .quiet)
            defer { second.stop() }
            let clients = KafkaClients.patient(second.bootstrapServers)
            try Self.copy(first, to: clients)
            try Self.goOn(clients)
        }
    }

    /// Copies all records except the first two orders of each partition.
    private static func copy(_ first: KafkaClients, to second: KafkaClients) throws {
        let producer = try second.producer(timeout: minute)
        for topic in first.topics.all {
            var read: [Int32: Int] = [:]
            var failure: KafkaError?
            try TopicReader(first, topic: topic).readAll { record in
                read[record.partition, default: 0] += 1
                if topic == first.topics.orders, read[record.partition] ?? 0 <= 2 { return }
                do throws(KafkaError) {
                    _ = try producer.send(
                        topic: topic, partition: record.partition, key: record.key.map { Array($0) },
                        value: record.value.map { Array($0) }, timestamp: record.timestamp, timeout: minute)
                } catch { failure = error }
            }
            if let failure { throw failure }
        }
    }

    private static func goOn(_ clients: KafkaClients) throws {
        let configuration = ServiceConfiguration(
            bootstrapServers: clients.bootstrapServers, instanceID: "second", capabilities: .embedded)
        for partition in 0..<Int32(2) {
            let anchor = try PositionAnchor(
                configuration: configuration, topic: nil, partition: partition, author: "somebody", isCopy: true, timeout: minute,
                logger: .quiet)
            let moves = try anchor.look(.handled).moves
            #expect(
                moves.map(\.to.topic) == InputTopic.allCases)
            for move in moves {
                #expect(move.to.offset == move.log.upperBound)
                if move.to.topic == .orders { #expect(move.from == move.to.offset + 2) }
            }
            try anchor.move(moves, reason: nil)
        }
        #expect(try isClean(clients))
        let service = BackgroundGroup.service(configuration, logger: .quiet)
        defer { service.stop() }
        let client = TestClient(clients, Deadline(after: minute))
        for store in stores {
            let again = try client.answer(.order(id: "\(store)-3", store: store, juice: "kiwi"))
            #expect(again.isDuplicate)
            // Of 10 kiwis, 3 orders took 3 each.
            let restock = OutgoingCommand.restock(id: "r", store: store, .add, [FruitAmount(fruit: "kiwi", amount: 1)])
            #expect(try client.answer(restock).revision == 4)
        }
        #expect(try isClean(clients))
    }

    private static func isClean(_ clients: KafkaClients) throws -> Bool {
        let report = try AuditCommand.parse([]).report(on: clients)
        if !report.isClean { Issue.record("\(report.lines)") }
        return report.isClean
    }
}
