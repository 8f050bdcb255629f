import BrokerFaults
import Kafka
import TestSupport
import Testing

/// The transactional producer on the embedded broker: calls, their order and errors. Atomicity is proved on a real broker.
@Suite(.concurrencyLimited) struct TransactionTests {
    @Test func aTransactionCommitsRecordsAndOffsets() async throws {
        try await onThread {
            let broker = try EmbeddedBroker.start(topics: ["in": 1, "out": 1])
            let member = try broker.member(of: ["in"])

            let producer = try broker.transactionalProducer()
            try producer.initTransactions(timeout: .seconds(60))
            let out = try producer.topic("out")
            try producer.begin()
            try Array("answer".utf8).withUnsafeBytes { value in
                try out.produce(partition: 0, key: nil, value: value, headers: [])
            }
            let membership = try #require(member.membership)
            try producer.sendOffsets(
                [TopicPartition(topic: "in", partition: 0): 1],
                membership: membership,
                timeout: .seconds(60)
            )
            try producer.commit(timeout: .seconds(60))

            let reader = try broker.consumer()
            try reader.assign([TopicPartition(topic: "out", partition: 0): 0])
            var answers: [String] = []
            try poll(reader, until: { !answers.isEmpty }) { element in
                if case .record(let record) = element { answers.append(record.value?.text ?? "") }
            }
            #expect(answers == ["answer"])
            member.close()
        }
    }

    @Test func aTransactionThatIsGivenUpCanBeFollowedByAnother() async throws {
        try await onThread {
            let broker = try EmbeddedBroker.start(topics: ["out": 1])
            let producer = try broker.transactionalProducer()
            let out = try producer.topic("out")
            for isCommit in [false, true] {
                try producer.initTransactions(timeout: .seconds(60))
                try producer.begin()
                try out.produce(partition: 0, key: nil, value: nil, headers: [])
                if isCommit {
                    try producer.commit(timeout: .seconds(60))
                } else {
                    producer.drop()
                    #expect(throws: KafkaError.self) { try producer.commit(timeout: .seconds(60)) }
                }
            }
        }
    }

    /// librdkafka alone asks a busy coordinator only twice a second.
    @Test func aBusyCoordinatorIsAskedAgainSoon() async throws {
        try await onThread {
            let broker = try EmbeddedBroker.start(topics: ["out": 1])
            broker.fail(next: .initProducerID, with: Array(repeating: .concurrentTransactions, count: 10))
            let recorder = LogRecorder()
            let producer = try TransactionalProducer(
                configuration: broker.client(["transactional.id": "transactional", "debug": "eos"]),
                hooks: ClientHooks(logger: recorder.makeLogger(level: .debug))
            )
            try producer.initTransactions(timeout: .seconds(60))
            #expect(broker.pendingFailures(of: .initProducerID) == 0)
            #expect(recorder.all.count { $0.contains("fire immediately") } > 8)
        }
    }

    @Test func callsOutOfOrderAreErrorsNotCrashes() async throws {
        try await onThread {
            let broker = try EmbeddedBroker.start(topics: ["out": 1])
            let producer = try broker.transactionalProducer()
            #expect(throws: KafkaError.self) { try producer.begin() }
            try producer.initTransactions(timeout: .seconds(60))
            #expect(throws: KafkaError.self) { try producer.commit(timeout: .seconds(60)) }
            try producer.begin()
            #expect(throws: KafkaError.self) { try producer.begin() }
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
            let producer = try broker.transactionalProducer()
            try producer.initTransactions(timeout: .seconds(60))
            try producer.begin()
            try producer.topic("out").produce(partition: 0, key: nil, value: nil, headers: [])
            broker.fail(next: .endTransaction, with: [KafkaError.Code(rawValue: code)])
            do {
                try producer.commit(timeout: .seconds(60))
                #expect(remedy == nil)
            } catch let error as KafkaError {
                #expect(error.remedy == remedy, "\(error)")
            }
        }
    }

