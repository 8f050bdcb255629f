import BrokerFaults
import Dispatch
import Kafka
import TestSupport
import Testing

@testable import class Kafka.BrokerSilence
@testable import class Kafka.CallThread

/// A transaction that hears nothing from any broker is given up, but a slow broker is not mistaken for a dead one forever.
@Suite(.concurrencyLimited) struct BrokerSilenceTests {
    private let start = ContinuousClock.now

    private func isTooLong(
        _ silence: BrokerSilence,
        after time: Duration,
        _ connections: BrokerSilence.Connections = .broken
    ) -> Bool {
        do throws(KafkaError) {
            try silence.check(connections, at: start + time)
            return false
        } catch {
            #expect(error.remedy == .startOver)
            #expect(error.code == (connections == .broken ? .transport : .timedOut))
            return true
        }
    }

    @Test func itLastsAsLongAsNobodyConfirmsAnything() {
        let silence = BrokerSilence(least: .seconds(2), most: .seconds(10))
        silence.began(at: start)
        #expect(!isTooLong(silence, after: .seconds(1.9)))
        silence.confirmed(at: start + .seconds(1.9))
        #expect(!isTooLong(silence, after: .seconds(3.8)))
        #expect(isTooLong(silence, after: .seconds(3.9)))
    }

    @Test func eachThatIsGivenUpDoublesTheNext() {
        let silence = BrokerSilence(least: .seconds(2), most: .seconds(10))
        for limit in [2, 4, 8, 10, 10] {
            silence.began(at: start)
            #expect(!isTooLong(silence, after: .zero))
            #expect(!isTooLong(silence, after: .seconds(limit) - .milliseconds(1)))
            #expect(isTooLong(silence, after: .seconds(limit)))
        }
    }

    @Test func overSoundConnectionsItMayLastLonger() {
        let silence = BrokerSilence(least: .seconds(2), most: .seconds(10))
        for _ in 0..<2 {
            silence.began(at: start)
            #expect(!isTooLong(silence, after: .seconds(9.9), .intact))
            #expect(isTooLong(silence, after: .seconds(10), .intact))
        }
        #expect(silence.limit == .seconds(2))
    }

    /// A broker that is stopped in order may keep a request for as long as it takes, and close the connection then.
    @Test func itIsCountedFromWhenAConnectionBroke() {
        let silence = BrokerSilence(least: .seconds(2), most: .seconds(10))
        for limit in [2, 4] {
            silence.began(at: start)
            #expect(!isTooLong(silence, after: .seconds(3), .intact))
            #expect(!isTooLong(silence, after: .seconds(3.1)))
            #expect(!isTooLong(silence, after: .seconds(3) + .seconds(limit)))
            #expect(isTooLong(silence, after: .seconds(3.1) + .seconds(limit)))
        }
        silence.began(at: start)
        #expect(!isTooLong(silence, after: .seconds(9.9)))
        #expect(isTooLong(silence, after: .seconds(10)))
    }

