import Foundation
import JuiceMessages
import Kafka
import Logging

/// Sends an order and prints its answer: `order-example BROKERS STORE JUICE [QUANTITY]`.
///
/// The clients' calls block their thread, so make them on a thread of your own: here the main thread.
@main
struct Order {
    static let prefix = ProcessInfo.processInfo.environment["JUICE_TOPIC_PREFIX"] ?? "juice."

    static func main() throws {
        let arguments = CommandLine.arguments.dropFirst()
        guard arguments.count >= 3 else { throw Failure.usage }
        let (brokers, store, juice) = (arguments[1], arguments[2], arguments[3])
        let quantity = arguments.count > 3 ? Int(arguments[4]) : 1
        guard let quantity else { throw Failure.usage }

        let reader = try Reader(brokers: brokers, topic: prefix + "results")
        let producer = try Producer(
            configuration: KafkaConfiguration([
                "bootstrap.servers": brokers,
                "enable.idempotence": "true",
                // As in Java clients: straight to the store's partition.
                "partitioner": "murmur2_random",
            ]),
            hooks: hooks
        )
        let id = UUID().uuidString
        let order = OutgoingCommand.order(id: id, store: store, juice: juice, quantity: quantity)
        for _ in 0..<3 {
            // Under the same id, so that it is made once, however often it arrives.
            _ = try? producer.send(
                topic: prefix + "orders",
                key: Array(store.utf8),
                value: order.value,
                timeout: .seconds(5)
            )
            if let answer = try reader.answer(to: id, store: store, within: .seconds(5)) {
                return print(answer)
            }
        }
        throw Failure.noAnswer(id: id)
    }

    static var hooks: ClientHooks { ClientHooks(logger: Logger(label: "order")) }
}

enum Failure: Error {
    case usage
    case noTopic(String)
    /// It may still be carried out.
    case noAnswer(id: String)
}

/// A consumer at the end offsets of all partitions of the results. Made before the order is sent, it misses no answer.
struct Reader {
    private let consumer: Consumer
    private let decoder = AnswerDecoder()

    init(brokers: String, topic: String) throws {
        consumer = try Consumer(
            configuration: KafkaConfiguration([
                "bootstrap.servers": brokers,
                "group.id": "pos-7",  // Required by the client; assign(_:) joins no group.
                "enable.auto.commit": "false",
                "isolation.level": "read_committed",
            ]),
            hooks: Order.hooks
        )
        let count = try consumer.metadata(topics: [topic], timeout: .seconds(10))[topic]?.partitionCount ?? 0
        guard count > 0 else { throw Failure.noTopic(topic) }
        let partitions = (0..<Int32(count)).map { TopicPartition(topic: topic, partition: $0) }
        try consumer.assign(try consumer.endOffsets(of: partitions, timeout: .seconds(10)))
    }

    func answer(to id: String, store: String, within timeout: Duration) throws -> String? {
        let deadline = ContinuousClock.now + timeout
        while ContinuousClock.now < deadline {
            let batch = try consumer.poll(maxRecords: 100, timeout: deadline - ContinuousClock.now)
            for case .record(let record) in batch {
                guard let value = record.value, let answer = try? decoder.decode(value),
                    answer.command == .order, answer.id == id, answer.store == store
                else { continue }
                return String(decoding: value, as: UTF8.self)
            }
        }
        return nil
    }
}
