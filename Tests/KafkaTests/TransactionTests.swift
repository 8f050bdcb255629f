import BrokerFaults
import Foundation
import Kafka
import TestSupport
import Testing

/// Transactions on the embedded broker: calls, their order and errors. Atomicity is proved on a real broker.
@Suite(.concurrencyLimited) struct TransactionTests {
    @Test func transactionsBecomeVisibleOneAfterTheOther() async throws {
        try await onThread {
            let broker = try EmbeddedBroker.start(topics: ["out": 1])
            let session = broker.session(names: ["one", "two", "three"])
            #expect(!session.isReady)
            #expect(try session.initTransactions(timeout: .seconds(60)) == ["one/0", "two/0", "three/0"])
            #expect(session.isReady)
            let values = (0..<10).map { "\($0)" }
            for value in values { try session.transact(value) }

            let reader = try broker.consumer()
            try reader.assign([TopicPartition(topic: "out", partition: 0): 0])
            var read: [String] = []
            try poll(reader, until: { read.count == values.count }) { element in
                if case .record(let record) = element { read.append(record.value?.text ?? "") }
            }
            #expect(read == values)
        }
    }

    @Test func aTransactionThatIsGivenUpCanBeFollowedByAnother() async throws {
        try await onThread {
            let broker = try EmbeddedBroker.start(topics: ["out": 1])
            let session = broker.session()
            try session.initTransactions(timeout: .seconds(60))
            try session.begin()
            try session.produce()
            session.drop()
            #expect(!session.isReady)
            #expect(throws: KafkaError.self) { try session.commit(timeout: .seconds(60)) }
            try session.initTransactions(timeout: .seconds(60))
            try session.transact()
        }
    }

    /// Otherwise two transactions could be open at the same time, and commit in any order.
    @Test func callsOutOfOrderAreErrorsNotCrashes() async throws {
        try await onThread {
            let broker = try EmbeddedBroker.start(topics: ["out": 1])
            let session = broker.session(names: ["one", "two"])
            #expect(throws: KafkaError.self) { try session.begin() }
            try session.initTransactions(timeout: .seconds(60))
            #expect(throws: KafkaError.self) { try session.commit(timeout: .seconds(60)) }
            #expect(throws: KafkaError.self) { try session.produce() }
            try session.transact()
            try session.begin()
            #expect(throws: KafkaError.self) { try session.begin() }
            #expect(!session.isReady)
        }
    }

