import BrokerFaults
import Kafka
import TestSupport
import Testing

@testable import JuiceService

/// Every request that the service makes, answered with the errors that a broker may give: the service goes on by itself
/// or ends with an error that names the cause. It never hangs and never spins.
///
/// What the embedded broker cannot express: it answers requests for metadata with errors of topics only, and those for API
/// versions in a form that librdkafka takes for an old broker; an error of a produce, fetch or transaction request is that of
/// all its partitions; and it never reports an unstable offset, an expired transaction or a fenced member by itself.
@Suite(.concurrencyLimited) struct InjectedErrorTests {
    static let whileOrdersFlow = [
        Fault(
            "produce, not now",
            .produce,
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
            "add offsets, not now",
            .addOffsetsToTransaction,
            [
                .coordinatorLoadInProgress, .notCoordinator, .coordinatorNotAvailable,
                .concurrentTransactions, .requestTimedOut,
            ]
        ),
        Fault(
            "add offsets, not this transaction",
            .addOffsetsToTransaction,
            [
                .unknownProducerID, .invalidProducerIDMapping, .producerFenced, .invalidProducerEpoch,
                .invalidTransactionState,
            ]
        ),
        Fault(
            "offset commit, not now",
            .transactionalOffsetCommit,
            [
                .coordinatorLoadInProgress, .notCoordinator, .coordinatorNotAvailable,
                .concurrentTransactions, .requestTimedOut,
            ]
        ),
        Fault(
            "offset commit, not this transaction",
            .transactionalOffsetCommit,
            [
                .illegalGeneration, .unknownMemberID, .fencedInstanceID, .rebalanceInProgress,
                .unknownProducerID, .invalidProducerIDMapping, .invalidProducerEpoch,
                .invalidTransactionState,
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
                .offsetNotAvailable, .corruptMessage, .requestTimedOut,
            ]
        ),
        Fault(
            "heartbeat, not now",
            .heartbeat,
            [.notCoordinator, .coordinatorNotAvailable, .coordinatorLoadInProgress]
        ),
    ]

