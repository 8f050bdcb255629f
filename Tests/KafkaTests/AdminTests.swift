import Foundation
import Kafka
import TestSupport
import Testing

private let realBroker = ProcessInfo.processInfo.environment["KAFKA_BOOTSTRAP_SERVERS"]

/// Requests that the embedded broker does not support.
@Suite(.enabled(if: realBroker != nil, "KAFKA_BOOTSTRAP_SERVERS names no broker to run these on"))
struct AdminTests {
    @Test func groupsAreDescribedAndTopicsDeleted() async throws {
        let servers = try #require(realBroker)
        try await onThread {
            let name = "test-\(UUID().uuidString.prefix(8))"
            let client = KafkaConfiguration(["bootstrap.servers": servers])
            let admin = try Admin(configuration: client, hooks: quietHooks)
            let topic = Admin.NewTopic(name: name, partitionCount: 3)
            #expect(try admin.create([topic], timeout: .seconds(60)) == [name])

            let member = try GroupConsumer(
                of: [name], configuration: client.merging(["group.id": name, "group.instance.id": "till-1"]), hooks: quietHooks)
            try join(member)
            let group = try describe(name, with: admin)
            #expect(group.isStable)
            #expect(group.members.map(\.instanceID) == ["till-1"])
            let partitions = Set((0..<3).map { TopicPartition(topic: name, partition: $0) })
            #expect(group.members.first.map { Set($0.partitions) } == partitions)
            member.close()

            try admin.delete(topics: [name], timeout: .seconds(60))
            // Deleting a topic again, or one that never existed, is no error.
            try admin.delete(topics: [name, name + "-never"], timeout: .seconds(60))
            let deadline = ContinuousClock.now + .seconds(20)
            var isThere = true
            while isThere, ContinuousClock.now < deadline {
                isThere = try admin.metadata(topics: [name], timeout: .seconds(5))[name] != nil
            }
            #expect(!isThere)
        }
    }

    @Test func aGroupThatIsNotThereHasNoMembers() async throws {
        let servers = try #require(realBroker)
        try await onThread {
            let admin = try Admin(configuration: KafkaConfiguration(["bootstrap.servers": servers]), hooks: quietHooks)
            let group = try describe("test-\(UUID().uuidString)", with: admin)
            #expect(group.members.isEmpty)
            #expect(!group.isStable)
        }
    }

    /// One broker may name a topic that another does not know yet.
    @Test func aTopicThatTheBrokerDoesNotKnowIsAskedForAgain() async throws {
        let servers = try #require(realBroker)
        try await onThread {
            let admin = try Admin(configuration: KafkaConfiguration(["bootstrap.servers": servers]), hooks: quietHooks)
            let name = "test-\(UUID().uuidString)"
            let error = #expect(throws: KafkaError.self) { try admin.configurations(ofTopics: [name], timeout: .seconds(60)) }
            #expect(error?.code == .unknownTopicOrPartition)
            #expect(error?.remedy == .retry)
        }
    }

    /// Asks again while the group's coordinator is moving or loading, as on a broker that has just started. A request may get lost
    /// in librdkafka meanwhile.
    private func describe(_ group: String, with admin: Admin) throws -> ConsumerGroup {
        let deadline = ContinuousClock.now + .seconds(60)
        while true {
            do throws(KafkaError) {
                return try admin.describe(group: group, timeout: .seconds(5))
            } catch {
                guard error.remedy == .retry, ContinuousClock.now < deadline else { throw error }
                Thread.sleep(forTimeInterval: 0.1)
            }
        }
    }
}
