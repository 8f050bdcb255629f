import Dispatch
import FaultyNetwork
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import Kafka

/// Transactions on the embedded broker: calls, their order and errors. Atomicity is proved on a real broker.
@Suite(.concurrencyLimited) struct TransactionTests {
    /// Otherwise two transactions could be open at the same time, and commit in any order.
    @Test func callsOutOfOrderAreErrors() async throws {
        try await withBroker { broker throws in
            let session = broker.session(names: ["one", "two"])
            #expect(throws: KafkaError.self) { try session.begin() }
            try session.initTransactions(timeout: minute)
            #expect(throws: KafkaError.self) { try session.commit(timeout: minute) }
            #expect(throws: KafkaError.self) { try session.produce([]) }
            try session.transact()
            try session.begin()
            #expect(throws: KafkaError.self) { try session.begin() }
            #expect(!session.isReady)
        }
    }

    /// A broker's error in response to the next request of a kind, and what becomes of the commit. Records produced after a flush
    /// must never be written without those before it, although librdkafka reports a flush as successful if nothing is left to send.
    /// A producer that failed is never used again: a late request could count in its next transaction.
    @Test(
        arguments: [
            // Retried inside librdkafka 2.0.2: COORDINATOR_LOAD_IN_PROGRESS is 14.
            (EmbeddedBroker.Request.endTransaction, .concurrentTransactions, nil),
            (.endTransaction, KafkaError.Code(rawValue: 14), nil),
            // INVALID_PRODUCER_EPOCH: fenced.
            (.endTransaction, KafkaError.Code(rawValue: 47), .startOver),
            (.endTransaction, .transactionalIDAuthorizationFailed, .startOver),
            // A record that is too large is not retried.
            (.produce, .messageTooLarge, .startOver), (.addPartitionsToTransaction, .topicAuthorizationFailed, .startOver),
        ] as [(EmbeddedBroker.Request, KafkaError.Code, KafkaError.Remedy?)], [false, true])
    func anErrorEndsTheTransactionAndTheSet(
        fault: (request: EmbeddedBroker.Request, code: KafkaError.Code, remedy: KafkaError.Remedy?), isFlushed: Bool
    ) async throws {
        try await withBroker { broker throws in
            let session = try broker.readySession(names: ["one", "two"], setCount: 2)
            broker.fail(next: fault.request, with: [fault.code])
            do throws(KafkaError) {
                try session.write()
                if isFlushed { try session.flush(timeout: minute) }
                try session.commit(timeout: minute)
                #expect(fault.remedy == nil)
            } catch {
                #expect(error.remedy == fault.remedy, "\(error)")
                if fault.request != .endTransaction {
                    #expect(error.code == fault.code)
                    #expect(error.requiresAbort)
                }
                #expect(!session.isReady)
                #expect(throws: KafkaError.self) { try session.begin() }
                #expect(throws: KafkaError.self) { try session.produce([]) }
                let ids = try? session.initTransactions(timeout: minute)
                #expect(ids == ["one/1", "two/1"])
            }
            try session.transact()
        }
    }

    @Test func flushReportsATimedOutRecord() async throws {
        try await withBroker { broker throws in
            let session = try broker.readySession(["transaction.timeout.ms": "10000", "socket.timeout.ms": "5000"])
            try session.write()
            try session.flush(timeout: minute)
            broker.setRoundTrip(minute)
            try session.produce([])
            let error = #expect(throws: KafkaError.self) { try session.flush(timeout: minute) }
            #expect(error?.remedy == .startOver)
            #expect(error?.requiresAbort == true)
        }
    }

