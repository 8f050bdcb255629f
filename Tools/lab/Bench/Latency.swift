import ArgumentParser
import Foundation
import JuiceMessages
import Kafka
import Synchronization

/// `lab bench latency`: how long orders wait for their answers.
struct Latency: BrokerMeasurement {
    static let configuration = CommandConfiguration(
        abstract: "How long orders wait for their answers at a steady rate, beside a bare loop.",
        discussion: """
            The latency of an order is the time from when it was due until its committed answer is read. The first second is not \
            counted.

            Goals: at most 0.85 times the bare loop's p50 (0.80 up to 300 orders/s), at most its p99, and at most 1.3 times those \
            of a loop without offsets in its transactions (1.15 times its p50 up to 300 orders/s).

            Example:
              lab bench latency --bootstrap-servers kafka:9092 --rate 100 --duration 60
            """)

    @Option(help: "Orders per second.", transform: whole(1...1_000_000)) var rate = 1_000
    @Option(help: "How long each contender is measured per round, in seconds.", transform: whole(1...3_600)) var duration = 20

    @Option(
        help: """
            The initial stock of each fruit in each store: with 0 every order is out of stock, and no transaction writes stock.
            """, transform: whole(0...1_000_000_000))
    var initialStock = 10

    @Option(help: "What `juice serve` is given as its commit interval.") var commitInterval = "0ms"
    @Option(help: "Partitions of each topic.", transform: whole(1...1_000)) var partitions = 4
    @Option(help: "The number of rounds.", transform: whole(1...1_000)) var rounds = 3
    @OptionGroup var broker: BrokerOptions

    private static let stores = 1_000

    func measure(at site: Site) throws -> Report {
        let schedule = Schedule(rate: rate, seconds: duration)
        let answerBytes = try meanAnswerSize(orders: schedule.orders, stores: Self.stores, initialStock: initialStock)
        var report = try site.report(
            "latency",
            [
                "rate": rate, "duration": duration, "stores": Self.stores, "initialStock": initialStock, "partitions": partitions,
                "rounds": rounds, "answerBytes": answerBytes,
            ])
        for number in 1...rounds {
            let times = try inTurns(number, Contender.allCases) { contender in
                let topics = try site.makeTopics("\(number).\(contender)", partitions: partitions)
                defer { site.delete(topics.all) }
                let child = try site.start(
                    contender, on: topics, output: topics.results, answerBytes: answerBytes, initialStock: initialStock,
                    serving: ["--commit-interval", commitInterval])
                defer { child.stop() }
                try child.waitUntilReady()
                let times = try measure(child, on: topics, schedule, site.cluster)
                let (p50, p99) = (Figure.text(times.latency(50)), Figure.text(times.latency(99)))
                note("round \(number) of \(rounds), \(contender.rawValue): p50 \(p50) ms, p99 \(p99) ms")
                return times
            }
            add(times, to: &report)
        }
        return report
    }

    func add(_ times: [Contender: AnswerTimes], to report: inout Report) {
        // At a low rate each order has its own transaction, so the offsets that the service does not send weigh most.
        let goals = rate <= 300 ? (bare: 0.80, least: 1.15) : (bare: 0.85, least: 1.3)
        report.compare(
            "p50 ms", times.mapValues { $0.latency(50) }, toBare: .atMost(goals.bare), toLeast: .atMost(goals.least))
        report.compare("p90 ms", times.mapValues { $0.latency(90) })
        report.compare("p99 ms", times.mapValues { $0.latency(99) }, toBare: .atMost(1), toLeast: .atMost(1.3))
        report.compare("p99.9 ms", times.mapValues { $0.latency(99.9) })
        report.compare("max ms", times.mapValues { $0.latency(100) })
        report.compare("µs/order", times.mapValues(\.microsecondsPerOrder))
        report.compare("sent late p99 ms", times.mapValues { $0.lateness(99) })
    }

    private func measure(_ child: Child, on topics: TopicNames, _ schedule: Schedule, _ cluster: BenchCluster) throws -> AnswerTimes
    {
        let reader = try AnswerReader(cluster, of: topics.results)
        let sender = OpenLoopSender(cluster, topic: topics.orders, schedule, stores: Self.stores)
        defer { sender.stop() }
        var start: ContinuousClock.Instant?
        try wait(for: Site.patience, every: .milliseconds(1)) {
            start = try sender.firstDue()
            return start != nil
        }
        guard let start else { throw ToolError("the benchmark does not connect to \(topics.orders)") }
        var times = AnswerTimes(schedule, start: start)
        try follow("answers", of: child, to: schedule.orders) {
            _ = try sender.firstDue()
            _ = try reader.poll { number, now in try times.record(number, at: now) }
            times.sample(processorTime: child.processorTime)
            return times.count
        }
        times.lateness = sender.lateness
        return times
    }
}

/// When orders are due.
struct Schedule: Sendable {
    let rate: Int
    let seconds: Int