    @Test func aFailedDeliveryFailsTheTransaction() async throws {
        try await onThread {
            let broker = try EmbeddedBroker.start(topics: ["out": 1])
            let producer = try broker.transactionalProducer()
            try producer.initTransactions(timeout: .seconds(60))
            try producer.begin()
            // A record that is too large is not retried.
            broker.fail(next: .produce, with: [.messageTooLarge])
            try producer.topic("out").produce(partition: 0, key: nil, value: nil, headers: [])
            let error = #expect(throws: KafkaError.self) { try producer.commit(timeout: .seconds(60)) }
            #expect(error?.remedy == .startOver)
            #expect(error?.requiresAbort == true)
            #expect(error?.code.isRefusalOfRecord == true)
        }
    }

    /// If a transaction fails while offsets are being sent, librdkafka only says that it has failed.
    @Test func whatFailedWhileOffsetsAreSentIsTold() async throws {
        try await onThread {
            let broker = try EmbeddedBroker.start(topics: ["in": 1, "out": 1])
            let member = try broker.member(of: ["in"])
            let membership = try #require(member.membership)
            let producer = try broker.transactionalProducer()
            let out = try producer.topic("out")
            for _ in 0..<50 {
                producer.drop()
                try producer.initTransactions(timeout: .seconds(60))
                broker.fail(next: .addPartitionsToTransaction, with: [.topicAuthorizationFailed])
                try producer.begin()
                try out.produce(partition: 0, key: nil, value: nil, headers: [])
                do throws(KafkaError) {
                    try producer.sendOffsets(
                        [TopicPartition(topic: "in", partition: 0): 1],
                        membership: membership,
                        timeout: .seconds(60)
                    )
                } catch {
                    #expect(error.code == .topicAuthorizationFailed, "\(error)")
                }
            }
            member.close()
        }
    }

    /// A response that arrives during destruction may corrupt librdkafka's memory: see ``ClientHandle``.
    @Test func aProducerGoesWithoutRequestsInFlight() async throws {
        try await onThread {
            let broker = try EmbeddedBroker.start(topics: ["out": 1])
            let recorder = LogRecorder()
            var producer: TransactionalProducer? = try TransactionalProducer(
                configuration: broker.client(["transactional.id": "transactional", "linger.ms": "0"]),
                hooks: ClientHooks(logger: recorder.makeLogger(level: .debug))
            )
            try producer?.initTransactions(timeout: .seconds(60))
            // Adds the partition to the transaction, without which nothing is sent.
            try producer?.begin()
            try producer?.topic("out").produce(partition: 0, key: nil, value: nil, headers: [])
            try producer?.flush(timeout: .seconds(60))
            broker.setRoundTrip(.seconds(60))
            try producer?.topic("out").produce(partition: 0, key: nil, value: nil, headers: [])
            #expect(throws: KafkaError.self) { try producer?.flush(timeout: .milliseconds(100)) }
            producer = nil
            #expect(recorder.all.contains { $0.contains("Purged in flight") }, "\(recorder.all)")
        }
    }

    /// A broker thread that sees the destruction before librdkafka's main thread has counted its request ends the process: see
    /// ``ClientHandle``.
    @Test func aProducerGoesWhileItRegistersPartitions() async throws {
        try await onThread {
            let broker = try EmbeddedBroker.start(topics: ["out": 1])
            for round in 0..<200 {
                let producer = try TransactionalProducer(
                    configuration: broker.client(["transactional.id": "id-\(round)", "linger.ms": "0"]),
                    hooks: quietHooks
                )
                let topic = try producer.topic("out")
                try producer.initTransactions(timeout: .seconds(60))
                try producer.begin()
                try topic.produce(partition: 0, key: nil, value: nil, headers: [])
                _ = try? producer.flush(timeout: .zero)
                producer.drop()
            }
        }
    }
}
