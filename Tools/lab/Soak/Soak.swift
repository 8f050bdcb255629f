import ArgumentParser
import CLab
import CRdKafka
import FaultyNetwork
import Foundation
import Kafka
import Logging
import Synchronization

/// Looks for faults that only show over time: growing memory and leaked librdkafka objects.
///
/// It runs 10,000 transactions on two producers in turn, aborts one in every hundred, and runs 100 rebalances, all on the
/// embedded broker in the same process. That broker keeps at most 5 MB of each partition, which the first quarter fills. Under
/// AddressSanitizer the end of the process also reports leaks.
struct Soak: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Runs 10,000 transactions and 100 rebalances on the embedded broker: memory and threads must not grow.")

    /// How many bytes the last quarter may add: less than 1 KB for each transaction, with the allocator's noise.
    static let mostGrowth = 2_000_000

    func run() throws {
        let threadsBefore = rd_kafka_thread_cnt()
        let broker = try EmbeddedBroker(logger: Self.logger)
        try broker.createTopic("in", partitionCount: 1)
        try broker.createTopic("out", partitionCount: 1)
        let threadsOfBroker = rd_kafka_thread_cnt()
        try Rebalances(broker: broker).run(groups: 20, each: 5)
        var sizes = [Self.residentBytes()]
        try Transactions(broker: broker).run(count: 10_000) { sizes.append(Self.residentBytes()) }
        print("resident at the quarters, in MB:", sizes.map { Double($0 / 100_000) / 10 })
        // Clients end in the background, which takes a while on a busy machine.
        try wait(for: .seconds(10)) { rd_kafka_thread_cnt() == threadsOfBroker }
        let leftBehind = rd_kafka_thread_cnt() - threadsOfBroker
        if leftBehind != 0 { throw ToolError("\(leftBehind) threads of librdkafka stayed behind", status: 1) }
        let growth = sizes[4] - sizes[3]
        if !Self.isInstrumented, growth > Self.mostGrowth { throw ToolError("the last quarter grew by \(growth) bytes", status: 1) }
        print("librdkafka's threads: \(threadsBefore) before, \(threadsOfBroker) of the broker, none left behind")
    }

    /// A sanitizer keeps freed memory for a while, so sizes mean nothing then.
    private static var isInstrumented: Bool { ProcessInfo.processInfo.environment["ASAN_OPTIONS"] != nil }

    private static func residentBytes() -> Int { Int(process_resident_memory(getpid())) }

    static let logger = Logger(label: "soak") { _ in SwiftLogNoOpLogHandler() }
    static let hooks = ClientHooks(logger: logger)
}

/// Transactions on two producers in turn.
private struct Transactions {
    let broker: EmbeddedBroker

    func run(count: Int, atQuarter: () -> Void) throws {
        let member = try Rebalances(broker: broker).join(group: "transactions")
        let session = TransactionSession(
            ids: { set in (0...1).map { "soak/\(set)/\($0)" } }, setCount: 8, topics: [("out", [:])],
            configuration: KafkaConfiguration(["bootstrap.servers": broker.bootstrapServers, "linger.ms": "0"]), hooks: Soak.hooks)
        try session.initTransactions(timeout: .seconds(10))
        let value = [UInt8](repeating: 1, count: 4096)
        func begin() throws {
            try session.begin()
            try value.withUnsafeBytes { try session.produce(to: 0, partition: 0, key: nil, value: $0, headers: []) }
        }
        for number in 1...count {
            if number % 100 == 0 {
                try begin()
                session.drop()
                session.prepare()
                try session.initTransactions(timeout: .seconds(10))
            }
            try begin()
            try session.commit(timeout: .seconds(10))
            member.publish([TopicPartition(topic: "in", partition: 0): CommittedOffset(Offset(number))])
            _ = try member.poll(maxRecords: 100, timeout: .zero)
            if number % (count / 4) == 0 { atQuarter() }
        }
        member.close()
    }
}

/// Members of groups that join again and again.
private struct Rebalances {
    let broker: EmbeddedBroker

    /// Runs each group's member on a thread of its own, since the embedded broker makes each of them wait.
    func run(groups: Int, each count: Int) throws {
        let ended = DispatchGroup()
        let failure = Mutex<(any Error)?>(nil)
        for group in 0..<groups {
            ended.enter()
            Thread.detachNewThread {
                do { try rebalance(group: "group-\(group)", count: count) } catch { failure.withLock { $0 = error } }
                ended.leave()
            }
        }
        ended.wait()
        if let failure = failure.withLock(\.self) { throw failure }
    }

    private func rebalance(group: String, count: Int) throws {
        let member = try join(group: group)
        for _ in 0..<count {
            // The member that sends the next heartbeat joins again, whichever group it belongs to.
            broker.fail(next: .heartbeat, with: [KafkaError.Code(rawValue: 27)])
            let deadline = ContinuousClock.now + .seconds(10)
            while ContinuousClock.now < deadline {
                if case .assigned = try member.poll(maxRecords: 10, timeout: .milliseconds(50)).rebalance { break }
            }
        }
        member.close()
    }

    /// A member with its partitions assigned.
    func join(group: String) throws -> Consumer {
        let member = try Consumer(
            configuration: KafkaConfiguration([
                "bootstrap.servers": broker.bootstrapServers, "group.id": group, "session.timeout.ms": "3500",
                "heartbeat.interval.ms": "200", "auto.offset.reset": "earliest", "fetch.wait.max.ms": "50",
            ]), hooks: Soak.hooks)
        try member.subscribe(to: ["in"])
        while !member.hasAssignment { _ = try member.poll(maxRecords: 10, timeout: .milliseconds(50)) }
        return member
    }
}
