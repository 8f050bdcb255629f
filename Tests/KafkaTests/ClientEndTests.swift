import BrokerFaults
import Dispatch
import Kafka
import Logging
import Synchronization
import TestSupport
import Testing

@testable import enum Kafka.ClientEnd
@testable import class Kafka.ClientHandle

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
        try await onThread {
            let broker = try EmbeddedBroker.start()
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
        try await onThread {
            let broker = try EmbeddedBroker.start(topics: ["in": 1])
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
