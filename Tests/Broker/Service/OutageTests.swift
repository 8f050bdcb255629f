import FaultyNetwork
import JuiceMessages
import Kafka
import Synchronization
import TestSupport
import Testing

@testable import JuiceService

/// Brokers that are slow, hang, or are away for a while.
@Suite(.concurrencyLimited) struct OutageTests {
    // MARK: - Slow brokers

    /// One shorter and one slightly longer than the service's call timeout, which is lower here than usual: a start takes some
    /// forty round trips.
    private static let roundTrips: [Duration] = [.milliseconds(20), .milliseconds(220)]

    private static func configuration(_ cluster: TestCluster) -> ServiceConfiguration {
        var configuration = cluster.serviceConfiguration()
        configuration.callTimeout = .milliseconds(200)
        return configuration
    }

    @Test(arguments: roundTrips) func lateAnswersUnderLoad(roundTrip: Duration) async throws {
        let cluster = try await TestCluster.split()
        let start = ContinuousClock.now
        try await withRunningService(Self.configuration(cluster)) { events in
            let till = try Till(cluster)
            #expect(try till.isAnswered(till.order(), by: events))
            // The till's own requests are slow, too, except those to broker 2.
            cluster.broker.setRoundTrip(roundTrip, ofBroker: 1)
            for _ in 0..<2 {
                let orders = try (0..<3).map { _ in try till.order() }
                let areAnswered = try orders.allSatisfy { try till.isAnswered($0, by: events) }
                #expect(areAnswered, "\(roundTrip): \(events.all.suffix(10))")
            }
            #expect(events.setbacks <= 40 + pauses(since: start), "\(roundTrip)")
        }
    }

    /// Each transaction's calls take so long that every producer is replaced before its next.
    @Test(arguments: roundTrips) func lateAnswersAtTheStart(roundTrip: Duration) async throws {
        let cluster = try await TestCluster.embedded { cluster in
            try cluster.leaveSomeStock()
            _ = try Till(cluster).order()
            cluster.broker.setRoundTrip(roundTrip)
        }
        try await withRunningService(Self.configuration(cluster)) { events in
            let till = try Till(cluster)
            #expect(try till.isAnswered(Till.firstOrder, by: events, within: .seconds(120)), "\(events.all)")
        }
    }

    // MARK: - Away for a while

