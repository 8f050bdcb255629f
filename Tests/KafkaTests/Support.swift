import Foundation
import Kafka
import Logging

let quietHooks = ClientHooks(logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })

extension EmbeddedBroker {
    static func start(topics: [String: Int] = [:]) throws -> EmbeddedBroker {
        let broker = try EmbeddedBroker(logger: quietHooks.logger)
        for (name, count) in topics { try broker.createTopic(name, partitionCount: count) }
        return broker
    }

    func client(_ properties: [String: String] = [:]) -> KafkaConfiguration {
        KafkaConfiguration(["bootstrap.servers": bootstrapServers]).merging(properties)
    }

    func consumer(_ properties: [String: String] = [:]) throws -> Consumer {
        try Consumer(
            configuration: client(["group.id": "test", "auto.offset.reset": "earliest"]).merging(properties),
            hooks: quietHooks
        )
    }

    /// A member of the group `test`, with its partitions assigned.
    func member(of topics: [String]) throws -> GroupConsumer {
        let member = try GroupConsumer(
            of: topics,
            configuration: client(["group.id": "test", "auto.offset.reset": "earliest"]),
            hooks: quietHooks
        )
        try join(member)
        return member
    }

    func producer(_ properties: [String: String] = [:]) throws -> Producer {
        try Producer(configuration: client(["linger.ms": "0"]).merging(properties), hooks: quietHooks)
    }

    func transactionalProducer(id: String = "transactional") throws -> TransactionalProducer {
        try TransactionalProducer(configuration: client(["transactional.id": id]), hooks: quietHooks)
    }
}

/// Polls until the member has partitions or a minute is over.
///
/// - Returns: the partitions.
@discardableResult
func join(_ member: GroupConsumer) throws -> [TopicPartition] {
    let deadline = ContinuousClock.now + .seconds(60)
    while ContinuousClock.now < deadline {
        if case .assigned(let partitions) = try member.poll(maxRecords: 1, timeout: .milliseconds(100)) {
            return partitions
        }
    }
    return []
}

/// Polls until `isDone` or a minute is over, handing each element to `body`.
func poll(
    _ consumer: Consumer,
    until isDone: () -> Bool,
    _ body: (RecordBatch.Element) throws -> Void
) throws {
    let deadline = ContinuousClock.now + .seconds(60)
    while !isDone(), ContinuousClock.now < deadline {
        for element in try consumer.poll(maxRecords: 100, timeout: .milliseconds(100)) { try body(element) }
    }
}

extension UnsafeRawBufferPointer {
    var text: String { String(decoding: self, as: UTF8.self) }
}