    /// librdkafka's own commit is called once, however often the caller asks for its outcome.
    @Test func aCommitIsWaitedForInPieces() async throws {
        try await withBroker { broker throws in
            let recorder = LogRecorder()
            let session = try broker.readySession(["debug": "eos"], hooks: ClientHooks(logger: recorder.makeLogger(level: .debug)))
            broker.setRoundTrip(.milliseconds(100))
            try session.write("a")
            var looks = 0
            try retrying(while: { true }) { () throws(KafkaError) in
                looks += 1
                try session.commit(timeout: .milliseconds(1))
            }
            #expect(looks > 1)
            #expect(recorder.all.count { $0.contains("API called: commit_transaction") } == 1)
            broker.setRoundTrip(.zero)
            #expect(try broker.values(1) == ["a"])
        }
    }

    /// A request that was in flight when a connection broke is sent again.
    @Test func reportsALostConnection() async throws {
        try await withBroker { broker throws in
            let session = try broker.readySession()
            try session.transact()
            #expect(!session.hasLostConnection)
            broker.fail(next: .endTransaction, with: [.transport])
            try session.transact()
            #expect(session.hasLostConnection)
            try session.initTransactions(timeout: minute)
            #expect(!session.hasLostConnection)
        }
    }

    /// Records in flight are purged, and an abort begins, before the client is destroyed: see ``ClientHandle``.
    @Test func purgesRequestsInFlightBeforeItEnds() async throws {
        try await withBroker { broker throws in
            let recorder = LogRecorder()
            let hooks = ClientHooks(logger: recorder.makeLogger(level: .debug))
            let session = try broker.readySession(["debug": "eos,generic,protocol"], hooks: hooks)
            // Adds the partition to the transaction, without which nothing is sent.
            try session.write()
            try session.flush(timeout: minute)
            broker.setRoundTrip(minute)
            try session.produce([])
            repeating(until: { recorder.all.count { $0.contains("Sent ProduceRequest") } == 2 }) {
                #expect(throws: KafkaError.self) { try session.flush(timeout: .milliseconds(100)) }
            }
            session.drop()
            let steps = ["Purged in flight", "API called: abort_transaction", "Terminating instance"]
            var taken: [String] { recorder.all.compactMap { line in steps.first { line.contains($0) } } }
            repeating(until: { taken.contains(steps[2]) }) { Thread.sleep(forTimeInterval: 0.01) }
            #expect(taken.contains(steps[0]))
            #expect(taken.filter { $0 != steps[0] }.prefix(2) == steps[1...])
        }
    }

    @Test func aTransactionAsksForTheLeaderWhileABrokerIsGone() async throws {
        try await onThread {
            let broker = try EmbeddedBroker.start(brokerCount: 2)
            broker.setLeader(1, of: place)
            broker.setCoordinator(2, ofTransactionalID: "one/0")
            let recorder = LogRecorder()
            let session = try broker.readySession(
                ["debug": "metadata"], hooks: ClientHooks(logger: recorder.makeLogger(level: .debug)))
            func isCommitted() throws -> Bool {
                do throws(KafkaError) {
                    try session.commit(timeout: .milliseconds(200))
                    return true
                } catch {
                    guard error.remedy == .retry else { throw error }
                    return false
                }
            }
            var hasAsked: Bool { recorder.all.contains { $0.contains("application requested") } }
            try session.write()
            try repeating(until: isCommitted)
            #expect(!hasAsked)

            broker.takeDown(broker: 1)
            try session.write()
            try repeating(until: { hasAsked }) { try #require(try !isCommitted()) }
            broker.setLeader(2, of: place)
            try repeating(until: isCommitted)
        }
    }

    /// A new client tries brokers that are gone, and newer versions of librdkafka close the connection that they began with.
    @Test func ignoresConnectionsLostBeforeInit() async throws {
        try await withBroker { broker throws in
            let servers = (1...5).map { "127.0.0.1:\($0)" } + [broker.bootstrapServers]
            let session = try broker.readySession(
                ["bootstrap.servers": servers.joined(separator: ",")], inactivityTimeout: .milliseconds(300))
            broker.setRoundTrip(.milliseconds(500))
            try session.transact()
            #expect(!session.hasLostConnection)
        }
    }

    @Test(arguments: [false, true])
    func givesUpAnUnconfirmedTransaction(isCommit: Bool) async throws {
        try await withBroker { broker throws in
            let session = try broker.readySession(setCount: 2, inactivityTimeout: .milliseconds(300))
            try session.write()
            if isCommit { try session.flush(timeout: minute) }
            broker.takeDown()
            let deadline = ContinuousClock.now + minute
            let error = #expect(throws: KafkaError.self) {
                try retrying(while: { .now < deadline }) { () throws(KafkaError) in try session.commit(timeout: .milliseconds(100))
                }
            }
            #expect(error?.remedy == .startOver)
            #expect(error?.message.hasPrefix("no broker confirmed anything of the transaction") ?? false)

            // The next set goes on while the client is stuck in its call.
            broker.bringUp()
            try retrying(while: { .now < deadline }) { () throws(KafkaError) in try session.initTransactions(timeout: .seconds(1)) }
            try session.transact()
        }
    }
}

