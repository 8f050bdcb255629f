import JuiceEngine
import JuiceMessages
import MetricsTestKit
import Testing

@testable import JuiceService

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

    @Test func theyBecomeGaugesAndCounters() throws {
        let factory = TestMetrics()
        let metrics = WorkerMetrics(worker: 1, topics: TopicNames(), factory: factory)
        for errors in [2, 5, 1] { metrics.record(statistics: json(errors: errors), of: .producer(index: 1)) }
        let dimensions = [("worker", "1"), ("client", "producer-1")]
        func gauge(_ metric: ServiceMetric) throws -> Double? {
            try factory.expectRecorder(metric.rawValue, dimensions).lastValue
        }
        #expect(try gauge(.kafkaRoundTripMedian) == 0.0007)
        #expect(try gauge(.kafkaRoundTripTail) == 0.0015)
        #expect(try gauge(.kafkaQueuedRecords) == 7)
        #expect(try gauge(.kafkaQueuedBytes) == 600)
        // The third document comes from a new client, whose counters begin again.
        let errors = factory.counterTotal(label: ServiceMetric.kafkaRequestErrors.rawValue, dimensions: dimensions)
        #expect(errors == 6 + 2)
        #expect(factory.counterTotal(label: ServiceMetric.kafkaDisconnects.rawValue) == 3)
    }

    /// Records held up by another program's open transaction count as lag, too.
    @Test func lagIsUpToTheEnd() throws {
        let factory = TestMetrics()
        let metrics = WorkerMetrics(worker: 0, topics: TopicNames(), factory: factory)
        let dimensions = [("topic", "juice.orders"), ("partition", "0")]
        func gauge(_ metric: ServiceMetric) -> Double? {
            (try? factory.expectRecorder(metric.rawValue, dimensions))?.lastValue
        }
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
