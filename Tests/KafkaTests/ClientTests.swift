import BrokerFaults
import CRdKafka
import Dispatch
import Kafka
import Logging
import Synchronization
import TestSupport
import Testing

@testable import enum Kafka.ClientEnd
@testable import class Kafka.ClientHandle

/// Producer and consumer over a real TCP connection, on the embedded broker.
@Suite(.concurrencyLimited) struct ClientTests {
    @Test func aRecordArrivesAsItWasSent() async throws {
        try await withBroker(topics: ["t": 3]) { broker in
            let headers = [
                RecordHeader(name: "traceparent", value: "00-1"), RecordHeader(name: "null", value: nil),
                RecordHeader(name: "empty", value: ""), RecordHeader(name: "traceparent", value: "again"),
            ]
            let delivery = try broker.producer().send(
                topic: "t", key: Array("gangnam".utf8), value: Array("hello".utf8), headers: headers, timeout: .seconds(60))
            let consumer = try broker.consumer()
            try consumer.assign([TopicPartition(topic: "t", partition: delivery.partition): 0])
            var isDone = false
            try poll(consumer, until: { isDone }) { element in
                guard case .record(let record) = element else { return }
                #expect(record.topic == "t")
                #expect(record.partition == delivery.partition)
                #expect(record.offset == delivery.offset)
                #expect(record.key?.text == "gangnam")
                #expect(record.value?.text == "hello")
                #expect(record.headers == headers)
                #expect(record.headers.first?.text == "00-1")
                #expect(record.timestamp != nil)
                isDone = true
            }
            #expect(isDone)
        }
    }

    @Test func nullAndEmptyAreToldApart() async throws {
        try await withBroker(topics: ["t": 1]) { broker in
            let producer = try broker.producer()
            try producer.send(topic: "t", key: nil, value: nil, timeout: .seconds(60))
            try producer.send(topic: "t", key: [], value: [], timeout: .seconds(60))
            let consumer = try broker.consumer()
            try consumer.assign([TopicPartition(topic: "t", partition: 0): 0])
            var keys: [Bool] = []
            var values: [Bool] = []
            try poll(consumer, until: { keys.count == 2 }) { element in
                guard case .record(let record) = element else { return }
                keys.append(record.key == nil)
                values.append(record.value == nil)
            }
            #expect(keys == [true, false])
            #expect(values == [true, false])
        }
    }

    @Test func thePartitionerOfJavaClientsCanBeChosen() async throws {
        try await withBroker(topics: ["t": 4]) { broker in
            let producer = try broker.producer(["partitioner": "murmur2_random"])
            // The partitions that Java's DefaultPartitioner chooses for these keys, out of 4.
            for (key, partition) in [("21", 0), ("foobar", 2), ("a-little-bit-longer-string", 3)] {
                let delivery = try producer.send(topic: "t", key: Array(key.utf8), value: [1], timeout: .seconds(60))
                #expect(Int(delivery.partition) == partition, "\(key)")
            }
        }
    }

    @Test func theEndOfAPartitionIsTold() async throws {
        try await withBroker(topics: ["t": 1]) { broker in
            try broker.producer().send(topic: "t", key: nil, value: [1], timeout: .seconds(60))
            let consumer = try broker.consumer(["enable.partition.eof": "true"])
            let partition = TopicPartition(topic: "t", partition: 0)
            try consumer.assign([partition: 0])
            var end: Int64?
            try poll(consumer, until: { end != nil }) { element in
                if case .endOfPartition(partition, let next) = element { end = next }
            }
            #expect(end == 1)
            let watermarks = try consumer.watermarks(of: [partition], timeout: .seconds(60))
            #expect(watermarks == [partition: Watermarks(low: 0, high: 1)])
        }
    }

    @Test func anOffsetOutsideTheLogIsAFailureOfItsPartition() async throws {
        try await withBroker(topics: ["t": 1]) { broker in
            let consumer = try broker.consumer(["auto.offset.reset": "error"])
            let partition = TopicPartition(topic: "t", partition: 0)
            try consumer.assign([partition: 100])
            var failure: KafkaError?
            try poll(consumer, until: { failure != nil }) { element in
                if case .failure(partition, let error) = element { failure = error }
            }
            #expect(failure?.code == .autoOffsetReset)
        }
    }

    @Test func metadataNamesPartitions() async throws {
        try await withBroker(topics: ["t": 3]) { broker in
            let metadata = try broker.producer().metadata(topics: ["t"], timeout: .seconds(60))
            #expect(metadata["t"]?.partitionCount == 3)
            #expect(metadata["t"]?.partitions.map(\.leader) == [1, 1, 1])
            #expect(metadata.brokers == [broker.bootstrapServers])
        }
    }

