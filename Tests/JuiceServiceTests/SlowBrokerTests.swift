import BrokerFaults
import Kafka
import TestSupport
import Testing

@testable import JuiceService

/// Brokers that are slow, or do not answer for a while.
@Suite(.concurrencyLimited) struct SlowBrokerTests {
    /// One shorter and one just longer than a single call of the service waits. A start takes some forty round trips.
    static let roundTrips: [Duration] = [.milliseconds(200), .milliseconds(1100)]

    @Test(arguments: roundTrips) func lateAnswersUnderLoad(roundTrip: Duration) async throws {
        let cluster = try await TestCluster.split()
        try await withRunningService(cluster.serviceConfiguration()) { events in
            let till = try Till(cluster)
            #expect(try till.isAnswered(till.order(), by: events))
            // The till's own requests are slow, too, except those to broker 2.
            cluster.broker?.setRoundTrip(roundTrip, ofBroker: 1)
            for _ in 0..<2 {
                let orders = try (0..<3).map { _ in try till.order() }
                let areAnswered = try orders.allSatisfy { try till.isAnswered($0, by: events) }
                #expect(areAnswered, "\(roundTrip): \(events.all.suffix(10))")
            }
            #expect(events.setbacks <= 40, "\(roundTrip)")
        }
    }

    /// Each transaction's calls take so long that every producer is replaced before its next.
    @Test(arguments: roundTrips) func lateAnswersAtTheStart(roundTrip: Duration) async throws {
        let cluster = try await TestCluster.single { cluster in
            try cluster.leaveSomeStock()
            _ = try Till(cluster).order()
            cluster.broker?.setRoundTrip(roundTrip)
        }
        try await withRunningService(cluster.serviceConfiguration()) { events in
            let till = try Till(cluster)
            #expect(try till.isAnswered(Till.firstOrder, by: events, within: .seconds(120)), "\(events.all)")
        }
    }

    // MARK: - Away for a while

    /// Shorter and longer than the service's calls wait, and longer than a transaction may last.
    static let outages: [Duration] = [.seconds(1), .seconds(3), .seconds(12)]

    @Test(arguments: outages) func awayAtTheStart(outage: Duration) async throws {
        let cluster = try await TestCluster.single { $0.broker?.takeDown() }
        try await withRunningService(cluster.serviceConfiguration()) { events in
            wait(upTo: outage) { events.hasFailed }
            cluster.broker?.bringUp()
            let till = try Till(cluster)
            #expect(try till.isAnswered(till.order(), by: events), "\(outage): \(events.all)")
        }
    }

    @Test(arguments: outages) func awayDuringTheRestore(outage: Duration) async throws {
        let cluster = try await TestCluster.single { try $0.leaveSomeStock() }
        try await withRunningService(cluster.serviceConfiguration()) { events in
            wait { events.all.contains { if case .assigned = $0 { true } else { false } } }
            cluster.broker?.takeDown()
            wait(upTo: outage) { events.hasFailed }
            cluster.broker?.bringUp()
            let till = try Till(cluster)
            #expect(try till.isAnswered(till.order(), by: events), "\(outage): \(events.all)")
        }
    }

    /// The orders are already in the topic, and the service is about to answer them.
    @Test(arguments: outages) func awayDuringACommit(outage: Duration) async throws {
        let cluster = try await TestCluster.single()
        try await withRunningService(cluster.serviceConfiguration()) { events in
            let till = try Till(cluster)
            #expect(try till.isAnswered(till.order(), by: events))
            let orders = try (0..<5).map { _ in try till.order() }
            cluster.broker?.takeDown()
            wait(upTo: outage) { events.hasFailed }
            cluster.broker?.bringUp()
            for order in orders { #expect(try till.isAnswered(order, by: events), "\(outage): \(events.all)") }
            #expect(try till.isAnswered(till.order(), by: events), "\(outage): \(events.all)")
            #expect(events.setbacks <= 40)
        }
    }
}
