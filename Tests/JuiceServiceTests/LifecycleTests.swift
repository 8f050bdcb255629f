import BrokerFaults
import Kafka
import Synchronization
import TestSupport
import Testing

@testable import JuiceService

/// Starting and stopping with a broker that is up, down or hung.
@Suite(.concurrencyLimited) struct LifecycleTests {
    @Test func aBrokerThatIsNotThereIsWaitedForWithOneLine() async throws {
        let recorder = LogRecorder()
        let configuration = ServiceConfiguration(bootstrapServers: "127.0.0.1:1", instanceID: "test")
        try await withRunningService(configuration, logger: recorder.makeLogger()) { events in
            wait { !recorder.all.isEmpty }
            #expect(events.health.readiness.reasons.first == "no Kafka broker answers at 127.0.0.1:1")
            // Further attempts log no further line. That shows only over time.
            wait(attempts: 3)
        }
        #expect(recorder.all.filter { $0.hasPrefix("warning") }.count == 1, "\(recorder.all)")
        #expect(recorder.all.first { $0.hasPrefix("warning") }?.contains("127.0.0.1:1") == true)
    }

    @Test func aBrokerThatComesBackIsToldOnceAndUsed() async throws {
        let cluster = try await TestCluster.single()
        let recorder = LogRecorder()
        let told = Mutex<[String]>([])
        try await withRunningService(cluster.serviceConfiguration(), logger: recorder.makeLogger()) { events in
            // On the embedded broker, the service commits offsets by a second call, which waits for the broker without limit.
            wait { events.hasCommitted }
            cluster.broker?.takeDown()
            wait { recorder.all.contains { $0.contains("no Kafka broker answers") } }
            cluster.broker?.bringUp()
            wait { recorder.all.contains { $0.contains("answers at") && $0.contains("again") } }
            try cluster.makeProducer().send(
                topic: cluster.topics.orders, key: nil, value: Array(#"{"orderId":"a","juice":"kiwi"}"#.utf8), timeout: .seconds(60)
            )
            wait { !events.committed.isEmpty }
            told.withLock { $0 = recorder.all }
            #expect(events.committed.count == 1)
        }
        let lines = told.withLock { $0 }
        #expect(lines.filter { $0.contains("no Kafka broker answers") }.count == 1, "\(lines)")
        #expect(lines.filter { $0.contains("again") }.count == 1, "\(lines)")
    }

    /// In the middle of a transaction that cannot end, with connections that are intact or cut.
    @Test(arguments: [false, true]) func itStopsInTimeWhateverTheBrokerDoes(isHung: Bool) async throws {
        let cluster = try await TestCluster.single()
        let configuration = cluster.serviceConfiguration()
        let clock = ContinuousClock()
        let stopping = Mutex(clock.now)
        try await withRunningService(configuration) { events in
            wait { events.isRestored }
            let producer = try cluster.makeProducer()
            try producer.send(
                topic: cluster.topics.orders, key: nil, value: Array(#"{"orderId":"a","juice":"kiwi"}"#.utf8), timeout: .seconds(60)
            )
            if isHung { cluster.broker?.setRoundTrip(.seconds(60)) } else { cluster.broker?.takeDown() }
            stopping.withLock { $0 = clock.now }
        }
        // The service allows itself 4.5 s, while the broker takes 60 s to answer.
        #expect(clock.now - stopping.withLock { $0 } < .seconds(15))
    }

    @Test(arguments: [
        (KafkaError.Code.groupAuthorizationFailed, "GROUP_AUTHORIZATION_FAILED"),
        (.inconsistentGroupProtocol, "partition.assignment.strategy=range"),
    ])
    func aGroupThatCannotBeJoinedEndsTheService(code: KafkaError.Code, reason: String) async throws {
        let cluster = try await TestCluster.single()
        cluster.broker?.fail(next: .joinGroup, with: Array(repeating: code, count: 20))
        let error = await #expect(throws: ServiceError.self) {
            try await OrderService(configuration: cluster.serviceConfiguration(), logger: quietLogger).run()
        }
        #expect(error?.description.contains(reason) == true)
    }
}

/// Blocks for a few rounds of the loop that waits for a broker, which pauses 200 ms after each attempt.
private func wait(attempts: Int) {
    let deadline = ContinuousClock.now + .milliseconds(300 * attempts)
    wait { ContinuousClock.now >= deadline }
}

extension EventLog {
    /// Whether a worker has committed anything, even if only a claim of its partitions.
    var hasCommitted: Bool {
        all.contains { if case .committed = $0 { true } else { false } }
    }

    /// Whether a worker has restored its partitions.
    var isRestored: Bool {
        all.contains { if case .restored = $0 { true } else { false } }
    }
}
