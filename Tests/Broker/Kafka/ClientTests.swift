import CRdKafka
import Dispatch
import FaultyNetwork
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
        try await withBroker(partitions: 3) { broker throws in
            let headers = [
                RecordHeader(name: "traceparent", value: "00-1"), RecordHeader(name: "null", value: nil),
                RecordHeader(name: "empty", value: ""), RecordHeader(name: "traceparent", value: "again"),
            ]
            let delivery = try broker.producer().send("hello", key: "gangnam", headers: headers)
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

    /// Null differs from empty, the end of a partition is an element, and its extent is known.
    @Test func nullDiffersFromEmpty() async throws {
        try await withBroker { broker throws in
            let producer = try broker.producer()
            try producer.send()
            try producer.send("", key: "")
            let consumer = try broker.consumer(["enable.partition.eof": "true"])
            try consumer.assign([place: 0])
            var areNull: [[Bool]] = []
            var end: Offset?
            try poll(consumer, until: { end == 2 }) { element in
                switch element {
                case .record(let record): areNull.append([record.key == nil, record.value == nil])
                case .endOfPartition(place, let next): end = next
                default: Issue.record("\(element)")
                }
            }
            #expect(areNull == [[true, true], [false, false]])
            #expect(end == 2)
            #expect(try consumer.watermarks(of: [place], timeout: minute) == [place: 0..<2])
        }
    }

    @Test func thePartitionerOfJavaClientsCanBeChosen() async throws {
        try await withBroker(partitions: 4) { broker throws in
            let producer = try broker.producer(["partitioner": "murmur2_random"])
            // The partitions that Java's DefaultPartitioner chooses for these keys, out of 4.
            for (key, partition) in [("21", 0), ("foobar", 2), ("a-little-bit-longer-string", 3)] {
                let delivery = try producer.send(key: key)
                #expect(Int(delivery.partition) == partition, "\(key)")
            }
        }
    }

    @Test func anOffsetOutsideTheLogIsAFailureOfItsPartition() async throws {
        try await withBroker { broker throws in
            let consumer = try broker.consumer(["auto.offset.reset": "error"])
            try consumer.assign([place: 100])
            var failure: KafkaError?
            try poll(consumer, until: { failure != nil }) { element in
                if case .failure(place, let error) = element { failure = error }
            }
            #expect(failure?.code == .autoOffsetReset)
        }
    }

    @Test func metadataNamesPartitions() async throws {
        try await withBroker(partitions: 3) { broker throws in
            let metadata = try broker.producer().metadata(topics: ["t"], timeout: minute)
            #expect(metadata["t"]?.partitionCount == 3)
            #expect(metadata["t"]?.partitions.map(\.leader) == [1, 1, 1])
            #expect(metadata.brokers.map(\.address) == [broker.bootstrapServers])
            #expect(try broker.consumer().partitions(of: ["t"], timeout: minute).map(\.partition) == [0, 1, 2])
        }
    }

    @Test func aBrokerThatIsNotThereIsATimeout() async throws {
        try await onThread {
            let noticed = Mutex<[KafkaError.Code]>([])
            let hooks = ClientHooks(logger: .quiet, onError: { error in noticed.withLock { $0.append(error.code) } })
            let producer = try Producer(configuration: KafkaConfiguration(["bootstrap.servers": "127.0.0.1:1"]), hooks: hooks)
            let error = #expect(throws: KafkaError.self) {
                try producer.send(topic: "t", key: nil, value: [1], timeout: .seconds(2))
            }
            #expect(error?.code == .timedOut)
            #expect(noticed.withLock { $0 }.contains(.allBrokersDown))
        }
    }

    /// librdkafka queues statistics for every client, even without a callback, until the client is polled: some 5 MB an hour.
    @Test func statisticsAreNotCollected() throws {
        let client = try ClientHandle(
            RD_KAFKA_CONSUMER, configuration: KafkaConfiguration(["statistics.interval.ms": "10"]),
            context: ClientContext(quietHooks))
        var (value, size) = (ErrorText(), 512)
        _ = value.withBuffer { buffer, _ in
            rd_kafka_conf_get(rd_kafka_conf(client.pointer), "statistics.interval.ms", buffer, &size)
        }
        #expect(value.text == "0")
    }
}

/// Clients end within a bounded time, whatever librdkafka waits for. These tests share the time of the last end that hung.
@Suite(.serialized) struct ClientEndTests {
    @Test func waitsForAnEndAndReleasesItsCaptures() async throws {
        try await onThread {
            let isOver = Mutex(false)
            weak var held: Held?
            do {
                let object = Held()
                held = object
                ClientEnd.run(patience: minute) { withExtendedLifetime(object) { isOver.withLock { $0 = true } } }
            }
            #expect(isOver.withLock { $0 })
            #expect(held == nil)
        }
    }

    /// A process with many clients must stop in time, too.
    @Test func waitsLessAfterAHungClient() async throws {
        try await onThread {
            let (gate, ends) = (DispatchSemaphore(value: 0), DispatchGroup())
            ClientEnd.run(patience: .milliseconds(10), group: ends) { gate.wait() }
            let start = ContinuousClock.now
            for _ in 0..<3 { ClientEnd.run(patience: minute, group: ends) { gate.wait() } }
            #expect(.now - start < .seconds(30))
            #expect(ends.wait(timeout: .now()) == .timedOut)
            for _ in 0..<4 { gate.signal() }
            #expect(ends.wait(timeout: .now() + 60) == .success)
        }
    }

    /// librdkafka's threads go on calling back, so their callbacks' objects stay until the threads have ended.
    @Test(arguments: [true, false])
    func aClientThatDoesNotEndIsLeftBehind(isConsumer: Bool) async throws {
        try await withBroker { broker throws in
            weak var logger: GateKeeper?
            let (gate, ends) = (DispatchSemaphore(value: 0), DispatchGroup())
            do {
                let keeper = GateKeeper(gate)
                logger = keeper
                let client = try ClientHandle(
                    isConsumer ? RD_KAFKA_CONSUMER : RD_KAFKA_PRODUCER, configuration: broker.client(["debug": "generic"]),
                    context: ClientContext(ClientHooks(logger: Logger(label: "test") { _ in Handler(keeper: keeper) })),
                    patience: .milliseconds(10), ends: ends)
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
        try await withBroker { broker throws in
            let member = try broker.member()
            broker.setRoundTrip(.seconds(30))
            let start = ContinuousClock.now
            member.close()
            #expect(.now - start < .seconds(20))
            #expect(throws: Never.self) { try member.poll(maxRecords: 1, timeout: .zero) }
        }
    }

    private final class Held: Sendable {}

    /// Makes threads that log wait at a gate, once it is closed.
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
