import InMemoryTracing
import Instrumentation
import JuiceEngine
import JuiceMessages
import MetricsTestKit
import Testing
import Tracing

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

    /// Runs a worker on a simulated log until it has handled these records of partition 0.
    private func run(partitionCount: Int32 = 1, _ commands: [(store: String, value: String)]) {
        let cluster = SimulatedCluster(partitionCount: partitionCount)
        var worker = Worker(
            log: SimulatedLog(cluster: cluster, member: "one"),
            settings: WorkerSettings(
                menu: .standard, language: .english, partitionCount: partitionCount, group: "group", instance: "one", answerBytes: 0
            ),
            onEvent: metrics.record)
        for command in commands {
            cluster.send(.orders, partition: 0, key: Array(command.store.utf8), value: Array(command.value.utf8))
        }
        for _ in 0..<1000 {
            cluster.writeAllMarkers()
            let step = worker.step()
            metrics.record(worker.held)
            if step == .idle || step == .stopped { return }
        }
    }

    private static func order(_ id: String, _ juice: String) -> String { #"{"orderId":"\#(id)","juice":"\#(juice)"}"# }

    @Test func commandsAreCountedByTheirResultsOnceCommitted() {
        let orders = [("a", "kiwi"), ("b", "strawberry"), ("c", "durian"), ("a", "kiwi")]
        run(orders.map { ("gangnam", Self.order($0, $1)) } + [("gangnam", "no JSON")])
        let results = ["juice_made", "out_of_stock", "restocked", "rejected"]
        #expect(results.map { factory.count(.commands, [("result", $0)]) } == [1, 1, 0, 1])
        #expect(factory.count(.duplicates) == 1)
        #expect(factory.count(.deadLetters) == 1)
        #expect(factory.count(.forwards) == 0)
        #expect(factory.gauge(.stores) == 1)
        #expect(factory.gauge(.rememberedCommands) == 3)
    }

    @Test func commandsOfAnotherPartitionAreForwards() {
        run(partitionCount: 8, (0..<20).map { ("store-\($0)", Self.order("\($0)", "kiwi")) })
        #expect(factory.count(.commands, [("result", "juice_made")]) == 20)
        #expect((1..<20).contains(factory.count(.forwards)))
    }

    @Test func everyCountHasItsMetric() {
        var summary = TransactionSummary()
        (summary.juicesMade, summary.outOfStock, summary.restocked, summary.cancelled, summary.rejected) = (1, 2, 3, 4, 5)
        (summary.duplicates, summary.deadLetters, summary.forwarded, summary.answersReadBack) = (6, 7, 8, 9)
        metrics.record(.committed(summary))
        let results = ["juice_made", "out_of_stock", "restocked", "cancelled", "rejected"]
        #expect(results.map { factory.count(.commands, [("result", $0)]) } == [1, 2, 3, 4, 5])
        let others: [ServiceMetric] = [.duplicates, .deadLetters, .forwards, .answersReadBack]
        #expect(others.map { factory.count($0) } == [6, 7, 8, 9])
    }

    @Test func nonsensicalTimestampsHaveNoLatency() {
        let (now, week): (Timestamp, Timestamp) = (1_700_000_000_000, 604_800_000)
        metrics.committed(
            after: .zero,
            commandTimes: [-10_000_000_000_000, .min, .max, 0, now + 60_001, now - week - 1, now - week, now - 3, now + 5], at: now)
        #expect(factory.durations(.answerLatency) == [week * 1_000_000, 3_000_000, 0])
    }

    @Test func assignmentsAndRestoresAreTold() {
        #expect(factory.gauge(.assignedPartitions) == 0)
        run(partitionCount: 2, [])
        #expect(factory.gauge(.assignedPartitions) == 2)
        #expect(factory.durations(.restoreDuration).count == 1)
    }

    private static let fault = PartitionFault(.leader(topic: "t"), "a test")

    @Test(arguments: [
        (WorkerEvent.partitionFailing(3, fault), WorkerEvent.partitionRecovered(3)), (.partitionStopped(3, fault), .revoked),
        (.partitionStopped(3, fault), .restored(partitions: [3], RestoredState(stores: 1, commands: 1, records: 1))),
    ]) func aPartitionThatIsNotReadIsCountedUntilItIsAgain(event: WorkerEvent, end: WorkerEvent) {
        for _ in 0..<2 { metrics.record(event) }
        #expect(factory.gauge(.stoppedPartitions) == 1)
        metrics.record(end)
        #expect(factory.gauge(.stoppedPartitions) == 0)
    }

    @Test func aRestoreCountsDown() {
        func remaining() -> Double? { factory.gauge(.restoreRemaining) }
        func read(_ places: [(ChangelogTopic, Offset)], ends: [ChangelogPosition] = []) {
            let records = places.enumerated().map { index, place in
                ChangelogBatch.Record(
                    topic: place.0, partition: 0, offset: place.1, timestamp: nil, key: nil, value: nil, index: index)
            }
            metrics.read(ChangelogBatch(records: records, ends: ends))
        }
        metrics.found([PartitionExtents(partition: 0, inputs: [:], results: 40..<50, stock: 0..<100)])
        #expect(remaining() == 0, "nothing is opened yet")
        metrics.opened([
            ChangelogPosition(topic: .stock, partition: 0, offset: 0), ChangelogPosition(topic: .results, partition: 0, offset: 40),
        ])
        #expect(remaining() == 110)
        read([(.stock, 10), (.stock, 29), (.results, 43)])
        #expect(remaining() == 76)
        read([], ends: [ChangelogPosition(topic: .stock, partition: 0, offset: 100)])
        #expect(remaining() == 6)
        metrics.started(at: [])
        #expect(remaining() == 0)
    }
}

