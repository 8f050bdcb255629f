import Foundation
import JuiceMessages
import Kafka
import Logging

/// Sends an order and prints the answer: `order-example BROKERS STORE JUICE...`
///
/// The clients' calls block their thread, so make them on a thread of your own: here the main thread.
@main
struct Order {
    static let prefix = ProcessInfo.processInfo.environment["JUICE_TOPIC_PREFIX"] ?? "juice."

    static func main() {
        do { try run() } catch {
            FileHandle.standardError.write(Data("order-example: \(error)\n".utf8))
            exit(1)
        }
    }

    static func run() throws {
        let arguments = CommandLine.arguments.dropFirst()
        guard arguments.count >= 3 else { throw Failure.usage }
        let brokers = arguments[1]
        let items = arguments.dropFirst(2).map { OrderedJuice(juice: $0) }
        let command = OutgoingCommand.basket(id: UUID().uuidString, store: arguments[2], items)

        let reader = try Reader(brokers: brokers, topic: prefix + "results")
        let producer = try Producer(
            configuration: KafkaConfiguration([
                "bootstrap.servers": brokers, "enable.idempotence": "true",
                // As in Java clients: straight to the store's partition.
                "partitioner": "murmur2_random",
            ]), hooks: hooks)
        for _ in 0..<3 {
            // Each attempt has the same id, so the command is carried out once, however often it arrives.
            _ = try? producer.send(
                topic: prefix + "orders", key: Array(command.store.utf8), value: command.value, timeout: .seconds(5))
            if let answer = try reader.answer(to: command, within: .seconds(5)) { return print(answer) }
        }
        throw Failure.noAnswer(id: command.id)
    }

    // Errors are thrown, so the log is dropped: librdkafka writes a line for each attempt to connect.
    static var hooks: ClientHooks { ClientHooks(logger: Logger(label: "order") { _ in SwiftLogNoOpLogHandler() }) }
}

enum Failure: Error, CustomStringConvertible {
    case usage
    case noAnswer(id: String)

    var description: String {
        switch self {
        case .usage: "usage: order-example BROKERS STORE JUICE..."
        case .noAnswer(let id): "no answer to \(id); it may still be carried out"
        }
    }
}

/// A consumer at the end offsets of all partitions of the results. Made before the order is sent, it misses no answer.
struct Reader {
    private let consumer: Consumer
    private let decoder = AnswerDecoder()

    init(brokers: String, topic: String) throws {
        consumer = try Consumer(
            configuration: KafkaConfiguration([
                "bootstrap.servers": brokers,
                "isolation.level": "read_committed",
            ]),
            hooks: Order.hooks
        )
        let partitions = try consumer.partitions(of: [topic], timeout: .seconds(10))
        try consumer.assign(try consumer.endOffsets(of: partitions, timeout: .seconds(10)))
    }

    func answer(to command: OutgoingCommand, within timeout: Duration) throws -> String? {
        let deadline = ContinuousClock.now + timeout
        while ContinuousClock.now < deadline {
            let batch = try consumer.poll(maxRecords: 100, timeout: deadline - ContinuousClock.now)
            for case .record(let record) in batch {
                guard let value = record.value, let answer = try? decoder.decode(value), answer.id == command.id,
                    answer.store == command.store
                else { continue }
                return String(decoding: value, as: UTF8.self)
            }
        }
        return nil
    }
}
