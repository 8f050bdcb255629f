import FaultyNetwork
import Kafka
import TestSupport
import Testing

@testable import JuiceService

/// A problem that passes within a minute does not end a service: it makes new clients in the same process.
@Suite(.concurrencyLimited) struct ClientRenewalTests {
    // MARK: - A right that is missing

    @Test func aMissingRightIsWaitedForAMinuteAtGrowingIntervals() {
        var patience = DenialPatience()
        let start = ContinuousClock.now
        var (now, pauses) = (start, [Duration]())
        while let pause = patience.pause(at: now) {
            pauses.append(pause)
            now += pause + .seconds(2)
        }
        #expect(pauses.first == .milliseconds(500))
        #expect(pauses.last == .seconds(4))
        #expect(zip(pauses, pauses.dropFirst()).allSatisfy { $0 <= $1 })
        #expect(now - start >= .seconds(60) && now - start <= .seconds(70))
    }

    /// A denial long after the last one counts as a new one.
    @Test func restoresPatienceAfterAGrantOrALongGap() {
        var patience = DenialPatience()
        let start = ContinuousClock.now
        for time in stride(from: 0, to: 60, by: 10) { #expect(patience.pause(at: start + .seconds(time)) != nil) }
        #expect(patience.pause(at: start + .seconds(60)) == nil)
        #expect(patience.pause(at: start + .seconds(81)) == .milliseconds(500))
        #expect(patience.pause(at: start + .seconds(82)) == .seconds(1))
        patience.granted()
        #expect(patience.pause(at: start + .seconds(83)) == .milliseconds(500))
    }

    /// Some requests of a service, and the errors with which brokers deny them.
    private static let denials: [(EmbeddedBroker.Request, KafkaError.Code)] = [
        (.initProducerID, .transactionalIDAuthorizationFailed), (.joinGroup, .groupAuthorizationFailed),
        (.addPartitionsToTransaction, .topicAuthorizationFailed),
    ]

    @Test(arguments: denials) func aRightThatIsMissingForAMomentEndsNothing(
        request: EmbeddedBroker.Request, code: KafkaError.Code
    ) async throws {
        let cluster = try await TestCluster.embedded { cluster in try cluster.leaveSomeStock() }
        cluster.broker.fail(next: request, with: [code])
        var configuration = cluster.impatientConfiguration()
        configuration.denialPatience = .seconds(60)
        let recorder = LogRecorder()
        try await withRunningService(configuration, logger: recorder.makeLogger()) { events in
            let till = try Till(cluster)
            let order = try till.order()
            #expect(wait { recorder.all.contains { $0.contains(code.name) } })
            #expect(wait { events.committed.reduce(0) { $0 + $1.commands } == 1 }, "\(recorder.all)")
            #expect(try till.isAnswered(order, by: EventLog(), within: .seconds(10)))
        }
        let lines = recorder.all.filter { $0.contains(code.name) }
        #expect(lines.count == 1 && lines[0].hasPrefix("warning making all Kafka clients anew: "), "\(recorder.all)")
    }
}
