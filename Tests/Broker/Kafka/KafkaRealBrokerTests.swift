import Foundation
import Kafka
import TestSupport
import Testing

/// Requests that the embedded broker does not support.
@Suite(.onRealBroker)
struct RealBrokerAdminTests {
    private func admin() throws -> Admin {
        try Admin(configuration: KafkaConfiguration(["bootstrap.servers": try #require(realBroker)]), hooks: quietHooks)
    }

    @Test func topicsAreCreatedAndDeleted() async throws {
        try await onThread {
            let (name, admin) = ("test-\(UUID().uuidString.prefix(8))", try admin())
            let topic = Admin.NewTopic(name: name, partitionCount: 3, configuration: ["cleanup.policy": "compact"])
            #expect(try admin.create([topic], timeout: minute) == [name])
            #expect(try admin.create([topic], timeout: minute) == [])
            #expect(try admin.configurations(ofTopics: [name], timeout: minute)[name]?["cleanup.policy"] == "compact")
            try admin.delete(topics: [name], timeout: minute)
            // Deleting a topic again, or one that never existed, is no error.
            try admin.delete(topics: [name, name + "-never"], timeout: minute)
            try repeating(until: { try admin.metadata(topics: [name], timeout: .seconds(5))[name] == nil })
        }
    }

    /// One broker may name a topic that another does not know yet.
    @Test func anUnknownTopicIsRetriable() async throws {
        try await onThread {
            let (name, admin) = ("test-\(UUID().uuidString)", try admin())
            let error = #expect(throws: KafkaError.self) { try admin.configurations(ofTopics: [name], timeout: minute) }
            #expect(error?.code == .unknownTopicOrPartition)
            #expect(error?.remedy == .retry)
        }
    }
}

/// What only a real broker does: it refuses producers whose transactional id was taken over.
@Suite(.onRealBroker)
struct RealBrokerFenceTests {
    /// A topic, and sessions that write to it.
    private struct Fixture {
        let client: KafkaConfiguration
        let name = "test-\(UUID().uuidString.prefix(8))"
        var partition: TopicPartition { TopicPartition(topic: name, partition: 0) }

        init() throws {
            client = KafkaConfiguration(["bootstrap.servers": try #require(realBroker), "linger.ms": "0"])
            let admin = try Admin(configuration: client, hooks: quietHooks)
            try #require(try admin.create([.init(name: name, partitionCount: 1)], timeout: minute) == [name])
        }

        func session(_ owner: Int = 0) -> TransactionSession {
            TransactionSession(
                ids: { [name] set in (0...2).map { "\(name)/\(owner)/\(set)/\($0)" } }, setCount: 3, topics: [(name, [:])],
                configuration: client, hooks: quietHooks)
        }

        func fence() -> ProducerFence { ProducerFence(configuration: client, hooks: quietHooks) }

        /// The values that are committed, read to the end of the log.
        func committed() throws -> [String] {
            let consumer = try Consumer(
                configuration: client.merging([
                    "group.id": name, "isolation.level": "read_committed", "enable.partition.eof": "true",
                ]), hooks: quietHooks)
            defer { consumer.close() }
            let ends = try consumer.endOffsets(of: [partition], timeout: minute)
            var values: [String] = []
            try consumer.read(ends.mapValues { 0..<$0 }, timeout: minute) { _, record in
                values.append(record.value?.text ?? "")
                return true
            }
            return values
        }
    }

    private func ready(_ session: TransactionSession) throws -> [String] {
        let deadline = ContinuousClock.now + minute
        var ids: [String] = []
        try retrying(while: { .now < deadline }) { () throws(KafkaError) in ids = try session.initTransactions(timeout: .seconds(1))
        }
        return ids
    }

    private func fence(_ ids: Set<String>, with fence: ProducerFence) throws {
        let deadline = ContinuousClock.now + minute
        var undecided = ids
        // A busy broker may take more than the fence's second to end a transaction.
        while !undecided.isEmpty, .now < deadline {
            try retrying(while: { .now < deadline }) { () throws(KafkaError) in
                undecided = try fence.fence(ids, timeout: .seconds(1))
            }
        }
        #expect(undecided.isEmpty)
    }

    @Test(arguments: [false, true])
    func aFencedOwnerCommitsNothing(isFlushed: Bool) async throws {
        try await onThread {
            let fixture = try Fixture()
            let owner = fixture.session()
            let ids = try ready(owner)
            for value in ["a", "b", "c", "d"] { try owner.transact(value) }
            try owner.write("lost")
            if isFlushed { try owner.flush(timeout: minute) }
            try fence(Set(ids), with: fixture.fence())
            // The open transaction is aborted by now: nothing is undecided.
            #expect(try fixture.committed() == ["a", "b", "c", "d"])
            let error = #expect(throws: KafkaError.self) { try owner.commit(timeout: minute) }
            #expect(error?.remedy == .startOver)
            #expect(error?.code == .fenced)

            #expect(try Set(ready(owner)).isDisjoint(with: ids))
            try owner.transact("e")
            // A busy broker may still be writing the marker.
            try repeating(until: { try fixture.committed() == ["a", "b", "c", "d", "e"] })
        }
    }

    /// Each of the owner's producers is kept out, even those without an open transaction.
    @Test func everyIDOfASetIsFenced() async throws {
        try await onThread {
            let fixture = try Fixture()
            for index in 0...2 {
                let owner = fixture.session(index)
                let ids = try ready(owner)
                // Makes it the turn of the next producer.
                for _ in 0..<index { try owner.transact("a") }
                try fence(Set(ids), with: fixture.fence())
                let error = #expect(throws: KafkaError.self) { try owner.transact("lost") }
                #expect(error?.code == .fenced)
            }
            #expect(try fixture.committed() == ["a", "a", "a"])
        }
    }

    /// Taking the next set does not end the former set's transaction: the owner has to fence it like any other.
    @Test func aDroppedTransactionIsEndedByAFence() async throws {
        try await onThread {
            let fixture = try Fixture()
            let session = fixture.session()
            let former = try ready(session)
            try session.write("lost")
            try session.flush(timeout: minute)
            session.prepare()
            _ = try ready(session)
            try fence(Set(former), with: fixture.fence())
            try session.transact("a")
            try repeating(until: { try fixture.committed() == ["a"] })
        }
    }
}