/// The metrics and spans of transactions.
@Suite struct TransactionObserverTests {
    private let factory = TestMetrics()
    private let tracer = InMemoryTracer()
    private let observer: TransactionObserver

    init() {
        observer = TransactionObserver(
            metrics: WorkerMetrics(worker: 0, topics: TopicNames(), factory: factory),
            tracer: BatchTracer(tracer, worker: 0, topics: TopicNames()))
    }

    private static let now: Timestamp = 1_700_000_000_000

    /// Polls a command of each age, in milliseconds; of every third the headers tell no trace.
    private func poll(_ ages: Timestamp...) {
        let records = ages.enumerated().map { index, age in
            CommandRecord(
                topic: .orders, partition: 0, offset: Offset(index), timestamp: Self.now - age, key: nil, value: nil, index: index)
        }
        observer.polled(records) { record in
            guard record.index % 3 < 2 else { return [] }
            return [
                MessageHeader(name: InMemoryTracer.traceIDKey, value: "trace-\(record.index)"),
                MessageHeader(name: InMemoryTracer.spanIDKey, value: "span-\(record.index)"),
            ]
        }
    }

    private func count(_ outcome: String) -> Int64 { factory.count(.transactions, [("outcome", outcome)]) }

    @Test func latencyIsFromTheCommandsTimestampToItsCommit() {
        poll(10, 3)
        observer.began()
        observer.committed(at: Self.now)
        #expect(factory.durations(.answerLatency) == [10_000_000, 3_000_000])
        #expect(factory.durations(.transactionDuration).count == 1)
        #expect(count("committed") == 1)
    }

    @Test func aClaimIsNoWorkDone() {
        observer.began()
        observer.committed(at: Self.now)
        #expect(count("committed") == 0)
        #expect(tracer.finishedSpans.isEmpty)
    }

    @Test func anAbandonedTransactionHasFailed() {
        for _ in 0..<2 {
            poll(1)
            observer.began()
            // New producers, then new positions.
            observer.abandoned()
            observer.abandoned()
            poll(2)
            observer.began()
            observer.committed(at: Self.now)
        }
        #expect(count("failed") == 2)
        #expect(count("committed") == 2)
        #expect(factory.durations(.answerLatency).count == 2, "its commands are timed once")
        #expect(tracer.finishedSpans.map { $0.status?.message } == ["failed", nil, "failed", nil])
        #expect(tracer.activeSpans.isEmpty)
    }

    @Test func aTransactionIsOneSpanLinkedToItsCommands() throws {
        poll(1, 1, 1)
        observer.began()
        observer.committed(at: Self.now)
        let span = try #require(tracer.finishedSpans.first)
        #expect(tracer.finishedSpans.count == 1)
        #expect(span.operationName == "juice batch")
        #expect(span.kind == .consumer)
        #expect(span.links.map { $0.context.inMemorySpanContext?.traceID } == ["trace-0", "trace-1"])
        #expect(span.attributes["messaging.batch.message_count"]?.toSpanAttribute() == .int64(3))
        #expect(span.attributes["juice.transaction.outcome"]?.toSpanAttribute() == .string("committed"))
        #expect(span.status == nil)
    }