    @Test(arguments: [
        // Error codes of the Kafka protocol, and how librdkafka 2.0.2 treats them while it ends a transaction.
        (Int32(51), KafkaError.Remedy?.none),  // CONCURRENT_TRANSACTIONS: retried inside librdkafka
        (Int32(14), nil),  // COORDINATOR_LOAD_IN_PROGRESS: likewise
        (Int32(47), .startOver),  // INVALID_PRODUCER_EPOCH: fenced
        (Int32(53), .startOver),  // TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    ])
    func errorsAtTheEndOfATransactionHaveARemedy(code: Int32, remedy: KafkaError.Remedy?) async throws {
        try await onThread {
            let broker = try EmbeddedBroker.start(topics: ["out": 1])
            let session = broker.session()
            try session.initTransactions(timeout: .seconds(60))
            try session.begin()
            try session.produce()
            broker.fail(next: .endTransaction, with: [KafkaError.Code(rawValue: code)])
            do throws(KafkaError) {
                try session.commit(timeout: .seconds(60))
                #expect(remedy == nil)
            } catch { #expect(error.remedy == remedy, "\(error)") }
            #expect(session.isReady == (remedy == nil))
        }
    }

    /// What is produced after a flush must never be written without what was produced before. librdkafka says that a flush
    /// succeeded if nothing is left to send.
    @Test(arguments: [
        // A record that is too large is not retried.
        (EmbeddedBroker.Request.produce, KafkaError.Code.messageTooLarge),
        (.addPartitionsToTransaction, .topicAuthorizationFailed),
    ])
    func aFlushTellsOfARecordThatWasNotWritten(
        request: EmbeddedBroker.Request,
        code: KafkaError.Code
    ) async throws {
        try await onThread {
            let broker = try EmbeddedBroker.start(topics: ["out": 1])
            for isCommit in [false, true] {
                let session = broker.session()
                try session.initTransactions(timeout: .seconds(60))
                try session.begin()
                broker.fail(next: request, with: [code])
                try session.produce()
                let error = #expect(throws: KafkaError.self) {
                    if isCommit { try session.commit(timeout: .seconds(60)) } else { try session.flush(timeout: .seconds(60)) }
                }
                #expect(error?.remedy == .startOver)
                #expect(error?.requiresAbort == true)
                #expect(error?.code == code)
                #expect(throws: KafkaError.self) { try session.produce() }
            }
        }
    }

    @Test func aFlushTellsOfARecordThatTookTooLong() async throws {
        try await onThread {
            let broker = try EmbeddedBroker.start(topics: ["out": 1])
            let session = broker.session(["transaction.timeout.ms": "1500", "socket.timeout.ms": "1000"])
            try session.initTransactions(timeout: .seconds(60))
            try session.begin()
            try session.produce()
            try session.flush(timeout: .seconds(60))
            broker.setRoundTrip(.seconds(60))
            try session.produce()
            let error = #expect(throws: KafkaError.self) { try session.flush(timeout: .seconds(60)) }
            #expect(error?.remedy == .startOver)
            #expect(error?.requiresAbort == true)
        }
    }

    /// librdkafka can resume a commit, but mistakes the outcome of one attempt for that of the next and ends the process.
    @Test func aCommitIsWaitedForInPieces() async throws {
        try await onThread {
            let broker = try EmbeddedBroker.start(topics: ["out": 1])
            let session = broker.session(names: ["one", "two"])
            try session.initTransactions(timeout: .seconds(60))
            broker.setRoundTrip(.milliseconds(5))
            for _ in 0..<100 {
                try session.begin()
                try session.produce()
                try retrying(while: { true }) { () throws(KafkaError) in try session.commit(timeout: .milliseconds(1)) }
            }
        }
    }

    /// A request that was on its way when a connection broke is sent again.
    @Test func aLostConnectionIsTold() async throws {
        try await onThread {
            let broker = try EmbeddedBroker.start(topics: ["out": 1])
            let session = broker.session()
            try session.initTransactions(timeout: .seconds(60))
            try session.transact()
            #expect(!session.hasLostConnection)
            broker.fail(next: .endTransaction, with: [.transport])
            try session.transact()
            #expect(session.hasLostConnection)
            try session.initTransactions(timeout: .seconds(60))
            #expect(!session.hasLostConnection)
        }
    }

    /// A response that arrives during destruction may corrupt librdkafka's memory: see ``ClientHandle``.
    @Test func aProducerGoesWithoutRequestsInFlight() async throws {
        try await onThread {
            let broker = try EmbeddedBroker.start(topics: ["out": 1])
            let recorder = LogRecorder()
            let session = broker.session(hooks: ClientHooks(logger: recorder.makeLogger(level: .debug)))
            try session.initTransactions(timeout: .seconds(60))
            // Adds the partition to the transaction, without which nothing is sent.
            try session.begin()
            try session.produce()
            try session.flush(timeout: .seconds(60))
            broker.setRoundTrip(.seconds(60))
            try session.produce()
            #expect(throws: KafkaError.self) { try session.flush(timeout: .milliseconds(100)) }
            session.drop()
            let deadline = ContinuousClock.now + .seconds(60)
            var isPurged: Bool { recorder.all.contains { $0.contains("Purged in flight") } }
            while !isPurged, .now < deadline { Thread.sleep(forTimeInterval: 0.01) }
            #expect(isPurged, "\(recorder.all)")
        }
    }

    /// A broker thread that sees the destruction before librdkafka's main thread has counted its request ends the process: see
    /// ``ClientHandle``.
    @Test func aProducerGoesWhileItRegistersPartitions() async throws {
        try await onThread {
            let broker = try EmbeddedBroker.start(topics: ["out": 1])
            let session = broker.session(setCount: 200)
            for _ in 0..<200 {
                try session.initTransactions(timeout: .seconds(60))
                try session.begin()
                try session.produce()
                _ = try? session.flush(timeout: .zero)
            }
        }
    }
}