    @Test func aBrokerThatIsNotThereIsATimeout() async throws {
        try await onThread {
            let noticed = Mutex<[KafkaError.Code]>([])
            var hooks = quietHooks
            hooks.onError = { error in noticed.withLock { $0.append(error.code) } }
            let nowhere = KafkaConfiguration(["bootstrap.servers": "127.0.0.1:1"])
            let producer = try Producer(configuration: nowhere, hooks: hooks)
            let error = #expect(throws: KafkaError.self) {
                try producer.send(topic: "t", key: nil, value: [1], timeout: .seconds(2))
            }
            #expect(error?.code == .timedOut)
            #expect(noticed.withLock { $0 }.contains(.allBrokersDown))
        }
    }

    @Test func statisticsAndLogLinesReachTheHooks() async throws {
        try await withBroker(topics: ["t": 1]) { broker in
            let statistics = Mutex<[String]>([])
            let recorder = LogRecorder()
            let hooks = ClientHooks(
                logger: recorder.makeLogger(level: .debug), onStatistics: { json in statistics.withLock { $0.append(json) } })
            let producer = try Producer(
                configuration: broker.client(["statistics.interval.ms": "50", "debug": "broker"]), hooks: hooks)
            let deadline = ContinuousClock.now + .seconds(10)
            while statistics.withLock({ $0.isEmpty }), ContinuousClock.now < deadline { producer.poll(timeout: .milliseconds(100)) }
            #expect(statistics.withLock { $0.first }?.contains(#""brokers""#) == true)
            #expect(recorder.all.contains { $0.hasPrefix("debug ") })
        }
    }

    /// librdkafka queues them for every client, whether or not it has a callback, until the client is polled: some 5 MB an hour.
    @Test(arguments: [ClientHandle.Kind.consumer, .producer])
    func statisticsThatNobodyTakesAreNotCollected(kind: ClientHandle.Kind) async throws {
        try await withBroker { broker in
            let configuration = broker.client(["group.id": "g", "statistics.interval.ms": "10"])
            let silent = try ClientHandle(kind, configuration: configuration, hooks: quietHooks)
            let count = Mutex(0)
            var hooks = quietHooks
            hooks.onStatistics = { _ in count.withLock { $0 += 1 } }
            let reporting = try ClientHandle(kind, configuration: configuration, hooks: hooks)
            let deadline = ContinuousClock.now + .seconds(60)
            while count.withLock({ $0 < 20 }), .now < deadline { reporting.poll(timeout: .milliseconds(10)) }
            let reported = count.withLock(\.self)
            #expect(reported >= 20)
            #expect(rd_kafka_outq_len(silent.pointer) == 0)
        }
    }
}

/// Clients end within a bounded time, whatever librdkafka waits for. These tests share what is known of ends that hang.
@Suite(.serialized) struct ClientEndTests {
    @Test func anEndIsWaitedFor() async throws {
        try await onThread {
            let isOver = Mutex(false)
            ClientEnd.run(patience: .seconds(60)) { isOver.withLock { $0 = true } }
            #expect(isOver.withLock { $0 })
        }
    }

    @Test func whatItHoldsIsFreedBeforeItIsOver() async throws {
        try await onThread {
            weak var held: Held?
            do {
                let object = Held()
                held = object
                ClientEnd.run(patience: .seconds(60)) { withExtendedLifetime(object) {} }
            }
            #expect(held == nil)
        }
    }

    /// A process with many clients must stop in time, too.
    @Test func afterOneThatHangsTheNextAreWaitedForLess() async throws {
        try await onThread {
            let (gate, ends) = (DispatchSemaphore(value: 0), DispatchGroup())
            ClientEnd.run(patience: .milliseconds(10), group: ends) { gate.wait() }
            let start = ContinuousClock.now
            for _ in 0..<3 { ClientEnd.run(patience: .seconds(60), group: ends) { gate.wait() } }
            #expect(.now - start < .seconds(30))
            #expect(ends.wait(timeout: .now()) == .timedOut)
            for _ in 0..<4 { gate.signal() }
            #expect(ends.wait(timeout: .now() + 60) == .success)
        }
    }

    /// librdkafka's threads go on calling back, so what they call stays until they have ended.
    @Test(arguments: [ClientHandle.Kind.consumer, .producer])
    func aClientThatDoesNotEndIsLeftBehind(kind: ClientHandle.Kind) async throws {
        try await withBroker { broker in
            weak var logger: GateKeeper?
            let (gate, ends) = (DispatchSemaphore(value: 0), DispatchGroup())
            do {
                let keeper = GateKeeper(gate)
                logger = keeper
                let client = try ClientHandle(
                    kind, configuration: broker.client(["group.id": "g", "debug": "generic"]),
                    hooks: ClientHooks(logger: Logger(label: "test") { _ in Handler(keeper: keeper) }), patience: .milliseconds(10),
                    ends: ends)
                withExtendedLifetime(client) { keeper.isClosed.withLock { $0 = true } }
            }
            #expect(logger != nil)
            #expect(ends.wait(timeout: .now()) == .timedOut)
            gate.signal()
            #expect(ends.wait(timeout: .now() + 60) == .success)
            #expect(logger == nil)
        }
    }

    /// The coordinator holds back its answer to the member that leaves.
    @Test func aGroupIsLeftInABoundedTime() async throws {
        try await withBroker(topics: ["in": 1]) { broker in
            let member = try broker.member(of: ["in"])
            broker.setRoundTrip(.seconds(30))
            let start = ContinuousClock.now
            member.close()
            #expect(.now - start < .seconds(20))
            #expect(throws: Never.self) { try member.poll(maxRecords: 1, timeout: .zero) }
        }
    }

    private final class Held: Sendable {}

    /// Lets whoever logs wait at a gate, once it is closed.
    private final class GateKeeper: Sendable {
        let isClosed = Mutex(false)
        private let gate: DispatchSemaphore

        init(_ gate: DispatchSemaphore) { self.gate = gate }

        func log() {
            guard isClosed.withLock({ $0 }) else { return }
            gate.wait()
            gate.signal()
        }
    }

    private struct Handler: LogHandler {
        let keeper: GateKeeper
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.debug

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) { keeper.log() }
    }
}
