import InMemoryTracing
import JuiceEngine
import JuiceMaker
import JuiceMessages
import MetricsTestKit

@testable import JuiceService
@testable import simulate

/// A worker on a simulated log under observation.
final class ObservedWorker {
    let cluster: SimulatedCluster
    let log: SimulatedLog
    let factory = TestMetrics()
    let tracer = InMemoryTracer()
    private var worker: Worker<ObservedLog<SimulatedLog>>
    private let metrics: WorkerMetrics

    init(partitionCount: Int32 = 1) {
        cluster = SimulatedCluster(partitionCount: partitionCount)
        log = SimulatedLog(cluster: cluster, member: "one")
        let metrics = WorkerMetrics(worker: 0, topics: TopicNames(), factory: factory)
        self.metrics = metrics
        let batchTracer = BatchTracer(tracer, worker: 0, topics: TopicNames())
        worker = Worker(
            log: ObservedLog(log, metrics: metrics, tracer: batchTracer),
            settings: WorkerSettings(
                menu: .standard, language: .english, partitionCount: partitionCount, group: "group", instance: "one", answerBytes: 0
            ), onEvent: { metrics.record($0) })
    }

    /// Steps until there is nothing to do.
    func run() {
        for _ in 0..<1000 {
            cluster.writeAllMarkers()
            let step = worker.step()
            metrics.record(worker.held)
            if step == .idle || step == .stopped { return }
        }
    }

    func stop() {
        worker.requestStop()
        run()
    }

    func order(_ id: String, _ juice: String, headers: [MessageHeader] = []) {
        send(#"{"orderId":"\#(id)","juice":"\#(juice)"}"#, headers: headers)
    }

    func send(_ value: String, headers: [MessageHeader] = []) {
        cluster.send(.orders, partition: 0, key: Array("gangnam".utf8), value: Array(value.utf8), headers: headers)
    }

    /// Makes the next call of a kind fail.
    func fail(_ call: SimulatedLog.Call, with error: LogError) {
        var isDue = true
        log.fault = { made in
            guard isDue, made == call else { return nil }
            isDue = false
            return error
        }
    }

    func count(_ metric: ServiceMetric, _ dimensions: [(String, String)] = []) -> Int64 {
        factory.counterTotal(label: metric.rawValue, dimensions: dimensions)
    }

    /// The value of one of this worker's gauges.
    func gauge(_ metric: ServiceMetric) -> Double? {
        (try? factory.expectRecorder(metric.rawValue, [("worker", "0")]))?.lastValue
    }

    /// The durations that a timer has recorded, in nanoseconds.
    func durations(_ metric: ServiceMetric) -> [Int64] {
        factory.timers(label: metric.rawValue).flatMap(\.values)
    }
}