/// Sets of transactional ids: taken over all together, used in turn, and left after a failure.
@Suite(.concurrencyLimited) struct TransactionalIDTests {
    @Test func setsAreUsedInTurn() async throws {
        try await withBroker { broker throws in
            let session = broker.session(names: ["one", "two"], setCount: 3)
            for set in [0, 1, 2, 0, 1] {
                #expect(try session.initTransactions(timeout: minute) == ["one/\(set)", "two/\(set)"])
                try session.transact()
            }
        }
    }

    /// A session does not know which sets a former process left behind.
    @Test func aSessionBeginsWithAnySet() throws {
        let broker = try EmbeddedBroker.start()
        let first = try (0..<12).map { _ in
            let session = TransactionSession(
                ids: { ["\($0)"] }, setCount: 1_000_000, topics: [], configuration: broker.client(), hooks: quietHooks)
            return try session.initTransactions(timeout: minute)[0]
        }
        #expect(Set(first).count > 1)
    }

    @Test func aSetIsWaitedForAgainAfterATimeoutAndLeftAfterARefusal() async throws {
        try await withBroker { broker throws in
            let session = broker.session(names: ["one", "two"], setCount: 3)
            broker.takeDown()
            let error = #expect(throws: KafkaError.self) { try session.initTransactions(timeout: .milliseconds(50)) }
            #expect(error?.remedy == .retry)
            #expect(!session.isReady)
            broker.bringUp()
            #expect(try session.initTransactions(timeout: minute) == ["one/0", "two/0"])

            broker.fail(next: .initProducerID, with: [.transactionalIDAuthorizationFailed])
            let refusal = #expect(throws: KafkaError.self) { try session.initTransactions(timeout: minute) }
            #expect(refusal?.code == .transactionalIDAuthorizationFailed)
            #expect(try session.initTransactions(timeout: minute) == ["one/2", "two/2"])
        }
    }

    /// By itself, librdkafka asks a busy coordinator only twice a second.
    @Test func aBusyCoordinatorIsAskedAgainSoon() async throws {
        try await withBroker { broker throws in
            broker.fail(next: .initProducerID, with: Array(repeating: .concurrentTransactions, count: 10))
            let recorder = LogRecorder()
            _ = try broker.readySession(["debug": "eos"], hooks: ClientHooks(logger: recorder.makeLogger(level: .debug)))
            #expect(broker.pendingFailures(of: .initProducerID) == 0)
            #expect(recorder.all.count { $0.contains("fire immediately") } > 8)
        }
    }

    /// The coordinator cannot end a transaction while one of its partitions has no leader.
    @Test func anIDThatCannotBeTakenOverIsLeftForAnotherSet() async throws {
        try await onThread {
            let broker = try EmbeddedBroker.refusing("one/0")
            let session = broker.session(setCount: 2)
            var ids: [String] = []
            repeating(until: { !ids.isEmpty }) {
                broker.refuseID()
                ids = (try? session.initTransactions(timeout: .milliseconds(50))) ?? []
            }
            #expect(ids == ["one/1"])
            try session.transact()
        }
    }

