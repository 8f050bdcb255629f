import ArgumentParser
import JuiceMessages

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
    @OptionGroup var comparison: ContenderOptions
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
            let times = try inTurns(number, comparison.contenders) { contender in
                let topics = try site.makeTopics("\(number).\(contender.topicName)", partitions: partitions)
                defer { site.delete(topics.all) }
                let child = try site.start(
                    contender, on: topics, output: topics.results, answerBytes: answerBytes, initialStock: initialStock,
                    serving: ["--commit-interval", commitInterval])
                defer { child.stop() }
                try child.waitUntilReady()
                let times = try measure(child, on: topics, schedule, site.cluster)
                let (p50, p99) = (Figure.text(times.latency(50)), Figure.text(times.latency(99)))
                note("round \(number) of \(rounds), \(contender.name): p50 \(p50) ms, p99 \(p99) ms")
                try site.judge(
                    contender, topics.results, orders: schedule.orders, stores: Self.stores, initialStock: initialStock)
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
            "p50 ms", times.mapValues { $0.latency(50) }, goals: [.bare: .atMost(goals.bare), .least: .atMost(goals.least)])
        report.compare("p90 ms", times.mapValues { $0.latency(90) })
        report.compare("p99 ms", times.mapValues { $0.latency(99) }, goals: [.bare: .atMost(1), .least: .atMost(1.3)])
        report.compare("p99.9 ms", times.mapValues { $0.latency(99.9) })
        report.compare("max ms", times.mapValues { $0.latency(100) })
        report.compare("µs/order", times.mapValues { $0.throughput?.microsecondsPerOrder })
        comparison.addBroker(times.compactMapValues(\.throughput), to: &report)
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
            _ = try reader.poll { number, _, now in try times.record(number, at: now) }
            times.sample(processorTime: child.processorTime, brokerTime: comparison.brokerTime)
            return times.count
        }
        times.lateness = sender.lateness
        return times
    }
}
