import JuiceMessages
import Kafka
import MetricsTestKit
import Testing

@testable import JuiceEngine
@testable import JuiceService
@testable import simulate

extension TestMetrics {
    func count(_ metric: ServiceMetric, _ dimensions: [(String, String)] = []) -> Int64 {
        counterTotal(label: metric.rawValue, dimensions: dimensions)
    }

    func gauge(_ metric: ServiceMetric, _ dimensions: [(String, String)] = [("worker", "0")]) -> Double? {
        (try? expectRecorder(metric.rawValue, dimensions))?.lastValue
    }

    /// The durations that a timer has recorded, in nanoseconds.
    func durations(_ metric: ServiceMetric) -> [Int64] { timers(label: metric.rawValue).flatMap(\.values) }
}

/// The metrics of a worker.
@Suite struct WorkerMetricsTests {
    private let factory = TestMetrics()
    private let metrics: WorkerMetrics

    init() { metrics = WorkerMetrics(worker: 0, topics: TopicNames(), factory: factory) }

    @Test func aWorkerOnASimulatedLogIsMeasured() {
        #expect(factory.gauge(.assignedPartitions) == 0)
        let cluster = SimulatedCluster(partitionCount: 1)
        var worker = Worker(
            log: SimulatedPort(cluster: cluster, member: "one"),
            settings: WorkerSettings(menu: .standard, language: .english, partitionCount: 1, group: "group", instance: "one"),
            onEvent: metrics.record)
        let orders = [("a", "kiwi"), ("b", "strawberry"), ("c", "durian"), ("a", "kiwi")].map { id, juice in
            #"{"orderId":"\#(id)","juice":"\#(juice)"}"#
        }
        for command in orders + ["no JSON"] {
            cluster.send(.orders, partition: 0, key: Array("gangnam".utf8), value: Array(command.utf8))
        }
        for _ in 0..<1000 {
            cluster.writeAllMarkers()
            let step = worker.step()
            metrics.record(worker.held, remaining: 0)
            if step == .idle { break }
        }
        let results = ["juice_made", "out_of_stock", "restocked", "rejected"]
        #expect(results.map { factory.count(.commands, [("result", $0)]) } == [1, 1, 0, 1])
        #expect([.duplicates, .deadLetters, .forwards].map { factory.count($0) } == [1, 1, 0])
        #expect([.assignedPartitions, .stores, .rememberedCommands].map { factory.gauge($0) } == [1, 1, 3])
        #expect(factory.durations(.restoreDuration).count == 1)
    }

    @Test func everyCountHasItsMetric() {
        var summary = TransactionSummary()
        for type in AnswerType.allCases { summary.answers[type] = type.rawValue + 1 }
        (summary.duplicates, summary.forwarded, summary.answersReadBack) = (6, 8, 9)
        let place = InputPosition(topic: .orders, partition: 0, offset: 0)
        summary.deadLettersByReason = [
            DeadLetters(.notJSON, first: place, count: 3), DeadLetters(.badID, first: place, count: 4),
        ]
        metrics.record(.committed(summary))
        let results = ["juice_made", "out_of_stock", "restocked", "cancelled", "rejected"]
        #expect(results.map { factory.count(.commands, [("result", $0)]) } == [1, 2, 3, 4, 5])
        let others: [ServiceMetric] = [.answersLost, .duplicates, .deadLetters, .forwards, .answersReadBack]
        #expect(others.map { factory.count($0) } == [6, 6, 7, 8, 9])
    }

    private static let fault = PartitionFault(.leader(topic: "t"), "a test")

    @Test(arguments: [
        (WorkerEvent.partitionFailing(3, fault), WorkerEvent.partitionRecovered(3)), (.partitionStopped(3, fault), .revoked),
        (.partitionStopped(3, fault), .restored(partitions: [3], HeldState(partitions: 1, stores: 1, commands: 1), records: 1)),
    ]) func countsAStoppedPartitionUntilItRecovers(event: WorkerEvent, end: WorkerEvent) {
        for _ in 0..<2 { metrics.record(event) }
        #expect(factory.gauge(.stoppedPartitions) == 1)
        metrics.record(end)
        #expect(factory.gauge(.stoppedPartitions) == 0)
    }

    @Test func lagIsUpToTheEndOfTheLog() {
        let orders = InputPartition(topic: .orders, partition: 0)
        let start = ContinuousClock.now
        func gauges(end: Offset? = 20, after time: Duration) -> [Double?] {
            metrics.measureLag(at: start + time) { $0 == orders ? end : nil }
            return [.consumerLag, .committedOffset].map { factory.gauge($0, [("topic", "juice.orders"), ("partition", "0")]) }
        }
        #expect(gauges(after: .zero) == [nil, nil], "nothing is known of what is committed")
        let started: [InputPartition: Offset] = [orders: 4, InputPartition(topic: .restocks, partition: 0): 4]
        metrics.published(started.map { ($0, $1) })
        #expect(gauges(after: .milliseconds(500)) == [nil, nil], "it is not due")
        #expect(gauges(after: .seconds(2)) == [16, 4])
        #expect(gauges(end: nil, after: .seconds(4)) == [16, 4], "what is not known changes nothing")
        metrics.published([(orders, Offset(20))])
        #expect(gauges(after: .seconds(6)) == [0, 20])
        metrics.record(.revoked)
        for metric in [ServiceMetric.consumerLag, .committedOffset] { #expect(factory.recorders(label: metric.rawValue).isEmpty) }
    }
}

/// The metrics of transactions.
@Suite struct TransactionMetricsTests {
    private static let now: Timestamp = 1_700_000_000_000

    private let factory = TestMetrics()
    private let metrics: WorkerMetrics

    init() {
        metrics = WorkerMetrics(worker: 0, topics: TopicNames(), factory: factory)
    }

    /// Polls commands of these times, then begins a transaction.
    private func begin(_ times: [Timestamp]) {
        metrics.polled(
            times.enumerated().map { index, time in
                CommandRecord(
                    topic: .orders, partition: 0, offset: Offset(index), timestamp: time, key: nil, value: nil, index: index)
            })
        metrics.began()
    }

    private func count(_ outcome: String) -> Int64 { factory.count(.transactions, [("outcome", outcome)]) }

    /// Latency is from a command's timestamp to its commit.
    @Test func nonsensicalTimestampsHaveNoLatency() {
        let (now, week): (Timestamp, Timestamp) = (Self.now, 604_800_000)
        begin([-10_000_000_000_000, .min, .max, 0, now + 60_001, now - week - 1, now - week, now - 3, now + 5])
        metrics.committed(at: now)
        #expect(factory.durations(.answerLatency) == [week * 1_000_000, 3_000_000, 0])
    }

    @Test func aClaimIsNoWorkDone() {
        metrics.began()
        metrics.committed(at: Self.now)
        #expect(count("committed") == 0)
    }

    @Test func anAbandonedTransactionHasFailed() {
        for _ in 0..<2 {
            begin([Self.now - 1])
            // Once for new producers, once for new positions.
            metrics.abandoned()
            metrics.abandoned()
            begin([Self.now - 2])
            metrics.committed(at: Self.now)
        }
        #expect(count("failed") == 2)
        #expect(count("committed") == 2)
        #expect(factory.durations(.transactionDuration).count == 2)
        #expect(factory.durations(.answerLatency).count == 2, "its commands are timed once")
    }
}