    @Test func aSingleSetIsWaitedFor() async throws {
        try await onThread {
            let broker = try EmbeddedBroker.refusing("one/0")
            let session = broker.session()
            let start = ContinuousClock.now
            while .now - start < .seconds(1.5) {
                broker.refuseID()
                let error = #expect(throws: KafkaError.self) { try session.initTransactions(timeout: .milliseconds(50)) }
                #expect(error?.remedy == .retry)
            }
            #expect(try session.initTransactions(timeout: minute) == ["one/0"])
        }
    }

    /// Ids that were initialized early need no broker any more.
    @Test func aPreparedSetIsReadyAtOnce() async throws {
        try await withBroker { broker throws in
            let recorder = LogRecorder()
            let hooks = ClientHooks(logger: recorder.makeLogger(level: .debug))
            let session = broker.session(["debug": "eos"], names: ["one", "two"], setCount: 2, hooks: hooks)
            session.prepare()
            session.prepare()
            var prepared: Int { recorder.all.count { $0.contains("-> ReadyNotAcked") } }
            repeating(until: { prepared >= 2 }) { session.poll() }
            #expect(prepared == 2)
            #expect(!session.isReady)
            broker.takeDown()
            #expect(try session.initTransactions(timeout: minute) == ["one/0", "two/0"])
            #expect(session.isReady)
        }
    }

    /// Two sets would need twice the connections.
    @Test func aPreparedSetReplacesOneThatWasUsed() async throws {
        try await withBroker { broker throws in
            let session = try broker.readySession(setCount: 2)
            session.prepare()
            #expect(session.isReady)
            try session.transact()
            session.prepare()
            #expect(!session.isReady)
            #expect(try session.initTransactions(timeout: minute) == ["one/1"])
        }
    }

    /// The set could no longer write anything.
    @Test(arguments: [(["two/0"], 1), (["two/1", "another"], 0)])
    func dropsAPreparedSetIfAnIDIsTaken(taken: [String], set: Int) async throws {
        try await withBroker { broker throws in
            let session = broker.session(names: ["one", "two"], setCount: 3)
            session.prepare()
            session.discardPrepared(Set(taken))
            #expect(try session.initTransactions(timeout: minute) == ["one/\(set)", "two/\(set)"])
        }
    }
}

/// A fence on the embedded broker: which ids it asks for, and how long. A real broker shows that it keeps producers out.
@Suite(.concurrencyLimited) struct ProducerFenceTests {
    @Test func eachIDIsAskedForOnce() async throws {
        try await withBroker { broker throws in
            let fence = ProducerFence(configuration: broker.client(), hooks: quietHooks)
            let ids = Set((0..<20).map { "id-\($0)" })
            #expect(try fence.fence([], timeout: .zero).isEmpty)
            broker.takeDown()
            let timeout = #expect(throws: KafkaError.self) { try fence.fence(ids, timeout: .milliseconds(50)) }
            #expect(timeout?.remedy == .retry)
            broker.bringUp()
            #expect(try fence.fence(ids, timeout: minute).isEmpty)
            broker.fail(next: .initProducerID, with: [.transactionalIDAuthorizationFailed])
            #expect(try fence.fence(ids, timeout: .zero).isEmpty)
            let error = #expect(throws: KafkaError.self) { try fence.fence(ids.union(["another"]), timeout: minute) }
            #expect(error?.code == .transactionalIDAuthorizationFailed)
            #expect(try fence.fence(ids.union(["another"]), timeout: minute).isEmpty)
        }
    }

