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
        let error = #expect(throws: KafkaError.self) { try silence.check(.broken, at: start + .seconds(3.44)) }
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
            let session = broker.session(
                ["bootstrap.servers": (gone + [broker.bootstrapServers]).joined(separator: ",")],
                silence: BrokerSilence(least: .milliseconds(300)))
            try session.initTransactions(timeout: .seconds(60))
            broker.setRoundTrip(.milliseconds(500))
            try session.begin()
            try session.produce()
            try session.commit(timeout: .seconds(60))
        }
    }

    @Test(arguments: [false, true])
    func whatNobodyConfirmsIsGivenUp(isCommit: Bool) async throws {
        try await onThread {
            let broker = try EmbeddedBroker.start(topics: ["out": 1])
            let session = broker.session(setCount: 2, silence: BrokerSilence(least: .milliseconds(300)))
            try session.initTransactions(timeout: .seconds(60))
            try session.begin()
            try session.produce()
            if isCommit { try session.flush(timeout: .seconds(60)) }
            broker.takeDown()
            let deadline = ContinuousClock.now + .seconds(30)
            let error = #expect(throws: KafkaError.self) {
                try retrying(while: { .now < deadline }) { () throws(KafkaError) in try session.commit(timeout: .milliseconds(100))
                }
            }
            #expect(error?.remedy == .startOver)
            #expect(error?.message.hasPrefix("no broker confirmed anything of the transaction") ?? false)

            // The next set goes on while the client is stuck in its call.
            broker.bringUp()
            try retrying(while: { .now < deadline }) { () throws(KafkaError) in try session.initTransactions(timeout: .seconds(1)) }
            try session.begin()
            try session.produce()
            try session.commit(timeout: .seconds(60))
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