    /// The orders of the first second are not counted: clients connect and memory grows.
    var warmUp: Int { rate }
    var orders: Int { warmUp + rate * seconds }

    /// When an order is due, relative to the first.
    func due(_ number: Int) -> Duration { .seconds(number) / rate }
}

/// When each order was answered.
struct AnswerTimes {
    private let schedule: Schedule
    private let start: ContinuousClock.Instant
    /// In milliseconds since the order was due; negative while it has no answer.
    private var latencies: [Double]
    private(set) var count = 0
    private var first: ThroughputSample?
    private var last: ThroughputSample?
    /// How late each order was sent, in milliseconds.
    var lateness: [Double] = []

    init(_ schedule: Schedule, start: ContinuousClock.Instant) {
        (self.schedule, self.start) = (schedule, start)
        latencies = Array(repeating: -1, count: schedule.orders)
    }

    /// Records the answer to an order. Throws ``ToolError`` if it was answered before, or never sent.
    mutating func record(_ number: Int, at time: ContinuousClock.Instant) throws {
        guard latencies.indices.contains(number), latencies[number] < 0 else {
            throw ToolError("order \(number) was answered twice, or never sent")
        }
        latencies[number] = max(0, (time - start - schedule.due(number)) / .milliseconds(1))
        count += 1
    }

    /// Samples the processor time used so far. Samples during the warm-up are ignored.
    mutating func sample(processorTime: Duration?) {
        guard count >= schedule.warmUp else { return }
        last = ThroughputSample(done: count, processorTime: processorTime)
        first = first ?? last
    }

    /// A percentile of the latencies without the warm-up, in milliseconds.
    func latency(_ percent: Double) -> Double? { percentile(percent, of: latencies) }

    /// A percentile of how late orders were sent: the sender's own share of the latencies.
    func lateness(_ percent: Double) -> Double? { percentile(percent, of: lateness) }

    private func percentile(_ percent: Double, of values: [Double]) -> Double? {
        Figure.percentile(percent, ofSorted: values.dropFirst(schedule.warmUp).sorted())
    }

    /// Processor time of the process, without the warm-up.
    var microsecondsPerOrder: Double? {
        first.flatMap { first in last.flatMap { Throughput(from: first, to: $0)?.microsecondsPerOrder } }
    }
}

/// Sends orders when they are due, without waiting for answers (an open loop), on a thread of its own.
final class OpenLoopSender: Sendable {
    private struct State {
        var start: ContinuousClock.Instant?
        var failure: KafkaError?
        var lateness: [Double] = []
        var isStopped = false
    }

    private let state = Mutex(State())

    /// Starts the thread, which connects and then sends.
    init(_ cluster: BenchCluster, topic: String, _ schedule: Schedule, stores: Int) {
        Thread.detachNewThread { [self] in
            do throws(KafkaError) {
                try send(cluster, topic, schedule, OrderGenerator(stores: stores))
            } catch {
                state.withLock { $0.failure = error }
            }
        }
    }

    func stop() { state.withLock { $0.isStopped = true } }

    /// When the first order is due; nil before the thread has connected. Throws the error of a failed thread.
    func firstDue() throws(KafkaError) -> ContinuousClock.Instant? {
        let (start, failure) = state.withLock { ($0.start, $0.failure) }
        if let failure { throw failure }
        return start
    }

    /// How late each order was sent, in milliseconds.
    var lateness: [Double] { state.withLock(\.lateness) }

    private func send(_ cluster: BenchCluster, _ topic: String, _ schedule: Schedule, _ orders: OrderGenerator) throws(KafkaError) {
        var orders = orders
        let producer = try cluster.producer(["linger.ms": "0", "message.timeout.ms": "30000"])
        _ = try producer.metadata(topics: [topic], timeout: .seconds(10))
        let start = ContinuousClock.now + .milliseconds(100)
        state.withLock { $0.start = start }

        var lateness: [Double] = []
        lateness.reserveCapacity(schedule.orders)
        for number in 0..<schedule.orders {
            let due = start + schedule.due(number)
            guard wait(until: due, producer) else { return }
            let (key, value) = orders.next(number: number)
            try producer.produce(topic: topic, key: key, value: value) { [self] result in
                if case .failure(let error) = result { state.withLock { $0.failure = error } }
            }
            lateness.append((ContinuousClock.now - due) / .milliseconds(1))
        }
        state.withLock { $0.lateness = lateness }
        // Destroying the producer would drop undelivered records.
        while !state.withLock(\.isStopped) { producer.poll(timeout: .milliseconds(20)) }
    }

    /// - Returns: false if the sender was stopped or has failed.
    private func wait(until due: ContinuousClock.Instant, _ producer: Producer) -> Bool {
        producer.poll(timeout: .zero)
        while !state.withLock({ $0.isStopped || $0.failure != nil }) {
            let rest = due - .now
            guard rest > .zero else { return true }
            usleep(UInt32(max(1, min(rest, .milliseconds(20)) / .microseconds(1))))
        }
        return false
    }
}
