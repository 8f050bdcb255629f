import BrokerFaults
import TestSupport
import Testing

@testable import Kafka

/// Producers used in turn, while coordinators change.
@Suite(.concurrencyLimited) struct TransactionSessionTests {
    @Test(arguments: [
        ("one slow transaction is disturbed", [50, 60, 700, 50], [false, false, true, false]),
        ("the first may be, too", [700, 50], [true, false]),
        ("a cluster may always be slow", [1_200, 1_000, 1_900, 1_500], [true, false, false, false]),
        ("even there one stands out", [1_000, 1_100, 2_300], [true, false, true]),
        ("a little is nothing", [10, 100, 400, 30], [false, false, false, false]),
    ])
    func aTransactionThatWaitedForABrokerStandsOut(story: String, milliseconds: [Int], disturbed: [Bool]) {
        var pace = TransactionPace()
        #expect(milliseconds.map { pace.isDisturbed(after: .milliseconds($0)) } == disturbed, "\(story)")
    }

    /// The other producer does not know yet what this one had to find out.
    @Test func afterADisturbedTransactionTheOthersAskTheClusterAnew() async throws {
        try await onThread {
            let broker = try EmbeddedBroker.start(topics: ["out": 1])
            let producers = try ["one", "two"].map {
                try TransactionalProducer(
                    configuration: broker.client(["transactional.id": $0, "linger.ms": "0"]),
                    hooks: quietHooks
                )
            }
            let session = try TransactionSession(producers, topics: [("out", [:])])
            try session.initTransactions(timeout: .seconds(60))
            func transact() throws {
                try session.begin(timeout: .seconds(60))
                try session.produce(to: 0, partition: 0, key: nil, value: nil, headers: [])
                try session.commit(timeout: .seconds(60))
            }
            // So slow that the other producer cannot be ready again before the commit returns.
            broker.setRoundTrip(.milliseconds(500))
            try transact()
            #expect(producers.filter(\.isReady).count == 1)
            broker.setRoundTrip(.zero)
            for _ in 0..<3 { try transact() }
            for producer in producers { try producer.initTransactions(timeout: .seconds(60)) }
            #expect(session.isReady)
        }
    }

    /// librdkafka asks every half second, so ten refusals would take it five.
    @Test func aBusyCoordinatorIsAskedAgainSoon() async throws {
        try await onThread {
            let broker = try EmbeddedBroker.start(topics: ["out": 1])
            let producer = try TransactionalProducer(
                configuration: broker.client(["transactional.id": "one"]),
                hooks: quietHooks
            )
            let isLoading = KafkaError.Code(rawValue: 14)
            broker.fail(next: .initProducerID, with: Array(repeating: isLoading, count: 10))
            try producer.initTransactions(timeout: .seconds(4))
            #expect(producer.isReady)
            #expect(broker.pendingFailures(of: .initProducerID) == 0)
        }
    }
}