    /// Each makes the service join its group anew, which takes seconds.
    private static let thatRejoin =
        ([.rebalanceInProgress, .illegalGeneration, .unknownMemberID] as [KafkaError.Code])
        .map { Fault("heartbeat \($0.name)", .heartbeat, [$0]) }
        + ([.notCoordinator, .coordinatorLoadInProgress, .groupMaxSizeReached, .unknownMemberID]
        as [KafkaError.Code])
        .map { Fault("join \($0.name)", .joinGroup, trigger: .rebalanceInProgress, [$0]) }
        + ([.coordinatorNotAvailable, .rebalanceInProgress, .illegalGeneration, .unknownMemberID]
        as [KafkaError.Code])
        .map { Fault("sync \($0.name)", .syncGroup, trigger: .rebalanceInProgress, [$0]) }

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
                    broker.fail(
                        next: fault.request,
                        with: Array(repeating: code, count: count),
                        broker: fault.broker
                    )
                    if let trigger = fault.trigger { broker.fail(next: .heartbeat, with: [trigger]) }
                    // Orders keep coming until the service has met all the errors.
                    let deadline = ContinuousClock.now + .seconds(20)
                    while broker.pendingFailures(of: fault.request, broker: fault.broker) > 0,
                        ContinuousClock.now < deadline, !events.hasFailed
                    {
                        _ = try till.isAnswered(till.order(), by: events, within: .milliseconds(300))
                    }
                    #expect(broker.pendingFailures(of: fault.request, broker: fault.broker) == 0, "\(name)")
                    let isAnswered = try till.isAnswered(till.order(), by: events)
                    #expect(isAnswered, "\(name): \(events.all.suffix(10))")
                    #expect(events.setbacks - setbacks <= 12, "\(name)")
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
            "offset fetch",
            .offsetFetch,
            [
                .coordinatorLoadInProgress, .notCoordinator, .coordinatorNotAvailable, .unstableOffsetCommit,
                .requestTimedOut,
            ]
        ),
        Fault(
            "list offsets",
            .listOffsets,
            [
                .notLeaderForPartition, .leaderNotAvailable, .unknownTopicOrPartition, .offsetNotAvailable,
                .fencedLeaderEpoch, .storageError, .requestTimedOut,
            ]
        ),
        Fault(
            "fetch of the changelog",
            .fetch,
            [
                .notLeaderForPartition, .leaderNotAvailable, .unknownTopicOrPartition, .offsetNotAvailable,
                .fencedLeaderEpoch, .storageError, .corruptMessage, .requestTimedOut, .offsetOutOfRange,
            ]
        ),
    ]

    /// Each error comes three times in a row, one kind after the other.
    @Test(arguments: atTheStart) func itGoesOnAtTheStart(fault: Fault) async throws {
        let cluster = try await TestCluster.single { try $0.leaveSomeStock() }
        let broker = try #require(cluster.broker)
        broker.fail(next: fault.request, with: fault.codes.flatMap { [$0, $0, $0] })
        try await withRunningService(cluster.impatientConfiguration()) { events in
            #expect(
                wait { events.isRestored || events.hasFailed },
                "\(fault.testDescription)"
            )
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
        try await withRunningService(cluster.serviceConfiguration(), logger: recorder.makeLogger()) {
            events in
            #expect(wait { !recorder.all.isEmpty })
            // The broker does.
            #expect(!recorder.all.contains { $0.contains("no Kafka broker answers") }, "\(recorder.all)")
            for topic in cluster.topics.all { broker.setError(nil, ofTopic: topic) }
            #expect(wait { events.isRestored })
        }
    }

    /// A broker that has just started may not know all topics yet; the group then shares out what it does know.
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
            // Until the group has shared out what is left.
            if code == .unknownTopicOrPartition {
                #expect(wait { recorder.all.contains { $0.contains("waiting for another assignment") } })
            }
            broker.setError(nil, ofTopic: cluster.topics.orders)
            #expect(try till.isAnswered(till.order(), by: events), "\(events.all.suffix(5))")
        }
    }

    // MARK: - The end

    /// What no retry and no new client will change.
    ///
    /// Not here, since librdkafka keeps such errors to itself and the next join or commit meets the same, which the embedded
    /// broker does not do by itself: a right to the group that is denied to a heartbeat or a sync.
    static let final: [(request: EmbeddedBroker.Request, codes: [KafkaError.Code])] = [
        (
            .initProducerID,
            [.transactionalIDAuthorizationFailed, .clusterAuthorizationFailed, .invalidTransactionTimeout]
        ),
        (.findCoordinator, [.transactionalIDAuthorizationFailed, .clusterAuthorizationFailed]),
        (.joinGroup, [.groupAuthorizationFailed, .invalidSessionTimeout, .invalidGroupID]),
        (.offsetFetch, [.groupAuthorizationFailed, .topicAuthorizationFailed]),
        (.listOffsets, [.topicAuthorizationFailed]),
        (.fetch, [.topicAuthorizationFailed]),
        (.produce, [.topicAuthorizationFailed, .clusterAuthorizationFailed]),
        (
            .addPartitionsToTransaction,
            [.topicAuthorizationFailed, .transactionalIDAuthorizationFailed, .clusterAuthorizationFailed]
        ),
        (
            .addOffsetsToTransaction,
            [.groupAuthorizationFailed, .transactionalIDAuthorizationFailed, .unsupportedForMessageFormat]
        ),
        (
            .transactionalOffsetCommit,
            [
                .groupAuthorizationFailed, .topicAuthorizationFailed, .transactionalIDAuthorizationFailed,
                .unsupportedVersion,
            ]
        ),
        (.endTransaction, [.transactionalIDAuthorizationFailed, .clusterAuthorizationFailed]),
    ]

    @Test(arguments: final.flatMap { row in row.codes.map { (row.request, $0) } })
    func itEndsWithAClearErrorWhereNothingHelps(request: EmbeddedBroker.Request, code: KafkaError.Code)
        async throws
    {
        let cluster = try await TestCluster.single { cluster in
            try cluster.leaveSomeStock()
            _ = try cluster.makeProducer().send(
                topic: cluster.topics.orders,
                key: nil,
                value: Array(#"{"orderId":"a","juice":"kiwi"}"#.utf8),
                timeout: .seconds(20)
            )
        }
        cluster.broker?.fail(next: request, with: Array(repeating: code, count: 100))
        let reason = try await reasonToEnd(cluster.impatientConfiguration())
        #expect(reason?.contains(code.name) == true, "\(reason ?? "it did not end")")
    }

    @Test func aGroupWhoseCoordinatorMayNotBeAskedForEndsTheService() async throws {
        let cluster = try await TestCluster.split()
        let broker = try #require(cluster.broker)
        let error = await #expect(throws: ServiceError.self) {
            try await withRunningService(cluster.impatientConfiguration()) { events in
                #expect(wait { events.isRestored })
                // Any broker may be asked for the coordinator.
                for number in [1, 2] as [Int32] {
                    let codes = Array(repeating: KafkaError.Code.groupAuthorizationFailed, count: 100)
                    broker.fail(next: .findCoordinator, with: codes, broker: number)
                }
                broker.fail(next: .heartbeat, with: [.notCoordinator])
                #expect(wait { events.hasFailed })
            }
        }
        #expect(error?.description.contains("GROUP_AUTHORIZATION_FAILED") == true)
    }

    @Test func topicsThatMayNotBeSeenEndTheService() async throws {
        let cluster = try await TestCluster.hiding(\.stock)
        let reason = try await reasonToEnd(cluster.impatientConfiguration())
        #expect(
            reason?.hasPrefix(
                "topic juice.stock: Broker: Topic authorization failed (TOPIC_AUTHORIZATION_FAILED); the service needs"
            ) == true
        )
    }

    /// The right to a topic may be taken away while the service runs.
    @Test func topicsThatMayNoLongerBeSeenEndTheService() async throws {
        let cluster = try await TestCluster.single()
        let configuration = cluster.impatientConfiguration(["topic.metadata.refresh.interval.ms": "500"])
        let error = await #expect(throws: ServiceError.self) {
            try await withRunningService(configuration) { events in
                #expect(wait { events.isRestored })
                cluster.broker?.setError(.topicAuthorizationFailed, ofTopic: cluster.topics.orders)
                #expect(wait { events.hasFailed })
            }
        }
        #expect(
            error?.description.contains("TOPIC_AUTHORIZATION_FAILED") == true,
            "\(error?.description ?? "")"
        )
    }

    /// Another process with the same instance id, as a heartbeat tells it. Once may be an earlier self.
    @Test func aRivalEndsTheService() async throws {
        let cluster = try await TestCluster.single()
        cluster.broker?.fail(next: .heartbeat, with: [.fencedInstanceID, .fencedInstanceID])
        // A session that times out on a busy machine would leave a former self.
        let configuration = cluster.impatientConfiguration(["session.timeout.ms": "10000"])
        let reason = try await reasonToEnd(configuration)
        #expect(reason?.contains("--instance-id") == true, "\(reason ?? "it did not end")")
    }

    /// A coordinator that is gone for longer than a session leaves a former self behind, each time.
    @Test func anEarlierSelfIsOutlastedAsOftenAsItComes() async throws {
        let cluster = try await TestCluster.single()
        let recorder = LogRecorder()
        var logger = recorder.makeLogger()
        logger.logLevel = .info
        try await withRunningService(cluster.impatientConfiguration(), logger: logger) { events in
            let broker = try #require(cluster.broker)
            let till = try Till(cluster)
            for outages in 1...2 {
                #expect(try till.isAnswered(till.order(), by: events))
                broker.setUp(false)
                #expect(
                    wait { recorder.all.count { $0.contains("session timed out (in") } == outages },
                    "\(outages): \(recorder.all.suffix(10))"
                )
                broker.fail(next: .heartbeat, with: [.fencedInstanceID])
                broker.setUp(true)
                #expect(wait { broker.pendingFailures(of: .heartbeat) == 0 })
            }
            #expect(try till.isAnswered(till.order(), by: events))
        }
    }

    @Test func anEarlierSelfIsOutlasted() async throws {
        let cluster = try await TestCluster.split()
        try await withRunningService(cluster.impatientConfiguration()) { events in
            let broker = try #require(cluster.broker)
            let till = try Till(cluster)
            #expect(try till.isAnswered(till.order(), by: events))
            broker.fail(next: .heartbeat, with: [.fencedInstanceID])
            #expect(wait { broker.pendingFailures(of: .heartbeat) == 0 })
            #expect(try till.isAnswered(till.order(), by: events))
        }
    }

    /// What the client says of an offset is verified with the broker before a partition is stopped.
    @Test func anOffsetThatIsNotOutOfRangeIsReadOnFrom() async throws {
        let cluster = try await TestCluster.split()
        let recorder = LogRecorder()
        try await withRunningService(cluster.impatientConfiguration(), logger: recorder.makeLogger()) {
            events in
            let till = try Till(cluster)
            #expect(try till.isAnswered(till.order(), by: events))
            cluster.broker?.fail(next: .fetch, with: [.offsetOutOfRange], broker: 2)
            #expect(wait { recorder.all.contains { $0.hasPrefix("warning starting over") } })
            #expect(try till.isAnswered(till.order(), by: events))
            #expect(!recorder.all.contains { $0.hasPrefix("critical") })
        }
    }

    // MARK: - For good

    /// Errors that would pass but do not.
    static let lasting = [
        Fault("produce", .produce, [.notLeaderForPartition]),
        Fault("produce", .produce, [.outOfOrderSequence]),
        Fault("add partitions", .addPartitionsToTransaction, [.concurrentTransactions]),
        Fault("add partitions", .addPartitionsToTransaction, [.producerFenced]),
        Fault("add offsets", .addOffsetsToTransaction, [.coordinatorLoadInProgress]),
        Fault("offset commit", .transactionalOffsetCommit, [.unknownMemberID]),
        Fault("end transaction", .endTransaction, [.concurrentTransactions]),
        Fault("end transaction", .endTransaction, [.invalidTransactionState]),
        Fault("fetch", .fetch, broker: 2, [.unknownTopicOrPartition]),
        Fault("heartbeat", .heartbeat, [.illegalGeneration]),
        Fault("join", .joinGroup, trigger: .rebalanceInProgress, [.unknownMemberID]),
        Fault("sync", .syncGroup, trigger: .rebalanceInProgress, [.illegalGeneration]),
        Fault("init producer id", .initProducerID, trigger: nil, [.coordinatorLoadInProgress]),
        Fault("offset fetch", .offsetFetch, trigger: .rebalanceInProgress, [.unstableOffsetCommit]),
        Fault("list offsets", .listOffsets, trigger: .rebalanceInProgress, [.notLeaderForPartition]),
    ]

    /// It tries again and again, but not in a loop that burns CPU and floods broker and log.
    @Test(arguments: lasting) func itDoesNotSpin(fault: Fault) async throws {
        let cluster = try await TestCluster.split()
        let recorder = LogRecorder()
        try await withRunningService(cluster.impatientConfiguration(), logger: recorder.makeLogger()) {
            events in
            let broker = try #require(cluster.broker)
            let till = try Till(cluster)
            #expect(try till.isAnswered(till.order(), by: events))
            // New producers are made after one is fenced.
            if fault.request == .initProducerID {
                broker.fail(next: .endTransaction, with: [.producerFenced])
            }
            let many = 5000
            broker.fail(
                next: fault.request,
                with: Array(repeating: fault.codes[0], count: many),
                broker: fault.broker
            )
            if let trigger = fault.trigger { broker.fail(next: .heartbeat, with: [trigger]) }
            _ = try till.order()
            let before = events.setbacks
            let lines = recorder.all.count
            wait(upTo: .seconds(5)) { events.hasFailed }
            #expect(!events.hasFailed, "\(fault.testDescription)")
            let requests = many - broker.pendingFailures(of: fault.request, broker: fault.broker)
            #expect(
                (1...fault.mostRequests).contains(requests),
                "\(fault.testDescription): \(requests) requests"
            )
            #expect(
                events.setbacks - before <= 30,
                "\(fault.testDescription): \(events.setbacks - before) setbacks"
            )
            #expect(recorder.all.count - lines <= 5, "\(fault.testDescription): \(recorder.all)")
        }
    }
}

extension Fault {
    /// In five seconds. librdkafka itself tries again every 20 ms while a former transaction is being written.
    fileprivate var mostRequests: Int { codes == [.concurrentTransactions] ? 350 : 110 }
}