    /// Shorter and longer than the service's call timeout; the second also exceeds the transaction timeout.
    @Test(arguments: [Duration.seconds(1), .seconds(3)]) func aBrokerThatIsAwayIsOutlasted(outage: Duration) async throws {
        let cluster = try await TestCluster.embedded { cluster in
            try cluster.leaveSomeStock()
            cluster.broker.takeDown()
        }
        var configuration = cluster.serviceConfiguration()
        configuration.kafkaProperties["transaction.timeout.ms"] = "2000"
        try await withRunningService(configuration) { events in
            func sitOut() {
                wait(upTo: outage) { events.hasFailed }
                cluster.broker.bringUp()
            }
            // At the start.
            sitOut()
            let till = try Till(cluster)
            #expect(try till.isAnswered(till.order(), by: events), "\(events.all)")

            // When the orders are already in the topic, and the service is about to answer them.
            let setbacks = events.setbacks
            let orders = try (0..<5).map { _ in try till.order() }
            cluster.broker.takeDown()
            sitOut()
            for order in try orders + [till.order()] { #expect(try till.isAnswered(order, by: events), "\(events.all)") }
            #expect(events.setbacks - setbacks <= 40)

            // While it restores.
            let restarts = events.restarts
            cluster.broker.fail(next: .endTransaction, with: [.producerFenced])
            _ = try till.order()
            #expect(wait { events.restarts > restarts })
            cluster.broker.takeDown()
            sitOut()
            #expect(try till.isAnswered(till.order(), by: events), "\(events.all)")
            // It has noticed the end of each outage.
            #expect(events.becomesReady(), "\(events.health.readiness)")
        }
    }

    @Test func logsOneLineWhileNoBrokerAnswers() async throws {
        let recorder = LogRecorder()
        let configuration = ServiceConfiguration(bootstrapServers: "127.0.0.1:1", instanceID: "test")
        try await withRunningService(configuration, logger: recorder.makeLogger()) { events in
            let reason = "no Kafka broker answers at 127.0.0.1:1: connection refused"
            let isSaid = wait { events.health.readiness.first == reason }
            #expect(isSaid, "\(events.health.readiness)")
            // Further attempts, which pause 200 ms each, log no further line. That shows only over time.
            wait(upTo: .milliseconds(900)) { recorder.all.count > 1 }
        }
        #expect(recorder.all.filter { $0.hasPrefix("warning") }.count == 1, "\(recorder.all)")
        #expect(recorder.all.first { $0.hasPrefix("warning") }?.contains("127.0.0.1:1") == true)
    }

    /// Connections stay intact, and an idle worker makes no request whose missing answer would be noticed soon.
    @Test func aBrokerThatHangsIsNoticedWithinSeconds() async throws {
        let cluster = try await TestCluster.embedded()
        try await withRunningService(cluster.serviceConfiguration()) { events in
            #expect(events.becomesReady())
            cluster.broker.setRoundTrip(.seconds(60))
            // Two probes of 1.5 s with a second in between. By itself, a client waits 10 s or more.
            let isNoticed = wait(upTo: .seconds(30)) {
                events.health.readiness.contains { $0.hasPrefix("no Kafka broker answers") }
            }
            #expect(isNoticed, "\(events.health.readiness)")
        }
    }

    /// The brokers that a service was given may die while the rest of the cluster lives. If they had led the journal, the client
    /// that looks for open transactions reads nothing meanwhile, so no failed read shows it that a leader is gone.
    @Test(arguments: [false, true]) func aTakeoverNeedsNoBrokerThatIsGone(ledTheJournal: Bool) async throws {
        let cluster = try await TestCluster.split()
        let broker = cluster.broker
        @Sendable func lead(_ topics: [Topic], by number: Int32) {
            for topic in topics { broker.setLeader(number, of: cluster.topics[topic, 0]) }
        }
        var given = ledTheJournal ? cluster.impatientConfiguration() : cluster.serviceConfiguration()
        given.bootstrapServers = try String(#require(cluster.bootstrapServers.split(separator: ",").last))
        if ledTheJournal { lead([.results, .stock], by: 2) }
        try await withRunningService(given) { events in
            if !ledTheJournal { lead([.orders, .restocks], by: 1) }
            // An answer proves nothing: the embedded broker also shows those of aborted transactions.
            let till = try Till(cluster)
            _ = try till.order()
            #expect(wait { events.committed.count == 1 })
            if ledTheJournal { lead(Topic.allCases, by: 1) }
            broker.takeDown(broker: 2)
            // New producers take the place of fenced ones.
            broker.fail(next: .endTransaction, with: [.producerFenced])
            _ = try till.order()
            #expect(wait { events.takeovers >= 2 }, "\(events.all.suffix(5))")
            let committed = events.committed.count
            _ = try till.order()
            #expect(wait { events.committed.count > committed }, "\(events.all.suffix(5))")
        }
    }

    /// In the middle of a transaction that cannot end, with connections that are intact or cut.
    @Test(arguments: [false, true]) func itStopsInTimeWhateverTheBrokerDoes(isHung: Bool) async throws {
        let cluster = try await TestCluster.embedded()
        let clock = ContinuousClock()
        let stopping = Mutex(clock.now)
        try await withRunningService(cluster.serviceConfiguration()) { events in
            wait { events.isRestored }
            try cluster.order("a")
            if isHung { cluster.broker.setRoundTrip(.seconds(60)) } else { cluster.broker.takeDown() }
            stopping.withLock { $0 = clock.now }
        }
        // The service allows itself 4.5 s, while the broker takes 60 s to answer.
        #expect(clock.now - stopping.withLock { $0 } < .seconds(15))
    }
}
