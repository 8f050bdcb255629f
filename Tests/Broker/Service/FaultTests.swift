import FaultyNetwork
import JuiceEngine
import JuiceMessages
import Kafka
import TestSupport
import Testing

@testable import JuiceService

/// Errors with which a broker answers requests of one kind, one after the other.
struct Fault: CustomTestStringConvertible {
    typealias Trigger = (request: EmbeddedBroker.Request, code: KafkaError.Code)

    let testDescription: String
    let request: EmbeddedBroker.Request
    let broker: Int32
    /// The error that makes the service send the request.
    let trigger: Trigger?
    let codes: [KafkaError.Code]
    /// A transient error that is repeated for as long as the test lasts.
    let lasting: KafkaError.Code?
    /// How often in a row each error occurs.
    let counts: [Int]

    init(
        _ name: String, _ request: EmbeddedBroker.Request, broker: Int32 = 1, after trigger: Trigger? = nil,
        _ codes: [KafkaError.Code], lasting: KafkaError.Code? = nil, counts: [Int] = [1, 3]
    ) {
        (testDescription, self.request, self.broker) = (name, request, broker)
        (self.trigger, self.codes, self.lasting, self.counts) = (trigger, codes, lasting, counts)
    }
}

/// Errors in response to every kind of request that the service makes. It recovers from transient ones by itself, and ends with
/// a clear message on any other.
///
/// The embedded broker has limits. It answers metadata requests with errors of topics only, and API version requests in a form
/// that librdkafka mistakes for an old broker's. The error of a produce, fetch or transaction request applies to all its
/// partitions. And it never reports an unstable offset, an expired transaction or a fenced member by itself.
@Suite(.concurrencyLimited) struct FaultTests {
    // MARK: - Transient errors

    /// Rejoining takes seconds, so these errors occur only twice.
    private static let rejoining: Fault.Trigger = (.heartbeat, .rebalanceInProgress)

    private static let transient = [
        Fault(
            "join", .joinGroup, after: rejoining,
            [.notCoordinator, .coordinatorLoadInProgress, .groupMaxSizeReached, .unknownMemberID], lasting: .unknownMemberID,
            counts: [2]),
        Fault(
            "sync", .syncGroup, after: rejoining,
            [.coordinatorNotAvailable, .rebalanceInProgress, .illegalGeneration, .unknownMemberID], lasting: .illegalGeneration,
            counts: [2]),
        Fault(
            "produce, not now", .produce,
            [
                .notLeaderForPartition, .leaderNotAvailable, .requestTimedOut, .notEnoughReplicas, .notEnoughReplicasAfterAppend,
                .storageError, .networkException, .unknownTopicOrPartition,
            ], lasting: .notLeaderForPartition),
        Fault(
            "produce, not this transaction", .produce,
            [.outOfOrderSequence, .unknownProducerID, .invalidProducerIDMapping, .messageTooLarge, .corruptMessage],
            lasting: .outOfOrderSequence),
        Fault("produce, fenced", .produce, [.producerFenced, .invalidProducerEpoch, .invalidTransactionState]),
        Fault(
            "add partitions, not now", .addPartitionsToTransaction,
            [
                .coordinatorLoadInProgress, .notCoordinator, .coordinatorNotAvailable, .concurrentTransactions,
                .unknownTopicOrPartition,
            ], lasting: .concurrentTransactions),
        Fault(
            "add partitions, not this transaction", .addPartitionsToTransaction, notThisTransaction, lasting: .producerFenced),
        Fault(
            "end transaction, not now", .endTransaction,
            [.coordinatorLoadInProgress, .notCoordinator, .coordinatorNotAvailable, .concurrentTransactions],
            lasting: .concurrentTransactions),
        Fault("end transaction, not this transaction", .endTransaction, notThisTransaction, lasting: .invalidTransactionState),
        Fault(
            "fetch", .fetch, broker: 2,
            [
                .notLeaderForPartition, .leaderNotAvailable, .replicaNotAvailable, .brokerNotAvailable, .unknownTopicOrPartition,
                .storageError, .fencedLeaderEpoch, .unknownLeaderEpoch, .offsetNotAvailable, .requestTimedOut,
            ], lasting: .unknownTopicOrPartition),
        Fault("heartbeat, not now", .heartbeat, [.notCoordinator, .coordinatorNotAvailable, .coordinatorLoadInProgress]),
        Fault(
            "heartbeat, no member", .heartbeat, [.rebalanceInProgress, .illegalGeneration, .unknownMemberID],
            lasting: .illegalGeneration, counts: [2]),
        Fault("heartbeat, fenced", .heartbeat, [.fencedInstanceID], counts: [1]),
        Fault(
            "producer id", .initProducerID, after: (.endTransaction, .producerFenced), [], lasting: .coordinatorLoadInProgress),
        Fault("list offsets", .listOffsets, after: rejoining, [], lasting: .notLeaderForPartition),
    ]

