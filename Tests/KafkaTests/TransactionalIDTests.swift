import BrokerFaults
import Kafka
import Synchronization
import TestSupport
import Testing

/// Sets of transactional ids: taken over all together, used in turn, and left after a failure.
@Suite(.concurrencyLimited) struct TransactionalIDTests {
    @Test func setsAreUsedInTurn() async throws {
        try await onThread {
            let broker = try EmbeddedBroker.start(topics: ["out": 1])
            let session = broker.session(names: ["one", "two"], setCount: 3)
            for set in [0, 1, 2, 0, 1] {
                let ids = try session.initTransactions(timeout: .seconds(60))
                #expect(ids == ["one/\(set)", "two/\(set)"])
                try session.transact()
            }
        }
    }

    /// The sets that a former process left behind are unknown.
    @Test func aSessionBeginsWithAnySet() throws {
        let broker = try EmbeddedBroker.start()
        let first = try (0..<12).map { _ in
            let session = TransactionSession(
                ids: { ["\($0)"] }, setCount: 1_000_000, topics: [], client: { _ in (broker.client(), quietHooks) })
            return try session.initTransactions(timeout: .seconds(60))[0]
        }
        #expect(Set(first).count > 1)
    }

    /// A producer that failed is never used again: a late request could count in its next transaction.
    @Test func afterAFailureNothingIsProducedUntilTheNextSet() async throws {
        try await onThread {
            let broker = try EmbeddedBroker.start(topics: ["out": 1])
            let session = broker.session(names: ["one", "two"], setCount: 2)
            try session.initTransactions(timeout: .seconds(60))
            try session.begin()
            broker.fail(next: .produce, with: [.messageTooLarge])
            try session.produce()
            #expect(throws: KafkaError.self) { try session.commit(timeout: .seconds(60)) }
            #expect(!session.isReady)
            #expect(throws: KafkaError.self) { try session.begin() }
            #expect(throws: KafkaError.self) { try session.produce() }
            #expect(try session.initTransactions(timeout: .seconds(60)) == ["one/1", "two/1"])
            try session.transact()
        }
    }

    @Test func aSetThatIsNotReadyInTimeIsWaitedForAgain() async throws {
        try await onThread {
            let broker = try EmbeddedBroker.start(topics: ["out": 1])
            let session = broker.session(names: ["one", "two"], setCount: 3)
            broker.takeDown()
            let error = #expect(throws: KafkaError.self) { try session.initTransactions(timeout: .milliseconds(50)) }
            #expect(error?.remedy == .retry)
            #expect(!session.isReady)
            broker.bringUp()
            #expect(try session.initTransactions(timeout: .seconds(60)) == ["one/0", "two/0"])
        }
    }

    @Test func aRefusedSetIsFollowedByTheNext() async throws {
        try await onThread {
            let broker = try EmbeddedBroker.start(topics: ["out": 1])
            let session = broker.session(setCount: 3)
            broker.fail(next: .initProducerID, with: [.transactionalIDAuthorizationFailed])
            let error = #expect(throws: KafkaError.self) { try session.initTransactions(timeout: .seconds(60)) }
            #expect(error?.code == .transactionalIDAuthorizationFailed)
            #expect(try session.initTransactions(timeout: .seconds(60)) == ["one/1"])
        }
    }

    /// librdkafka alone asks a busy coordinator only twice a second.
    @Test func aBusyCoordinatorIsAskedAgainSoon() async throws {
        try await onThread {
            let broker = try EmbeddedBroker.start(topics: ["out": 1])
            broker.fail(next: .initProducerID, with: Array(repeating: .concurrentTransactions, count: 10))
            let recorder = LogRecorder()
            let session = broker.session(["debug": "eos"], hooks: ClientHooks(logger: recorder.makeLogger(level: .debug)))
            try session.initTransactions(timeout: .seconds(60))
            #expect(broker.pendingFailures(of: .initProducerID) == 0)
            #expect(recorder.all.count { $0.contains("fire immediately") } > 8)
        }
    }