    @Test func anIDThatCannotBeTakenOverHoldsUpNoOther() async throws {
        try await onThread {
            let broker = try EmbeddedBroker.refusing("three")
            let fence = ProducerFence(configuration: broker.client(), hooks: quietHooks)
            #expect(try fence.fence(["one", "two"], timeout: minute).isEmpty)
            var undecided: Set<String> = []
            repeating(until: { !undecided.isEmpty }) {
                broker.refuseID()
                undecided = (try? fence.fence(["one", "two", "three"], timeout: .milliseconds(50))) ?? []
            }
            #expect(undecided == ["three"])
            try repeating(until: { undecided.isEmpty }) { undecided = try fence.fence(["one", "two", "three"], timeout: minute) }
        }
    }
}

extension EmbeddedBroker {
    /// Two brokers, of which the second coordinates only this id.
    fileprivate static func refusing(_ id: String) throws -> EmbeddedBroker {
        let broker = try start(brokerCount: 2)
        for other in ["one", "two", "one/0", "one/1"] { broker.setCoordinator(1, ofTransactionalID: other) }
        broker.setCoordinator(2, ofTransactionalID: id)
        return broker
    }

    /// Keeps the second broker busy with the last transaction of its id, for more requests than a client makes by itself while the
    /// test's thread stands still: two a second.
    fileprivate func refuseID() {
        guard pendingFailures(of: .initProducerID, broker: 2) < 100 else { return }
        fail(next: .initProducerID, with: Array(repeating: .concurrentTransactions, count: 100), broker: 2)
    }
}

/// A transaction of which no broker confirms anything is given up, but a slow broker is not mistaken for a dead one forever.
@Suite struct InactivityTimeoutTests {
    /// What happens at a time, in milliseconds.
    enum Event {
        case began(Int), confirmed(Int), committed(Int)
        /// The transaction goes on or is given up, over intact connections or after one broke.
        case goesOn(Int, broke: Bool = true), isGivenUp(Int, broke: Bool = true)
    }

    private static let doubling = [2_000, 4_000, 8_000, 10_000, 10_000].flatMap { (limit: Int) -> [Event] in
        [.began(0), .goesOn(0), .goesOn(limit - 1), .isGivenUp(limit)]
    }

    private static let breaking = [2_000, 4_000].flatMap { (limit: Int) -> [Event] in
        [.began(0), .goesOn(3_000, broke: false), .goesOn(3_100), .goesOn(3_000 + limit), .isGivenUp(3_100 + limit)]
    }

    static let rules: [(String, [Event])] = [
        ("a confirmation begins it again", [.began(0), .goesOn(1_900), .confirmed(1_900), .goesOn(3_800), .isGivenUp(3_900)]),
        ("each that is given up doubles the next", doubling),
        ("over sound connections it may last longer", [.began(0), .goesOn(9_900, broke: false), .isGivenUp(10_000, broke: false)]),
        ("and doubles nothing", [.began(0), .isGivenUp(10_000, broke: false), .began(0), .goesOn(0), .isGivenUp(2_000)]),
        // During a controlled shutdown, a broker may hold a request until it closes the connection at the end.
        ("it is counted from when a connection broke", breaking),
        ("but never lasts longer than over sound ones", [.began(0), .goesOn(9_900), .isGivenUp(10_000)]),
        (
            "a broker that was slow is waited for again",
            [.began(0), .goesOn(0), .isGivenUp(2_000), .began(0), .committed(3_000), .began(0), .goesOn(0), .goesOn(3_999)]
        ),
        (
            "a commit in time makes it short again",
            [.began(0), .goesOn(0), .isGivenUp(2_000), .began(0), .committed(100), .began(0), .goesOn(0), .isGivenUp(2_000)]
        ),
    ]