    private static let notThisTransaction: [KafkaError.Code] = [
        .unknownProducerID, .invalidProducerIDMapping, .requestTimedOut, .producerFenced, .invalidProducerEpoch,
        .invalidTransactionState,
    ]

    /// An error that lasts is retried, but not in a loop that burns CPU and floods the broker and the log.
    @Test(arguments: transient) func itGoesOnWhileOrdersFlow(fault: Fault) async throws {
        let cluster = try await TestCluster.split()
        let recorder = LogRecorder()
        try await withRunningService(cluster.impatientConfiguration(), logger: recorder.makeLogger()) { events in
            let broker = cluster.broker
            func inject(_ code: KafkaError.Code, count: Int) {
                broker.fail(next: fault.request, with: Array(repeating: code, count: count), broker: fault.broker)
                if let (request, code) = fault.trigger { broker.fail(next: request, with: [code]) }
            }
            var pending: Int { broker.pendingFailures(of: fault.request, broker: fault.broker) }
            let till = try Till(cluster)
            #expect(try till.isAnswered(till.order(), by: events), "\(events.all.suffix(10)), \(recorder.all.suffix(20))")
            for (code, count) in fault.codes.flatMap({ code in fault.counts.map { (code, $0) } }) {
                let name = "\(code.name) × \(count)"
                let (setbacks, start) = (events.setbacks, ContinuousClock.now)
                inject(code, count: count)
                // Keep ordering until the service has met all the errors.
                let deadline = start + .seconds(90)
                while pending > 0, ContinuousClock.now < deadline, !events.hasFailed {
                    _ = try till.isAnswered(till.order(), by: events, within: .milliseconds(300))
                }
                #expect(pending == 0, "\(name)")
                let isAnswered = try till.isAnswered(till.order(), by: events)
                #expect(isAnswered, "\(name): \(events.all.suffix(10))")
                #expect(events.setbacks - setbacks <= 20 + pauses(since: start), "\(name)")
                guard isAnswered else { return }
            }
            guard let lasting = fault.lasting else { return }
            let (setbacks, lines, many, start) = (events.setbacks, recorder.all.count, 5000, ContinuousClock.now)
            inject(lasting, count: many)
            _ = try till.order()
            #expect(wait { pending < many })
            // A loop without pauses would make hundreds of requests in this time, on any machine.
            wait(upTo: .seconds(1)) { events.hasFailed }
            #expect(!events.hasFailed)
            let (requests, late, said) = (many - pending, events.setbacks - setbacks, recorder.all.count - lines)
            // This thread may have stood still.
            let seconds = 1 + Int((ContinuousClock.now - start) / .seconds(1))
            // librdkafka itself retries every 20 ms while an earlier transaction is being ended.
            #expect(requests <= (lasting == .concurrentTransactions ? 120 : 60) * seconds, "\(requests) requests")
            #expect(late <= 15 * seconds, "\(late) setbacks")
            #expect(said <= 5 * seconds, "\(recorder.all)")
        }
    }

    private static let atTheStart = [
        Fault(
            "init producer id, not now", .initProducerID,
            [.coordinatorLoadInProgress, .notCoordinator, .coordinatorNotAvailable, .concurrentTransactions, .requestTimedOut]),
        Fault("init producer id, fenced", .initProducerID, [.invalidProducerEpoch, .producerFenced]),
        Fault("find coordinator", .findCoordinator, [.coordinatorNotAvailable, .requestTimedOut]),
        Fault("join", .joinGroup, [.coordinatorLoadInProgress, .unknownMemberID]),
        Fault("sync", .syncGroup, [.notCoordinator, .rebalanceInProgress]),
        Fault("offset fetch", .offsetFetch, [.notCoordinator, .coordinatorLoadInProgress, .coordinatorNotAvailable]),
        Fault("list offsets", .listOffsets, whileALeaderMoves), Fault("changelog", .fetch, whileALeaderMoves + [.offsetOutOfRange]),
    ]

