import BrokerFaults
import Kafka
import TestSupport
import Testing

@testable import JuiceService

/// Transient errors that do not go away: the service neither ends nor hangs nor spins.
@Suite(.concurrencyLimited) struct LastingErrorTests {
    /// Transient errors, repeated for as long as the test lasts.
    static let lasting = [
        Fault("produce", .produce, [.notLeaderForPartition]), Fault("produce", .produce, [.outOfOrderSequence]),
        Fault("add partitions", .addPartitionsToTransaction, [.concurrentTransactions]),
        Fault("add partitions", .addPartitionsToTransaction, [.producerFenced]),
        Fault("end transaction", .endTransaction, [.concurrentTransactions]),
        Fault("end transaction", .endTransaction, [.invalidTransactionState]),
        Fault("fetch", .fetch, broker: 2, [.unknownTopicOrPartition]), Fault("heartbeat", .heartbeat, [.illegalGeneration]),
        Fault("join", .joinGroup, trigger: .rebalanceInProgress, [.unknownMemberID]),
        Fault("sync", .syncGroup, trigger: .rebalanceInProgress, [.illegalGeneration]),
        Fault("init producer id", .initProducerID, trigger: nil, [.coordinatorLoadInProgress]),
        Fault("list offsets", .listOffsets, trigger: .rebalanceInProgress, [.notLeaderForPartition]),
    ]

    /// The service keeps retrying, but not in a loop that burns CPU and floods the broker and the log.
    @Test(arguments: lasting) func itDoesNotSpin(fault: Fault) async throws {
        let cluster = try await TestCluster.split()
        let recorder = LogRecorder()
        try await withRunningService(cluster.impatientConfiguration(), logger: recorder.makeLogger()) { events in
            let broker = try #require(cluster.broker)
            let till = try Till(cluster)
            #expect(try till.isAnswered(till.order(), by: events))
            // The service replaces its producers after one is fenced.
            if fault.request == .initProducerID { broker.fail(next: .endTransaction, with: [.producerFenced]) }
            let many = 5000
            broker.fail(next: fault.request, with: Array(repeating: fault.codes[0], count: many), broker: fault.broker)
            if let trigger = fault.trigger { broker.fail(next: .heartbeat, with: [trigger]) }
            _ = try till.order()
            let before = events.setbacks
            let lines = recorder.all.count
            wait(upTo: .seconds(5)) { events.hasFailed }
            #expect(!events.hasFailed, "\(fault.testDescription)")
            let requests = many - broker.pendingFailures(of: fault.request, broker: fault.broker)
            #expect((1...fault.mostRequests).contains(requests), "\(fault.testDescription): \(requests) requests")
            #expect(events.setbacks - before <= 30, "\(fault.testDescription): \(events.setbacks - before) setbacks")
            #expect(recorder.all.count - lines <= 5, "\(fault.testDescription): \(recorder.all)")
        }
    }
}

extension Fault {
    /// In five seconds. librdkafka itself retries every 20 ms while an earlier transaction is being ended.
    fileprivate var mostRequests: Int { codes == [.concurrentTransactions] ? 350 : 160 }
}