    @Test func linksHaveALimit() {
        observer.polled(
            (0..<200).map { index in
                CommandRecord(topic: .orders, partition: 0, offset: 0, timestamp: nil, key: nil, value: nil, index: index)
            }
        ) { record in
            [
                MessageHeader(name: InMemoryTracer.traceIDKey, value: "trace-\(record.index)"),
                MessageHeader(name: InMemoryTracer.spanIDKey, value: "span"),
            ]
        }
        observer.began()
        observer.committed(at: Self.now)
        #expect(tracer.finishedSpans.first?.links.count == 128)
    }

    @Test func withoutATracerThereAreNoSpans() {
        #expect(BatchTracer.installed(worker: 0, topics: TopicNames()) == nil)
    }
}

/// The metrics from librdkafka's statistics.
@Suite struct KafkaStatisticsTests {
    private func json(roundTrip: Int = 1500, errors: Int = 0, end: Int = 20) -> String {
        """
        {"name":"test","msg_cnt":2,"msg_size":100,
         "brokers":{"a:1/1":{"rtt":{"p50":700,"p99":\(roundTrip)},"txerrs":\(errors),"rxerrs":1,"req_timeouts":0,
            "disconnects":3},
          "a:2/2":{"rtt":{"p50":0,"p99":0},"txerrs":0,"rxerrs":0,"req_timeouts":4}},
         "topics":{"juice.orders":{"partitions":{
            "0":{"fetchq_cnt":5,"fetchq_size":500,"hi_offset":\(end),"ls_offset":12},
            "-1":{"fetchq_cnt":0,"fetchq_size":0,"hi_offset":-1001,"ls_offset":-1001}}}}}
        """
    }

    @Test func whatIsNoDocumentIsPassedOver() {
        #expect(KafkaStatistics("") == nil)
        #expect(KafkaStatistics("{}") == nil)
    }

    @Test func theyBecomeGaugesAndCounters() {
        let factory = TestMetrics()
        let metrics = WorkerMetrics(worker: 1, topics: TopicNames(), factory: factory)
        for errors in [2, 5, 1] { metrics.record(statistics: json(errors: errors), of: .producer(index: 1)) }
        let dimensions = [("worker", "1"), ("client", "producer-1")]
        #expect(factory.gauge(.kafkaRoundTripMedian, dimensions) == 0.0007)
        #expect(factory.gauge(.kafkaRoundTripTail, dimensions) == 0.0015)
        #expect(factory.gauge(.kafkaQueuedRecords, dimensions) == 7)
        #expect(factory.gauge(.kafkaQueuedBytes, dimensions) == 600)
        // The third document comes from a new client, whose counters begin again.
        #expect(factory.count(.kafkaRequestErrors, dimensions) == 6 + 2)
        #expect(factory.count(.kafkaRequestTimeouts, dimensions) == 4)
        #expect(factory.count(.kafkaDisconnects, dimensions) == 3)
    }

    /// Records held up by another program's open transaction count as lag, too.
    @Test func lagIsUpToTheEnd() throws {
        let factory = TestMetrics()
        let metrics = WorkerMetrics(worker: 0, topics: TopicNames(), factory: factory)
        let dimensions = [("topic", "juice.orders"), ("partition", "0")]
        func gauge(_ metric: ServiceMetric) -> Double? { factory.gauge(metric, dimensions) }
        func lag() -> Double? { gauge(.consumerLag) }
        metrics.record(statistics: json(), of: .consumer)
        #expect(lag() == nil, "nothing is known of what is committed")
        metrics.started(at: [
            InputPosition(topic: .orders, partition: 0, offset: 4), InputPosition(topic: .restocks, partition: 0, offset: 4),
        ])
        metrics.record(statistics: json(), of: .consumer)
        #expect(lag() == 16)
        #expect(gauge(.committedOffset) == 4)
        metrics.record(statistics: json(end: -1001), of: .consumer)
        #expect(lag() == 16, "what is not known changes nothing")
        metrics.published([InputPosition(topic: .orders, partition: 0, offset: 20)])
        metrics.record(statistics: json(), of: .consumer)
        #expect(lag() == 0)
        #expect(gauge(.committedOffset) == 20)
        metrics.record(.revoked)
        #expect(factory.recorders(label: ServiceMetric.consumerLag.rawValue).isEmpty)
        #expect(factory.recorders(label: ServiceMetric.committedOffset.rawValue).isEmpty)
    }
}