    private static let whileALeaderMoves: [KafkaError.Code] = [
        .notLeaderForPartition, .leaderNotAvailable, .unknownTopicOrPartition, .offsetNotAvailable, .fencedLeaderEpoch,
        .storageError, .requestTimedOut,
    ]

    /// Each error occurs three times in a row, one kind after the other.
    @Test(arguments: atTheStart) func itGoesOnAtTheStart(fault: Fault) async throws {
        let cluster = try await TestCluster.embedded { try $0.leaveSomeStock() }
        cluster.broker.fail(next: fault.request, with: fault.codes.flatMap { [$0, $0, $0] })
        try await withRunningService(cluster.impatientConfiguration()) { events in
            #expect(wait { events.isRestored || events.hasFailed })
            #expect(cluster.broker.pendingFailures(of: fault.request) == 0)
            let till = try Till(cluster)
            #expect(try till.isAnswered(till.order(), by: events), "\(events.all)")
            #expect(events.setbacks <= 8 * fault.codes.count, "\(events.all)")
        }
    }

    /// A broker that has just started may not know all topics yet. The group then assigns only what the broker knows.
    @Test(arguments: [KafkaError.Code.leaderNotAvailable, .unknownTopicOrPartition])
    func aTopicThatIsAwayForAMomentIsWaitedFor(code: KafkaError.Code) async throws {
        let cluster = try await TestCluster.split()
        let configuration = cluster.impatientConfiguration(["topic.metadata.refresh.interval.ms": "300"])
        let recorder = LogRecorder()
        try await withRunningService(configuration, logger: recorder.makeLogger()) { events in
            let till = try Till(cluster)
            #expect(try till.isAnswered(till.order(), by: events))
            cluster.broker.setError(code, ofTopic: cluster.topics.orders)
            #expect(wait { events.isRevoked })
            // Until the group has assigned what is left.
            if code == .unknownTopicOrPartition {
                #expect(wait { recorder.all.contains { $0.contains("waiting for another assignment") } })
            }
            cluster.broker.setError(nil, ofTopic: cluster.topics.orders)
            #expect(try till.isAnswered(till.order(), by: events), "\(events.all.suffix(5))")
        }
    }

    /// Before the service stops a partition for an invalid offset, it asks the broker.
    @Test func readsOnAfterAFalseOutOfRangeError() async throws {
        let cluster = try await TestCluster.split()
        let recorder = LogRecorder()
        try await withRunningService(cluster.impatientConfiguration(), logger: recorder.makeLogger()) { events in
            let till = try Till(cluster)
            #expect(try till.isAnswered(till.order(), by: events))
            cluster.broker.fail(next: .fetch, with: [.offsetOutOfRange], broker: 2)
            #expect(wait { recorder.all.contains { $0.hasPrefix("warning starting over") } })
            #expect(try till.isAnswered(till.order(), by: events))
            #expect(!recorder.all.contains { $0.hasPrefix("critical") })
        }
    }

    // MARK: - Damage

