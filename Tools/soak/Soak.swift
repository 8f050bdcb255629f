import BrokerFaults
import CRdKafka
import Foundation
import Kafka
import Logging

/// Looks for faults that only show over time: growing memory and leaked librdkafka objects.
///
/// It runs 10,000 transactions on two producers in turn, aborts one in every hundred, and runs 100 rebalances, all on the
/// embedded broker in the same process. That broker keeps at most 5 MB of each partition, which the first quarter fills. Under
/// AddressSanitizer the end of the process also reports leaks.
@main enum Soak {
    /// How many bytes the last quarter may add: less than 1 KB for each transaction, with the allocator's noise.
    static let mostGrowth = 2_000_000

    static func main() throws {
        let threadsBefore = rd_kafka_thread_cnt()
        let broker = try EmbeddedBroker(logger: logger)
        try broker.createTopic("in", partitionCount: 1)
        try broker.createTopic("out", partitionCount: 1)
        let threadsOfBroker = rd_kafka_thread_cnt()
        try Rebalances(broker: broker).run(groups: 20, each: 5)
        var sizes = [residentBytes()]
        try Transactions(broker: broker).run(count: 10_000) { sizes.append(residentBytes()) }
        print("resident at the quarters, in MB:", sizes.map { Double($0 / 100_000) / 10 })
        guard rd_kafka_thread_cnt() == threadsOfBroker else {
            return fail("\(rd_kafka_thread_cnt() - threadsOfBroker) threads of librdkafka stayed behind")
        }
        let growth = sizes[4] - sizes[3]
        guard isInstrumented || growth <= mostGrowth else {
            return fail("the last quarter grew by \(growth) bytes")
        }
        print(
            "librdkafka's threads: \(threadsBefore) before, \(threadsOfBroker) of the broker, none left behind"
        )
    }

    private static func fail(_ reason: String) {
        print("FAILED:", reason)
        exit(1)
    }

    /// A sanitizer keeps freed memory for a while, so sizes mean nothing then.
    private static var isInstrumented: Bool { ProcessInfo.processInfo.environment["ASAN_OPTIONS"] != nil }

    /// Linux reports the size in pages.
    private static func residentBytes() -> Int {
        let fields = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8))?.split(separator: " ")
        return (fields.flatMap { $0.count > 1 ? Int($0[1]) : nil } ?? 0) * Int(sysconf(Int32(_SC_PAGESIZE)))
    }

    static let logger = Logger(label: "soak") { _ in SwiftLogNoOpLogHandler() }
    static let hooks = ClientHooks(logger: logger)
}

/// Transactions on two producers in turn.
struct Transactions {
    let broker: EmbeddedBroker

    func run(count: Int, atQuarter: () -> Void) throws {
        let member = try Rebalances(broker: broker).join(group: "transactions")
        guard let membership = member.membership else { throw KafkaError(code: .state) }
        let producers = try (0...1).map { turn in
            try TransactionalProducer(
                configuration: KafkaConfiguration([
                    "bootstrap.servers": broker.bootstrapServers, "transactional.id": "soak/\(turn)",
                    "linger.ms": "0",
                ]),
                hooks: Soak.hooks
            )
        }
        for producer in producers { try producer.initTransactions(timeout: .seconds(10)) }
        let topics = try producers.map { try $0.topic("out") }
        let value = [UInt8](repeating: 1, count: 4096)
        for number in 1...count {
            let turn = number % 2
            let producer = producers[turn]
            func begin() throws {
                try producer.begin()
                try value.withUnsafeBytes {
                    try topics[turn].produce(partition: 0, key: nil, value: $0, headers: [])
                }
            }
            if number % 100 == 0 {
                try begin()
                producer.drop()
                try producer.initTransactions(timeout: .seconds(10))
            }
            try begin()
            try producer.sendOffsets(
                [TopicPartition(topic: "in", partition: 0): Offset(number)],
                membership: membership,
                timeout: .seconds(10)
            )
            try producer.commit(timeout: .seconds(10))
            _ = try member.poll(maxRecords: 100, timeout: .zero)
            if number % (count / 4) == 0 { atQuarter() }
        }
        member.close()
    }
}

/// Members of groups that join again and again.
struct Rebalances {
    let broker: EmbeddedBroker

    /// Runs each group's member on a thread of its own, since the embedded broker makes each of them wait.
    func run(groups: Int, each count: Int) throws {
        let done = DispatchSemaphore(value: 0)
        for group in 0..<groups {
            Thread {
                do { try rebalance(group: "group-\(group)", count: count) } catch {
                    print("FAILED:", error); exit(1)
                }
                done.signal()
            }
            .start()
        }
        for _ in 0..<groups { done.wait() }
    }

    private func rebalance(group: String, count: Int) throws {
        let member = try join(group: group)
        for _ in 0..<count {
            // The member that sends the next heartbeat joins again, whichever group it belongs to.
            broker.fail(next: .heartbeat, with: [KafkaError.Code(rawValue: 27)])
            let deadline = ContinuousClock.now + .seconds(10)
            while ContinuousClock.now < deadline {
                if case .assigned = try member.poll(maxRecords: 10, timeout: .milliseconds(50)) { break }
            }
        }
        member.close()
    }

    /// A member with its partitions assigned.
    func join(group: String) throws -> GroupConsumer {
        let member = try GroupConsumer(
            of: ["in"],
            configuration: KafkaConfiguration([
                "bootstrap.servers": broker.bootstrapServers, "group.id": group, "session.timeout.ms": "3500",
                "heartbeat.interval.ms": "200", "auto.offset.reset": "earliest", "fetch.wait.max.ms": "50",
            ]),
            hooks: Soak.hooks
        )
        while member.membership == nil { _ = try member.poll(maxRecords: 10, timeout: .milliseconds(50)) }
        return member
    }
}