    /// The coordinator cannot end a transaction while one of its partitions has no leader.
    @Test func anIDThatCannotBeTakenOverIsLeftForAnotherSet() async throws {
        try await onThread {
            let broker = try EmbeddedBroker.refusing("one/0")
            let session = broker.session(setCount: 2)
            let deadline = ContinuousClock.now + .seconds(60)
            var ids: [String] = []
            while ids.isEmpty, .now < deadline {
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
            #expect(try session.initTransactions(timeout: .seconds(60)) == ["one/0"])
        }
    }

    /// What was asked for early needs no broker any more.
    @Test func aPreparedSetIsReadyAtOnce() async throws {
        try await onThread {
            let broker = try EmbeddedBroker.start(topics: ["out": 1])
            let recorder = LogRecorder()
            let session = broker.session(
                ["debug": "eos"], names: ["one", "two"], setCount: 2, hooks: ClientHooks(logger: recorder.makeLogger(level: .debug))
            )
            session.prepare()
            session.prepare()
            let deadline = ContinuousClock.now + .seconds(60)
            func prepared() -> Int { recorder.all.count { $0.contains("-> ReadyNotAcked") } }
            while prepared() < 2, .now < deadline { session.poll() }
            #expect(prepared() == 2)
            #expect(!session.isReady)
            broker.takeDown()
            #expect(try session.initTransactions(timeout: .seconds(1)) == ["one/0", "two/0"])
            #expect(session.isReady)
        }
    }

    /// It could write nothing any more.
    @Test(arguments: [(["two/0"], 1), (["two/1", "another"], 0)])
    func aPreparedSetIsDroppedIfSomebodyElseHasOneOfItsIDs(taken: [String], set: Int) async throws {
        try await onThread {
            let broker = try EmbeddedBroker.start(topics: ["out": 1])
            let session = broker.session(names: ["one", "two"], setCount: 3)
            session.prepare()
            session.discardPrepared(Set(taken))
            #expect(try session.initTransactions(timeout: .seconds(60)) == ["one/\(set)", "two/\(set)"])
        }
    }

    /// A client whose events nobody takes grows without limit.
    @Test func aPreparedSetIsPolled() async throws {
        try await onThread {
            let broker = try EmbeddedBroker.start()
            let count = Mutex(0)
            var hooks = quietHooks
            hooks.onStatistics = { _ in count.withLock { $0 += 1 } }
            let session = broker.session(["statistics.interval.ms": "10"], hooks: hooks)
            session.prepare()
            let deadline = ContinuousClock.now + .seconds(60)
            while count.withLock({ $0 == 0 }), .now < deadline { session.poll() }
            #expect(count.withLock(\.self) > 0)
        }
    }
}

/// A fence on the embedded broker: which ids it asks for, and how long. That it keeps out is shown on a real broker.
@Suite(.concurrencyLimited) struct ProducerFenceTests {
    @Test func eachIDIsAskedForOnce() async throws {
        try await onThread {
            let broker = try EmbeddedBroker.start()
            let fence = ProducerFence(configuration: broker.client(), hooks: quietHooks)
            let ids = Set((0..<60).map { "id-\($0)" })
            #expect(try fence.fence([], timeout: .zero).isEmpty)
            #expect(try fence.fence(ids, timeout: .seconds(60)).isEmpty)
            broker.fail(next: .initProducerID, with: [.transactionalIDAuthorizationFailed])
            #expect(try fence.fence(ids, timeout: .zero).isEmpty)
            let error = #expect(throws: KafkaError.self) { try fence.fence(ids.union(["another"]), timeout: .seconds(60)) }
            #expect(error?.code == .transactionalIDAuthorizationFailed)
            #expect(try fence.fence(ids.union(["another"]), timeout: .seconds(60)).isEmpty)
        }
    }

    @Test func aFenceThatIsNotReadyInTimeIsWaitedForAgain() async throws {
        try await onThread {
            let broker = try EmbeddedBroker.start()
            broker.takeDown()
            let fence = ProducerFence(configuration: broker.client(), hooks: quietHooks)
            let error = #expect(throws: KafkaError.self) { try fence.fence(["one", "two"], timeout: .milliseconds(50)) }
            #expect(error?.remedy == .retry)
            broker.bringUp()
            #expect(try fence.fence(["one", "two"], timeout: .seconds(60)).isEmpty)
        }
    }

    @Test func anIDThatCannotBeTakenOverHoldsUpNoOther() async throws {
        try await onThread {
            let broker = try EmbeddedBroker.refusing("three")
            let fence = ProducerFence(configuration: broker.client(), hooks: quietHooks, decisionTimeout: .milliseconds(300))
            #expect(try fence.fence(["one", "two"], timeout: .seconds(60)).isEmpty)
            let deadline = ContinuousClock.now + .seconds(60)
            var undecided: Set<String> = []
            while undecided.isEmpty, .now < deadline {
                broker.refuseID()
                undecided = (try? fence.fence(["one", "two", "three"], timeout: .milliseconds(50))) ?? []
            }
            #expect(undecided == ["three"])
            while !undecided.isEmpty, .now < deadline {
                undecided = try fence.fence(["one", "two", "three"], timeout: .seconds(60))
            }
            #expect(undecided.isEmpty)
        }
    }
}

extension EmbeddedBroker {
    /// Two brokers, of which the second coordinates this id alone.
    fileprivate static func refusing(_ id: String) throws -> EmbeddedBroker {
        let broker = try EmbeddedBroker(brokerCount: 2, logger: quietHooks.logger)
        try broker.createTopic("out", partitionCount: 1)
        for other in ["one", "two", "one/0", "one/1"] { broker.setCoordinator(1, ofTransactionalID: other) }
        broker.setCoordinator(2, ofTransactionalID: id)
        return broker
    }

    /// Lets the second broker be busy with the last transaction of its id, for more requests than a client makes in 50 ms.
    fileprivate func refuseID() {
        guard pendingFailures(of: .initProducerID, broker: 2) < 10 else { return }
        fail(next: .initProducerID, with: Array(repeating: .concurrentTransactions, count: 10), broker: 2)
    }
}
