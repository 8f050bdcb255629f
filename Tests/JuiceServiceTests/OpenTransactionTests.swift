import Foundation
import JuiceEngine
import JuiceMessages
import Kafka
import TestSupport
import Testing

@testable import JuiceService

/// Transactions left open by other processes, on a real broker.
@Suite(.concurrencyLimited, .enabled(if: realBroker != nil, "KAFKA_BOOTSTRAP_SERVERS names no broker to run these on"))
struct OpenTransactionTests {
    /// The broker itself would end the transaction only after a minute.
    @Test func aDeadInstancesTransactionIsEndedByItsSuccessor() async throws {
        let cluster = try await onThread { () -> TestCluster in
            let cluster = try TestCluster.real(try #require(realBroker), partitionCount: 1)
            let dead = try OpenTransaction(cluster, id: "dead")
            let claim = JournalClaim(ids: ["dead"], since: 0, group: "g", instance: "i", partitions: 1, next: [:])
            try dead.write(cluster.topics.results, key: nil, JournalNote.claim(claim).bytes)
            try dead.session.commit(timeout: .seconds(20))
            try dead.begin()
            let answer = #"{"type":"outOfStock","orderId":"x","store":"gangnam","offset":0}"#
            try dead.write(cluster.topics.results, key: "gangnam", Array(answer.utf8))
            return cluster
        }
        try await withRunningService(cluster.serviceConfiguration(instanceID: "heir")) { events in
            let start = ContinuousClock.now
            wait { events.isRestored }
            #expect(events.isRestored && ContinuousClock.now - start < .seconds(20))
            let answer = try Self.answer(cluster)
            #expect(answer.contains(#""offset":0,"juice":"kiwi","quantity":1,"used":{"kiwi":3},"left":{"kiwi":7}"#))
        }
    }

    /// Committed stock lies beyond another program's undecided record, so the last stable offset is not the end.
    @Test func stockBehindAnUndecidedRecordIsWaitedFor() async throws {
        let cluster = try await onThread { () -> TestCluster in try .real(try #require(realBroker), partitionCount: 1) }
        let stranger = try await onThread { () -> OpenTransaction in
            let stranger = try OpenTransaction(cluster, id: UUID().uuidString)
            try stranger.write(cluster.topics.stock, key: "jamsil", Array("{}".utf8))
            try cluster.leaveSomeStock()
            return stranger
        }
        try await withRunningService(cluster.serviceConfiguration(instanceID: "heir")) { events in
            #expect(wait { events.isAssigned })
            #expect(!wait(upTo: .seconds(3)) { events.isRestored })
            try stranger.abort()
            let answer = try Self.answer(cluster, store: "main")
            #expect(answer.contains(#""left":{"kiwi":997}"#))
        }
    }

    private static func answer(_ cluster: TestCluster, store: String = "gangnam") throws -> String {
        try cluster.makeProducer().send(
            topic: cluster.topics.orders, key: Array(store.utf8), value: Array(#"{"orderId":"a","juice":"kiwi"}"#.utf8),
            timeout: .seconds(10))
        let answers = try cluster.read(cluster.topics.results, partitionCount: 1) { !$0.isEmpty }
        return answers.first?.text ?? ""
    }
}

extension EventLog {
    /// Whether a worker has been assigned partitions.
    fileprivate var isAssigned: Bool {
        all.contains { if case .assigned = $0 { true } else { false } }
    }
}

/// An open transaction of another program. Its calls come one after the other, so that the unchecked `Sendable` is safe.
private final class OpenTransaction: @unchecked Sendable {
    let session: TransactionSession
    private let topics: [String]

    init(_ cluster: TestCluster, id: String) throws {
        topics = cluster.topics.all
        let configuration = KafkaConfiguration(["bootstrap.servers": cluster.bootstrapServers, "transaction.timeout.ms": "60000"])
        session = TransactionSession(ids: { _ in [id] }, topics: topics.map { ($0, [:]) }) { _ in
            (configuration, ClientHooks(logger: quietLogger))
        }
        try session.initTransactions(timeout: .seconds(20))
        try begin()
    }

    func begin() throws { try session.begin() }

    /// Writes a record, before any that follow.
    func write(_ topic: String, key: String?, _ value: [UInt8]) throws {
        let number = try #require(topics.firstIndex(of: topic))
        try Array((key ?? "").utf8).withUnsafeBytes { bytes in
            try value.withUnsafeBytes { value in
                try session.produce(to: number, partition: 0, key: key == nil ? nil : bytes, value: value, headers: [])
            }
        }
        try session.flush(timeout: .seconds(20))
    }

    /// Taking the id over aborts what is open under it.
    func abort() throws {
        session.drop()
        try session.initTransactions(timeout: .seconds(20))
    }
}
