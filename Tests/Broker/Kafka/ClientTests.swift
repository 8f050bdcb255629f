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

/// What holds without a broker, too.
@Suite struct ClientTests {
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
