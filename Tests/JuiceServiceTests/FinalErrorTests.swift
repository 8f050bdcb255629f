import BrokerFaults
import Kafka
import TestSupport
import Testing

@testable import JuiceService

/// Errors that never go away: the service ends and names the cause.
@Suite(.concurrencyLimited) struct FinalErrorTests {
    /// Neither a retry nor a new client can help.
    ///
    /// A heartbeat or sync that lacks the right to the group is not among these: librdkafka does not report such an error. A
    /// real broker would also deny the next join or commit, which the embedded one does not.
    static let final: [(request: EmbeddedBroker.Request, codes: [KafkaError.Code])] = [
        (.initProducerID, [.transactionalIDAuthorizationFailed, .clusterAuthorizationFailed, .invalidTransactionTimeout]),
        (.findCoordinator, [.transactionalIDAuthorizationFailed, .clusterAuthorizationFailed]),
        (.joinGroup, [.groupAuthorizationFailed, .invalidSessionTimeout, .invalidGroupID]),
        (.listOffsets, [.topicAuthorizationFailed]), (.fetch, [.topicAuthorizationFailed]),
        (.produce, [.topicAuthorizationFailed, .clusterAuthorizationFailed]),
        (
            .addPartitionsToTransaction,
            [.topicAuthorizationFailed, .transactionalIDAuthorizationFailed, .clusterAuthorizationFailed]
        ), (.endTransaction, [.transactionalIDAuthorizationFailed, .clusterAuthorizationFailed]),
    ]

    @Test(arguments: final.flatMap { row in row.codes.map { (row.request, $0) } })
    func itEndsWithAClearErrorWhereNothingHelps(request: EmbeddedBroker.Request, code: KafkaError.Code)
        async throws
    {
        let cluster = try await TestCluster.single { cluster in
            try cluster.leaveSomeStock()
            _ = try cluster.makeProducer().send(
                topic: cluster.topics.orders, key: nil, value: Array(#"{"orderId":"a","juice":"kiwi"}"#.utf8), timeout: .seconds(60)
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
                // The service may ask any broker for the coordinator.
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
                "topic juice.stock: Broker: Topic authorization failed (TOPIC_AUTHORIZATION_FAILED); the service needs") == true)
    }

    /// The right to a topic may be revoked while the service runs.
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
        #expect(error?.description.contains("TOPIC_AUTHORIZATION_FAILED") == true, "\(error?.description ?? "")")
    }

    /// Another process with the same instance id, detected by a heartbeat. The first time it may be an earlier membership.
    @Test func aRivalEndsTheService() async throws {
        let cluster = try await TestCluster.single()
        cluster.broker?.fail(next: .heartbeat, with: [.fencedInstanceID, .fencedInstanceID])
        // If a session timed out on a busy machine, the service would suspect its own earlier membership.
        let configuration = cluster.impatientConfiguration(["session.timeout.ms": "10000"])
        let reason = try await reasonToEnd(configuration)
        #expect(reason?.contains("--instance-id") == true, "\(reason ?? "it did not end")")
    }

    /// Each time a coordinator is gone for longer than a session, the service's earlier membership may fence it.
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
                broker.takeDown()
                #expect(
                    wait { recorder.all.count { $0.contains("session timed out (in") } == outages },
                    "\(outages): \(recorder.all.suffix(10))")
                broker.fail(next: .heartbeat, with: [.fencedInstanceID])
                broker.bringUp()
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

    /// Before the service stops a partition for an invalid offset, it asks the broker.
    @Test func anOffsetThatIsNotOutOfRangeIsReadOnFrom() async throws {
        let cluster = try await TestCluster.split()
        let recorder = LogRecorder()
        try await withRunningService(cluster.impatientConfiguration(), logger: recorder.makeLogger()) { events in
            let till = try Till(cluster)
            #expect(try till.isAnswered(till.order(), by: events))
            cluster.broker?.fail(next: .fetch, with: [.offsetOutOfRange], broker: 2)
            #expect(wait { recorder.all.contains { $0.hasPrefix("warning starting over") } })
            #expect(try till.isAnswered(till.order(), by: events))
            #expect(!recorder.all.contains { $0.hasPrefix("critical") })
        }
    }
}
