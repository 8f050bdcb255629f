import Foundation
import JuiceEngine
import Kafka
import TestSupport
import Testing

@testable import JuiceService

/// Transactions left open by other processes, on a real broker.
@Suite(
    .concurrencyLimited,
    .enabled(if: realBroker != nil, "KAFKA_BOOTSTRAP_SERVERS names no broker to run these on")
)
struct OpenTransactionTests {
    /// The broker itself would end the transaction only after a minute.
    @Test func aDeadInstancesTransactionIsEndedByItsSuccessor() async throws {
        let cluster = try await onThread { () -> TestCluster in
            let cluster = try TestCluster.real(try #require(realBroker), partitionCount: 1)
            let dead = try FormerInstance(cluster, name: "dead")
            try dead.commit(orders: 0, stock: nil)
            try dead.leaveOpen(orders: 1)
            dead.leave()
            return cluster
        }
        try await withRunningService(cluster.serviceConfiguration(instanceID: "heir")) { events in
            let start = ContinuousClock.now
            wait { events.isRestored }
            #expect(events.isRestored && ContinuousClock.now - start < .seconds(20))
            let answer = try Self.answer(cluster)
            #expect(answer.contains(#""left":{"kiwi":7}"#))
        }
    }

    /// Committed stock lies beyond another program's undecided record, so the last stable offset is not the end.
    @Test func stockBehindAnUndecidedRecordIsWaitedFor() async throws {
        let cluster = try await onThread { () -> TestCluster in
            try .real(try #require(realBroker), partitionCount: 1)
        }
        let stranger = try await onThread { () -> OpenTransaction in
            let stranger = try OpenTransaction(cluster)
            let former = try FormerInstance(cluster, name: "former")
            try former.commit(orders: 0, stock: 5)
            former.leave()
            return stranger
        }
        try await withRunningService(cluster.serviceConfiguration(instanceID: "heir")) { events in
            #expect(wait { events.hasMetUndecided || events.isRestored })
            #expect(!events.isRestored)
            try stranger.abort()
            let answer = try Self.answer(cluster)
            #expect(answer.contains(#""left":{"kiwi":2}"#))
        }
    }

    private static func answer(_ cluster: TestCluster) throws -> String {
        try cluster.makeProducer().send(
            topic: cluster.topics.orders,
            key: Array("gangnam".utf8),
            value: Array(#"{"orderId":"a","juice":"kiwi"}"#.utf8),
            timeout: .seconds(10)
        )
        let answers = try cluster.read(cluster.topics.results, partitionCount: 1) { !$0.isEmpty }
        return answers.first?.text ?? ""
    }
}

extension EventLog {
    /// Whether a restore has timed out waiting for a transaction to be decided.
    fileprivate var hasMetUndecided: Bool {
        all.contains {
            if case .retrying(let error, _) = $0 { error.message.contains("undecided") } else { false }
        }
    }
}

/// An earlier instance of the service, as far as its successor can see it.
private final class FormerInstance {
    private let cluster: TestCluster
    private let owner: String
    private let producer: TransactionalProducer
    private let stock: TransactionalTopic
    private let member: GroupConsumer

    init(_ cluster: TestCluster, name: String) throws {
        self.cluster = cluster
        let configuration = cluster.serviceConfiguration(instanceID: name)
        owner = configuration.ownerName(worker: 0)
        let hooks = ClientHooks(logger: quietLogger)
        producer = try TransactionalProducer(
            configuration: configuration.producer(owner: owner, index: 0)
                .merging(["transaction.timeout.ms": "60000"]),
            hooks: hooks
        )
        try producer.initTransactions(timeout: .seconds(20))
        stock = try producer.topic(cluster.topics.stock)
        // Not a static member, so that it is gone when it leaves.
        let member = try GroupConsumer(
            of: [cluster.topics.orders, cluster.topics.restocks],
            configuration: KafkaConfiguration([
                "bootstrap.servers": cluster.bootstrapServers, "group.id": configuration.group,
                "partition.assignment.strategy": "range",
            ]),
            hooks: hooks
        )
        self.member = member
        wait {
            _ = try? member.poll(maxRecords: 1, timeout: .milliseconds(50))
            return member.membership != nil
        }
    }

    func commit(orders: Offset, stock level: Int?) throws {
        try begin(orders: orders, stock: level)
        try producer.commit(timeout: .seconds(20))
    }

    /// Begins a transaction that will never be committed.
    func leaveOpen(orders: Offset) throws { try begin(orders: orders, stock: 1) }

    private func begin(orders: Offset, stock level: Int?) throws {
        try producer.begin()
        if let level {
            let record = #"{"store":"gangnam","revision":1,"stock":{"kiwi":\#(level)}}"#
            try Array("gangnam".utf8).withUnsafeBytes { key in
                try Array(record.utf8).withUnsafeBytes { value in
                    try stock.produce(partition: 0, key: key, value: value, headers: [])
                }
            }
        }
        let topics = [cluster.topics.orders: orders, cluster.topics.restocks: 0]
        try producer.sendOffsets(
            Dictionary(
                uniqueKeysWithValues: topics.map { (TopicPartition(topic: $0.key, partition: 0), $0.value) }
            ),
            metadata: CommitMetadata(
                owner: owner,
                transactionalIDs: [producer.transactionalID],
                partitionCount: 1
            ).text,
            membership: try #require(member.membership),
            timeout: .seconds(20)
        )
    }

    func leave() { member.close() }
}

/// An open transaction of an unknown program, with a record in the stock topic. Its calls come one after the other, so that the
/// unchecked `Sendable` is safe.
private final class OpenTransaction: @unchecked Sendable {
    private let producer: TransactionalProducer

    init(_ cluster: TestCluster) throws {
        producer = try TransactionalProducer(
            configuration: KafkaConfiguration([
                "bootstrap.servers": cluster.bootstrapServers, "transactional.id": UUID().uuidString,
                "transaction.timeout.ms": "60000",
            ]),
            hooks: ClientHooks(logger: quietLogger)
        )
        try producer.initTransactions(timeout: .seconds(20))
        try producer.begin()
        let stock = try producer.topic(cluster.topics.stock)
        try Array("jamsil".utf8).withUnsafeBytes { key in
            try Array("{}".utf8).withUnsafeBytes { value in
                try stock.produce(partition: 0, key: key, value: value, headers: [])
            }
        }
        // The record has to be written before any that follow.
        try producer.flush(timeout: .seconds(20))
    }

    func abort() throws {
        producer.drop()
        try producer.initTransactions(timeout: .seconds(20))
    }
}
