import BrokerFaults
import Kafka
import TestSupport
import Testing

@testable import JuiceService

/// Transient errors in response to every kind of request that the service makes: the service recovers by itself.
///
/// The embedded broker has limits. It answers metadata requests with errors of topics only, and API version requests in a form
/// that librdkafka mistakes for an old broker's. The error of a produce, fetch or transaction request applies to all its
/// partitions. And it never reports an unstable offset, an expired transaction or a fenced member by itself.
@Suite(.concurrencyLimited) struct InjectedErrorTests {
    static let whileOrdersFlow = [
        Fault(
            "produce, not now", .produce,
            [
                .notLeaderForPartition, .leaderNotAvailable, .requestTimedOut, .notEnoughReplicas,
                .notEnoughReplicasAfterAppend, .storageError, .networkException, .unknownTopicOrPartition,
            ]
        ),
        Fault(
            "produce, not this transaction",
            .produce,
            [
                .outOfOrderSequence, .unknownProducerID, .invalidProducerIDMapping, .messageTooLarge,
                .corruptMessage,
            ]
        ),
        Fault(
            "produce, fenced",
            .produce,
            [.producerFenced, .invalidProducerEpoch, .invalidTransactionState]
        ),
        Fault(
            "add partitions, not now",
            .addPartitionsToTransaction,
            [
                .coordinatorLoadInProgress, .notCoordinator, .coordinatorNotAvailable,
                .concurrentTransactions, .unknownTopicOrPartition,
            ]
        ),
        Fault(
            "add partitions, not this transaction",
            .addPartitionsToTransaction,
            [
                .unknownProducerID, .invalidProducerIDMapping, .requestTimedOut, .producerFenced,
                .invalidProducerEpoch, .invalidTransactionState,
            ]
        ),
        Fault(
            "end transaction, not now",
            .endTransaction,
            [
                .coordinatorLoadInProgress, .notCoordinator, .coordinatorNotAvailable,
                .concurrentTransactions,
            ]
        ),
        Fault(
            "end transaction, not this transaction",
            .endTransaction,
            [
                .unknownProducerID, .invalidProducerIDMapping, .requestTimedOut, .producerFenced,
                .invalidProducerEpoch, .invalidTransactionState,
            ]
        ),
        Fault(
            "fetch",
            .fetch,
            broker: 2,
            [
                .notLeaderForPartition, .leaderNotAvailable, .replicaNotAvailable, .brokerNotAvailable,
                .unknownTopicOrPartition, .storageError, .fencedLeaderEpoch, .unknownLeaderEpoch,
                .offsetNotAvailable, .requestTimedOut,
            ]
        ),
        Fault(
            "heartbeat, not now",
            .heartbeat,
            [.notCoordinator, .coordinatorNotAvailable, .coordinatorLoadInProgress]
        ),
    ]

    /// Each of these makes the service join its group again, which takes seconds.
    private static let thatRejoin =
        ([.rebalanceInProgress, .illegalGeneration, .unknownMemberID] as [KafkaError.Code]).map {
            Fault("heartbeat \($0.name)", .heartbeat, [$0])
        }
        + ([.notCoordinator, .coordinatorLoadInProgress, .groupMaxSizeReached, .unknownMemberID] as [KafkaError.Code]).map {
            Fault("join \($0.name)", .joinGroup, trigger: .rebalanceInProgress, [$0])
        }
        + ([.coordinatorNotAvailable, .rebalanceInProgress, .illegalGeneration, .unknownMemberID] as [KafkaError.Code]).map {
            Fault("sync \($0.name)", .syncGroup, trigger: .rebalanceInProgress, [$0])
        }

    @Test(arguments: whileOrdersFlow + thatRejoin) func itGoesOnWhileOrdersFlow(fault: Fault) async throws {
        let cluster = try await TestCluster.split()
        try await withRunningService(cluster.impatientConfiguration()) { events in
            let broker = try #require(cluster.broker)
            let till = try Till(cluster)
            #expect(try till.isAnswered(till.order(), by: events))
            for code in fault.codes {
                for count in [1, 3] {
                    let name = "\(fault.testDescription): \(code.name) × \(count)"
                    let setbacks = events.setbacks
                    broker.fail(next: fault.request, with: Array(repeating: code, count: count), broker: fault.broker)
                    if let trigger = fault.trigger { broker.fail(next: .heartbeat, with: [trigger]) }
                    // Keep ordering until the service has met all the errors.
                    let deadline = ContinuousClock.now + .seconds(20)
                    while broker.pendingFailures(of: fault.request, broker: fault.broker) > 0, ContinuousClock.now < deadline,
                        !events.hasFailed
                    { _ = try till.isAnswered(till.order(), by: events, within: .milliseconds(300)) }
                    #expect(broker.pendingFailures(of: fault.request, broker: fault.broker) == 0, "\(name)")
                    let isAnswered = try till.isAnswered(till.order(), by: events)
                    #expect(isAnswered, "\(name): \(events.all.suffix(10))")
                    #expect(events.setbacks - setbacks <= 20, "\(name)")
                    guard isAnswered else { return }
                }
            }
        }
    }

