import BrokerFaults
import JuiceMessages
import Kafka
import TestSupport
import Testing

@testable import JuiceRestockBot

/// The bots' log on the embedded broker: it reads from the committed positions on, and detects the ends of partitions.
@Suite(.concurrencyLimited) struct KafkaAnswerLogTests {
    private static let results = TopicNames().results
    private static let first = TopicPartition(topic: results, partition: 0)

    /// Runs a test with a log and the broker that it reads one partition of.
    private func withLog(
        _ properties: [String: String] = [:], _ test: @escaping @Sendable (KafkaAnswerLog, EmbeddedBroker) throws -> Void
    ) async throws {
        try await onThread {
            let broker = try EmbeddedBroker(logger: .quiet)
            try broker.createTopic(Self.results, partitionCount: 1)
            // The embedded broker waits for a second less than the session timeout before members join again.
            let base = KafkaConfiguration([
                "bootstrap.servers": broker.bootstrapServers, "session.timeout.ms": "2500", "heartbeat.interval.ms": "200",
            ]).merging(properties)
            let watch = BrokerWatch(bootstrapServers: broker.bootstrapServers, logger: .quiet)
            let log = KafkaAnswerLog(
                base: base, group: "bots", topics: TopicNames(), capabilities: .embedded, watch: watch,
                hooks: ClientHooks(logger: .quiet))
            try test(log, broker)
            log.leave()
        }
    }

    /// Polls from the log's positions on until it reports this end, or a minute is over.
    private func read(_ log: KafkaAnswerLog, toEnd end: Offset?) throws -> (start: Offset?, values: [UInt8]) {
        var (start, values, reached) = (Offset?.none, [UInt8](), Offset?.none)
        let deadline = ContinuousClock.now + .seconds(60)
        while reached == nil || reached != end, .now < deadline {
            switch try log.poll() {
            case .rebalanced:
                guard let positions = try log.positions() else { continue }
                start = positions[Self.first]
                try log.start(at: positions)
            case .answers(let answers, let ends):
                values += answers.map { $0.value?.first ?? 0 }
                reached = ends[Self.first] ?? reached
            }
        }
        return (start, values)
    }

    private func send(_ values: Range<UInt8>, to broker: EmbeddedBroker) throws {
        let producer = try Producer(
            configuration: KafkaConfiguration(["bootstrap.servers": broker.bootstrapServers]), hooks: ClientHooks(logger: .quiet))
        for value in values { try producer.send(topic: Self.results, key: nil, value: [value], timeout: .seconds(60)) }
    }

    /// After a log has left, a poll joins the group again. An offset that is not in the log is not read from.
    @Test(arguments: [(3, 3, [3, 4]), (1000, 0, [0, 1, 2, 3, 4])] as [(Offset, Offset, [UInt8])])
    func itBeginsWithTheOldestAndGoesOnWhereItCommitted(committed: Offset, start: Offset, rest: [UInt8]) async throws {
        try await withLog { log, broker throws in
            try send(0..<5, to: broker)
            let all = try read(log, toEnd: 5)
            #expect(all.start == 0)
            #expect(all.values == [0, 1, 2, 3, 4])
            try log.commit([Self.first: committed])
            log.leave()

            let more = try read(log, toEnd: 5)
            #expect(more.start == start)
            #expect(more.values == rest)
            // The end is known again after more came.
            try send(5..<7, to: broker)
            #expect(try read(log, toEnd: 7).values == [5, 6])
        }
    }

    @Test func aRightThatIsMissingEndsTheMembership() async throws {
        try await withLog { log, broker throws in
            broker.fail(next: .joinGroup, with: Array(repeating: .groupAuthorizationFailed, count: 10))
            let error = #expect(throws: KafkaError.self) { _ = try read(log, toEnd: nil) }
            #expect(error?.code == .groupAuthorizationFailed)
        }
    }

    @Test func damageEndsTheMembership() async throws {
        try await withLog(["check.crcs": "true"]) { log, broker throws in
            try broker.append("before", damaged: nil, to: Self.first)
            try broker.append("damaged", damaged: .bit, to: Self.first)
            let error = #expect(throws: KafkaError.self) { _ = try read(log, toEnd: nil) }
            #expect(error?.code == .badMessage)
        }
    }

    /// All are acknowledged, also when the queue is small, and the first that fails is told.
    @Test func refillsAreAcknowledged() async throws {
        try await withLog(["queue.buffering.max.messages": "10", "message.max.bytes": "2000"]) { log, broker throws in
            let restocks = TopicNames().restocks
            try broker.createTopic(restocks, partitionCount: 1)
            func refill(_ time: Int64, of store: String = "a") -> Refill {
                Refill(id: "bots/0-\(time)", partition: 0, store: store, time: time, entries: [])
            }
            try log.send((1000..<1100).map { refill($0) })
            let error = #expect(throws: KafkaError.self) {
                try log.send([refill(1), refill(2, of: String(repeating: "x", count: 4000))])
            }
            #expect(error?.code == .messageTooLarge)

            let consumer = try Consumer(
                configuration: KafkaConfiguration(["bootstrap.servers": broker.bootstrapServers, "group.id": "test"]),
                hooks: ClientHooks(logger: .quiet))
            defer { consumer.close() }
            try consumer.assign([TopicPartition(topic: restocks, partition: 0): 0])
            var times: [Int64] = []
            let deadline = ContinuousClock.now + .seconds(60)
            while times.count < 100, .now < deadline {
                for case .record(let record) in try consumer.poll(maxRecords: 100, timeout: .milliseconds(100)) {
                    times.append(record.timestamp ?? 0)
                }
            }
            #expect(Array(times.prefix(100)) == Array(1000..<1100))
        }
    }
}