    @Test(arguments: rules)
    func aTransactionIsGivenUpInTime(rule: String, events: [Event]) {
        var inactivity = InactivityTimeout(least: .seconds(2), most: .seconds(10))
        let start = ContinuousClock.now
        func at(_ time: Int) -> ContinuousClock.Instant { start + .milliseconds(time) }
        for event in events {
            switch event {
            case .began(let time): inactivity.began(at: at(time))
            case .confirmed(let time): inactivity.confirmed(at: at(time))
            case .committed(let time): inactivity.committed(at: at(time))
            case .goesOn(let time, let broke):
                #expect(throws: Never.self, "\(rule): \(event)") { try inactivity.check(connectionBroke: broke, at: at(time)) }
            case .isGivenUp(let time, let broke):
                let error = #expect(throws: KafkaError.self, "\(rule): \(event)") {
                    try inactivity.check(connectionBroke: broke, at: at(time))
                }
                #expect(error?.remedy == .startOver)
                #expect(error?.code == (broke ? .transport : .timedOut))
                #expect(error?.message.hasPrefix("no broker confirmed anything of the transaction for ") == true)
            }
        }
    }
}

/// A call that does not return can be abandoned.
@Suite struct CallThreadTests {
    @Test func keepsTheCapturesOfAnAbandonedCall() async throws {
        try await onThread {
            let semaphore = { DispatchSemaphore(value: 0) }
            let (begun, gate, freed) = (semaphore(), semaphore(), semaphore())
            do {
                let held = Held(freed: freed)
                let thread = CallThread()
                thread.begin {
                    begun.signal()
                    gate.wait()
                    withExtendedLifetime(held) {}
                }
                // A call that has not begun when its thread is dropped is never made.
                begun.expect("the call begins")
                #expect(thread.outcome(within: .milliseconds(10)) == nil)
                #expect(thread.isBusy)
            }
            #expect(freed.wait(timeout: .now()) == .timedOut, "the call goes on")
            gate.signal()
            #expect(freed.wait(timeout: .now() + 60) == .success)
        }
    }

    /// Most of these threads are dropped before they run.
    @Test func releasesCapturesEvenOfUnmadeCalls() async throws {
        try await onThread {
            let freed = DispatchSemaphore(value: 0)
            for _ in 0..<200 {
                let held = Held(freed: freed)
                CallThread().begin { withExtendedLifetime(held) {} }
            }
            for number in 0..<200 { #expect(freed.wait(timeout: .now() + 60) == .success, "\(number)") }
        }
    }

    /// Signals when it is freed.
    private final class Held: Sendable {
        private let freed: DispatchSemaphore

        init(freed: DispatchSemaphore) { self.freed = freed }

        deinit { freed.signal() }
    }
}

/// A log that is shorter than what was written to it is noticed.
@Suite final class DeliveredOffsetsTests {
    private var offsets = DeliveredOffsets()

    private func add(_ runs: [DeliveredOffsets.Run]) -> TopicPartition? { offsets.add(runs) }
    private func takeLoss(endingAt end: Offset) -> Bool { offsets.takeLoss(of: place, endingAt: end) }

    @Test func recordsOfATransactionMayHaveMarkersBetweenThem() {
        #expect(add([(place, 0...4)]) == nil)
        offsets.begin()
        #expect(offsets.transaction.isEmpty)
        #expect(add([(place, 6...7), (place, 9...9)]) == nil)
        #expect(offsets.transaction == [place: [6..<8, 9..<10]])
        #expect(offsets.last == [place: 9])
        #expect(!takeLoss(endingAt: 10))
    }

    /// Records get lower offsets than earlier ones, or the log ends before what was written.
    @Test(arguments: [(ClosedRange<Offset>?.some(3...5), Offset(6)), (nil, 4)])
    func reportsALossOnce(overwritten: ClosedRange<Offset>?, end: Offset) {
        #expect(add([(place, 0...4), (TopicPartition(topic: "t", partition: 1), 0...9)]) == nil)
        if let overwritten { #expect(add([(place, overwritten)]) == place) }
        #expect(takeLoss(endingAt: end))
        #expect(!takeLoss(endingAt: end))
        #expect(add([(place, end...end)]) == nil)
    }
}