    /// In any topic that the service reads, between good batches. The other partition is served.
    @Test(
        .enabled(
            if: BrokerCapabilities.embedded.consumerProperties["check.crcs"] == "true", "its broker's markers have no checksum"),
        arguments: [Topic.orders, .restocks, .results, .stock]
    ) func damageStopsItsPartitionOnce(topic: Topic) async throws {
        let order = #"{"orderId":"order-1.","juice":"kiwi","note":"\#(String(repeating: "n", count: 300))"}"#
        let cluster = try await TestCluster.embedded(partitionCount: 2) { cluster in
            let place = cluster.topics[topic, 1]
            try cluster.broker.append([(["{}"], nil), ([order, order, order], .bit)], at: 0, to: place)
            try cluster.broker.append(order, damaged: nil, to: place)
        }
        // Reading an input resumes after the whole batch.
        let offset: Offset = topic == .orders || topic == .restocks ? 3 : 1
        let recorder = LogRecorder()
        // A short session could end while a thread stands still, and each takeover stops the partition.
        try await withRunningService(cluster.serviceConfiguration(), logger: recorder.makeLogger()) { events in
            var stops: [PartitionFault] {
                events.all.compactMap { if case .partitionStopped(1, let fault) = $0 { fault } else { nil } }
            }
            #expect(wait { !stops.isEmpty }, "\(recorder.all)")
            // Stores of partition 0.
            for store in ["a", "b", "c"] {
                try cluster.order("of-\(store)", of: store)
                let answers = try cluster.read(.results, partitionCount: 2) { $0.contains { $0.text.contains("of-\(store)") } }
                #expect(answers.last?.partition == 0)
            }
            #expect(stops.map(\.offset) == [offset])
            #expect(stops.first?.anchors.allSatisfy { $0.partition == 1 && $0.offset == offset + 1 } == true)
            #expect(events.restarts == 0, "\(recorder.all)")
        }
    }

    // MARK: - Errors that nothing helps against

    /// Neither a retry nor a new client can help.
    ///
    /// A heartbeat or sync that lacks the right to the group is not among these: librdkafka does not report such an error. A
    /// real broker would also deny the next join or commit, which the embedded one does not.
    private static let final: [(request: EmbeddedBroker.Request, codes: [KafkaError.Code])] = [
        (.initProducerID, [.transactionalIDAuthorizationFailed, .clusterAuthorizationFailed, .invalidTransactionTimeout]),
        (.findCoordinator, [.transactionalIDAuthorizationFailed, .clusterAuthorizationFailed]),
        (.joinGroup, [.groupAuthorizationFailed, .invalidSessionTimeout, .invalidGroupID, .inconsistentGroupProtocol]),
        (.listOffsets, [.topicAuthorizationFailed]), (.fetch, [.topicAuthorizationFailed]),
        (.produce, [.topicAuthorizationFailed, .clusterAuthorizationFailed]),
        (
            .addPartitionsToTransaction,
            [.topicAuthorizationFailed, .transactionalIDAuthorizationFailed, .clusterAuthorizationFailed]
        ), (.endTransaction, [.transactionalIDAuthorizationFailed, .clusterAuthorizationFailed]),
    ]

