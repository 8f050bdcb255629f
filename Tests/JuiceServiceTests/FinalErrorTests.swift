import BrokerFaults
import Kafka
import TestSupport
import Testing

@testable import JuiceService

/// Errors that nothing mends: the service ends with one that names the cause.
@Suite(.concurrencyLimited) struct FinalErrorTests {
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
                timeout: .seconds(60)
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
                broker.takeDown()
                #expect(
                    wait { recorder.all.count { $0.contains("session timed out (in") } == outages },
                    "\(outages): \(recorder.all.suffix(10))"
                )
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
}