    @Test func theErrorSaysHowLongItLasted() {
        let silence = BrokerSilence(least: .seconds(2), most: .seconds(10))
        silence.began(at: start)
        #expect(!isTooLong(silence, after: .seconds(1.44)))
        let error = #expect(throws: KafkaError.self) {
            try silence.check(.broken, at: start + .seconds(3.44))
        }
        #expect(error?.message == "no broker confirmed anything of the transaction for 3.4 s")
    }

    @Test func aBrokerThatWasSlowIsWaitedForAgain() {
        let silence = BrokerSilence(least: .seconds(2), most: .seconds(10))
        silence.began(at: start)
        #expect(!isTooLong(silence, after: .zero))
        #expect(isTooLong(silence, after: .seconds(2)))
        silence.began(at: start)
        silence.committed(at: start + .seconds(3))
        #expect(silence.limit == .seconds(4))
        silence.began(at: start)
        silence.committed(at: start + .seconds(0.1))
        #expect(silence.limit == .seconds(2))
    }

    /// A new client tries brokers that are gone, and newer versions of librdkafka close the connection that they began with.
    @Test func whatWasLostBeforeTheClientHeldItsIDDoesNotCount() async throws {
        try await onThread {
            let broker = try EmbeddedBroker.start(topics: ["out": 1])
            let gone = (1...5).map { "127.0.0.1:\($0)" }
            let producer = try TransactionalProducer(
                configuration: broker.client([
                    "bootstrap.servers": (gone + [broker.bootstrapServers]).joined(separator: ","),
                    "transactional.id": "one",
                ]),
                hooks: quietHooks,
                silence: BrokerSilence(least: .milliseconds(300))
            )
            let topic = try producer.topic("out")
            try producer.initTransactions(timeout: .seconds(60))
            broker.setRoundTrip(.milliseconds(500))
            try producer.begin()
            try topic.produce(partition: 0, key: nil, value: nil, headers: [])
            try producer.commit(timeout: .seconds(60))
        }
    }

    /// `rd_kafka_send_offsets_to_transaction` waits for the response whatever its timeout.
    @Test func offsetsThatNobodyTakesAreNotWaitedFor() async throws {
        try await onThread {
            let broker = try EmbeddedBroker.start(topics: ["in": 1, "out": 1])
            let member = try GroupConsumer(
                of: ["in"],
                configuration: broker.client(["group.id": "g", "enable.auto.commit": "false"]),
                hooks: quietHooks
            )
            defer { member.close() }
            let deadline = ContinuousClock.now + .seconds(30)
            while member.membership == nil, .now < deadline {
                _ = try member.poll(maxRecords: 1, timeout: .milliseconds(10))
            }
            let membership = try #require(member.membership)
            let producer = try TransactionalProducer(
                configuration: broker.client(["transactional.id": "one"]),
                hooks: quietHooks,
                silence: BrokerSilence(least: .milliseconds(300))
            )
            try producer.initTransactions(timeout: .seconds(60))
            try producer.begin()
            broker.takeDown()
            let offsets = [TopicPartition(topic: "in", partition: 0): Offset(1)]
            func send() throws(KafkaError) {
                try producer.sendOffsets(offsets, membership: membership, timeout: .milliseconds(100))
            }
            let error = #expect(throws: KafkaError.self) {
                try retrying(while: { .now < deadline }) { () throws(KafkaError) in try send() }
            }
            #expect(error?.remedy == .startOver)
            #expect(error?.message.hasPrefix("no broker confirmed anything of the transaction") ?? false)

            // The producer has moved on to another id, so that late offsets under the old one do no harm.
            broker.bringUp()
            producer.drop()
            try retrying(while: { .now < deadline }) { () throws(KafkaError) in
                try producer.initTransactions(timeout: .seconds(1))
            }
            #expect(producer.transactionalID == "one/1")
            try producer.begin()
            try retrying(while: { .now < deadline }) { () throws(KafkaError) in try send() }
            try producer.commit(timeout: .seconds(60))
        }
    }
}

/// A call that does not return can be abandoned.
@Suite struct CallThreadTests {
    @Test func itTellsWhatCameOfEachCall() async throws {
        try await onThread {
            let thread = CallThread(name: "test")
            #expect(!thread.isBusy)
            thread.begin {}
            #expect(throws: Never.self) { try #require(thread.outcome(within: .seconds(60))).get() }
            thread.begin { () throws(KafkaError) in throw KafkaError(code: .timedOut) }
            #expect(throws: KafkaError.self) { try #require(thread.outcome(within: .seconds(60))).get() }
            #expect(!thread.isBusy)
        }
    }

    @Test func aCallThatDoesNotEndIsLeftBehindWithWhatItHolds() async throws {
        try await onThread {
            let semaphore = { DispatchSemaphore(value: 0) }
            let (begun, gate, freed) = (semaphore(), semaphore(), semaphore())
            do {
                let held = Held(freed: freed)
                let thread = CallThread(name: "test")
                thread.begin {
                    begun.signal()
                    gate.wait()
                    withExtendedLifetime(held) {}
                }
                // A call that has not begun when its thread is dropped is never made.
                begun.wait()
                #expect(thread.outcome(within: .milliseconds(10)) == nil)
                #expect(thread.isBusy)
            }
            #expect(freed.wait(timeout: .now()) == .timedOut, "the call goes on")
            gate.signal()
            #expect(freed.wait(timeout: .now() + 60) == .success)
        }
    }

    /// Signals when it is freed.
    private final class Held: Sendable {
        private let freed: DispatchSemaphore

        init(freed: DispatchSemaphore) { self.freed = freed }

        deinit { freed.signal() }
    }
}