    // MARK: - At the start

    static let atTheStart = [
        Fault(
            "init producer id, not now",
            .initProducerID,
            [
                .coordinatorLoadInProgress, .notCoordinator, .coordinatorNotAvailable,
                .concurrentTransactions, .requestTimedOut,
            ]
        ),
        Fault("init producer id, fenced", .initProducerID, [.invalidProducerEpoch, .producerFenced]),
        Fault("find coordinator", .findCoordinator, [.coordinatorNotAvailable, .requestTimedOut]),
        Fault("join", .joinGroup, [.coordinatorLoadInProgress, .unknownMemberID]),
        Fault("sync", .syncGroup, [.notCoordinator, .rebalanceInProgress]),
        Fault(
            "list offsets", .listOffsets,
            [
                .notLeaderForPartition, .leaderNotAvailable, .unknownTopicOrPartition, .offsetNotAvailable,
                .fencedLeaderEpoch, .storageError, .requestTimedOut,
            ]
        ),
        Fault(
            "fetch of the changelog", .fetch,
            [
                .notLeaderForPartition, .leaderNotAvailable, .unknownTopicOrPartition, .offsetNotAvailable,
                .fencedLeaderEpoch, .storageError, .requestTimedOut, .offsetOutOfRange,
            ]
        ),
    ]

    /// Each error occurs three times in a row, one kind after the other.
    @Test(arguments: atTheStart) func itGoesOnAtTheStart(fault: Fault) async throws {
        let cluster = try await TestCluster.single { try $0.leaveSomeStock() }
        let broker = try #require(cluster.broker)
        broker.fail(next: fault.request, with: fault.codes.flatMap { [$0, $0, $0] })
        try await withRunningService(cluster.impatientConfiguration()) { events in
            #expect(wait { events.isRestored || events.hasFailed }, "\(fault.testDescription)")
            #expect(broker.pendingFailures(of: fault.request) == 0, "\(fault.testDescription)")
            let till = try Till(cluster)
            #expect(try till.isAnswered(till.order(), by: events), "\(events.all)")
            #expect(events.setbacks <= 8 * fault.codes.count, "\(events.all)")
        }
    }

    @Test(
        .enabled(if: EmbeddedBroker.mayFailUnknownTopics, "librdkafka 2.3 to 2.8 crash on it"),
        arguments: [KafkaError.Code.leaderNotAvailable, .networkException]
    ) func topicsThatAreNotReadyAreWaitedFor(code: KafkaError.Code) async throws {
        let cluster = try await TestCluster.single { cluster in
            for topic in cluster.topics.all { cluster.broker?.setError(code, ofTopic: topic) }
        }
        let broker = try #require(cluster.broker)
        let recorder = LogRecorder()
        try await withRunningService(cluster.serviceConfiguration(), logger: recorder.makeLogger()) { events in
            #expect(wait { !recorder.all.isEmpty })
            // The broker does.
            #expect(!recorder.all.contains { $0.contains("no Kafka broker answers") }, "\(recorder.all)")
            for topic in cluster.topics.all { broker.setError(nil, ofTopic: topic) }
            #expect(wait { events.isRestored })
        }
    }

    /// A broker that has just started may not know all topics yet. The group then assigns only what the broker knows.
    @Test(arguments: [KafkaError.Code.leaderNotAvailable, .unknownTopicOrPartition])
    func aTopicThatIsAwayForAMomentIsWaitedFor(code: KafkaError.Code) async throws {
        let cluster = try await TestCluster.split()
        let configuration = cluster.impatientConfiguration(["topic.metadata.refresh.interval.ms": "300"])
        let broker = try #require(cluster.broker)
        let recorder = LogRecorder()
        try await withRunningService(configuration, logger: recorder.makeLogger()) { events in
            let till = try Till(cluster)
            #expect(try till.isAnswered(till.order(), by: events))
            broker.setError(code, ofTopic: cluster.topics.orders)
            #expect(wait { events.all.contains { if case .revoked = $0 { true } else { false } } })
            // Until the group has assigned what is left.
            if code == .unknownTopicOrPartition {
                #expect(wait { recorder.all.contains { $0.contains("waiting for another assignment") } })
            }
            broker.setError(nil, ofTopic: cluster.topics.orders)
            #expect(try till.isAnswered(till.order(), by: events), "\(events.all.suffix(5))")
        }
    }
}