    @Test(arguments: final.flatMap { fault in fault.codes.map { (fault.request, $0) } })
    func endsWithAClearErrorOnAPermanentFault(request: EmbeddedBroker.Request, code: KafkaError.Code) async throws {
        let cluster = try await TestCluster.embedded { cluster in
            try cluster.leaveSomeStock()
            try cluster.order("a")
        }
        cluster.broker.fail(next: request, with: Array(repeating: code, count: 100))
        let reason = try await reasonToEnd(cluster.impatientConfiguration())
        #expect(reason?.contains(code.name) == true, "\(reason ?? "it did not end")")
        if code == .inconsistentGroupProtocol { #expect(reason?.contains("partition.assignment.strategy=range") == true) }
    }

    @Test func endsIfTheCoordinatorLookupIsDenied() async throws {
        let cluster = try await TestCluster.split()
        let reason = try await reasonToEnd(cluster.impatientConfiguration()) { events in
            #expect(wait { events.isRestored })
            // The service may ask any broker for the coordinator.
            for number in [1, 2] as [Int32] {
                let codes = Array(repeating: KafkaError.Code.groupAuthorizationFailed, count: 100)
                cluster.broker.fail(next: .findCoordinator, with: codes, broker: number)
            }
            cluster.broker.fail(next: .heartbeat, with: [.notCoordinator])
        }
        #expect(reason?.contains("GROUP_AUTHORIZATION_FAILED") == true, "\(reason ?? "it did not end")")
    }

    /// Clients without the right to describe a topic get such an error and no partitions.
    @Test func topicsThatMayNotBeSeenEndTheService() async throws {
        let cluster = try await TestCluster.embedded([.stock: 0]) { cluster in
            cluster.broker.setError(.topicAuthorizationFailed, ofTopic: cluster.topics.stock)
        }
        let reason = try await reasonToEnd(cluster.impatientConfiguration())
        let expected = "topic juice.stock: Broker: Topic authorization failed (TOPIC_AUTHORIZATION_FAILED); the service needs"
        #expect(reason?.hasPrefix(expected) == true, "\(reason ?? "")")
    }

    /// The right to a topic may be revoked while the service runs.
    @Test func topicsThatMayNoLongerBeSeenEndTheService() async throws {
        let cluster = try await TestCluster.embedded()
        let configuration = cluster.impatientConfiguration(["topic.metadata.refresh.interval.ms": "500"])
        let reason = try await reasonToEnd(configuration) { events in
            #expect(wait { events.isRestored })
            cluster.broker.setError(.topicAuthorizationFailed, ofTopic: cluster.topics.orders)
        }
        #expect(reason?.contains("TOPIC_AUTHORIZATION_FAILED") == true, "\(reason ?? "it did not end")")
    }

    // MARK: - Members of the same name

    /// Another process with the same instance id, detected by a heartbeat. The first time it may be an earlier membership.
    @Test func aRivalEndsTheService() async throws {
        let cluster = try await TestCluster.embedded()
        cluster.broker.fail(next: .heartbeat, with: [.fencedInstanceID, .fencedInstanceID])
        // If a session timed out on a busy machine, the service would suspect its own earlier membership.
        let reason = try await reasonToEnd(cluster.impatientConfiguration(["session.timeout.ms": "10000"]))
        #expect(reason?.contains("--instance-id") == true, "\(reason ?? "it did not end")")
    }

    /// Each time a coordinator is gone for longer than a session, the service's earlier membership may fence it.
    @Test func anEarlierMembershipIsOutlastedAsOftenAsItComes() async throws {
        let cluster = try await TestCluster.embedded()
        let recorder = LogRecorder()
        try await withRunningService(cluster.impatientConfiguration(), logger: recorder.makeLogger(level: .info)) { events in
            let till = try Till(cluster)
            var timeouts: Int { recorder.all.count { $0.contains("session timed out (in") } }
            for outage in 1...2 {
                #expect(try till.isAnswered(till.order(), by: events))
                let before = timeouts
                cluster.broker.takeDown()
                #expect(wait { timeouts > before }, "\(outage): \(recorder.all.suffix(10))")
                cluster.broker.fail(next: .heartbeat, with: [.fencedInstanceID])
                cluster.broker.bringUp()
                #expect(wait { cluster.broker.pendingFailures(of: .heartbeat) == 0 })
            }
            #expect(try till.isAnswered(till.order(), by: events))
        }
    }
}

extension KafkaError.Code {
    static let corruptMessage = Self(rawValue: 2)
    static let leaderNotAvailable = Self(rawValue: 5)
    static let notLeaderForPartition = Self(rawValue: 6)
    static let requestTimedOut = Self(rawValue: 7)
    static let brokerNotAvailable = Self(rawValue: 8)
    static let replicaNotAvailable = Self(rawValue: 9)
    static let networkException = Self(rawValue: 13)
    static let coordinatorLoadInProgress = Self(rawValue: 14)
    static let coordinatorNotAvailable = Self(rawValue: 15)
    static let notCoordinator = Self(rawValue: 16)
    static let notEnoughReplicas = Self(rawValue: 19)
    static let notEnoughReplicasAfterAppend = Self(rawValue: 20)
    static let illegalGeneration = Self(rawValue: 22)
    static let unknownMemberID = Self(rawValue: 25)
    static let rebalanceInProgress = Self(rawValue: 27)
    static let outOfOrderSequence = Self(rawValue: 45)
    static let invalidProducerEpoch = Self(rawValue: 47)
    static let invalidTransactionState = Self(rawValue: 48)
    static let invalidProducerIDMapping = Self(rawValue: 49)
    static let concurrentTransactions = Self(rawValue: 51)
    static let storageError = Self(rawValue: 56)
    static let unknownProducerID = Self(rawValue: 59)
    static let fencedLeaderEpoch = Self(rawValue: 74)
    static let unknownLeaderEpoch = Self(rawValue: 75)
    static let offsetNotAvailable = Self(rawValue: 78)
    static let groupMaxSizeReached = Self(rawValue: 81)
    static let producerFenced = Self(rawValue: 90)
}
