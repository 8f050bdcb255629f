import JuiceService
import Kafka

/// Measures latency, round after round.
struct LatencyMeasurement {
    private let site: BenchSite
    private let plan: LatencyPlan

    init(_ site: BenchSite, _ plan: LatencyPlan) {
        self.site = site
        self.plan = plan
    }

    func report() throws -> LatencyReport {
        var rounds: [LatencyReport.Round] = []
        for number in 1...plan.rounds {
            let isServiceFirst = number % 2 == 1
            let first = try isServiceFirst ? service(number) : copy(number)
            let second = try isServiceFirst ? copy(number) : service(number)
            rounds.append(
                LatencyReport.Round(
                    service: isServiceFirst ? first : second,
                    copy: isServiceFirst ? second : first
                )
            )
        }
        return LatencyReport(machine: site.machine, settings: plan, rounds: rounds)
    }

    private func service(_ number: Int) throws -> LatencyFigures {
        let topics = try site.makeServiceTopics("\(number).service", partitions: plan.partitions)
        defer { site.delete(topics: topics.all) }
        let ready = site.makePath("ready")
        let child = try site.startService(topics, group: topics.orders + ".group", readyFile: ready)
        defer { site.stop(child) }
        try site.waitUntilReady(child, readyFile: ready)
        let title = "round \(number) of \(plan.rounds), service"
        return try measure(child, from: topics.orders, to: topics.results, title)
    }

    private func copy(_ number: Int) throws -> LatencyFigures {
        let input = try site.makeTopic("\(number).copy.orders", partitions: plan.partitions)
        let output = try site.makeTopic("\(number).copy.results", partitions: plan.partitions)
        defer { site.delete(topics: [input, output]) }
        let ready = site.makePath("ready")
        let child = try site.startCopy(from: input, to: output, group: input + ".group", readyFile: ready)
        defer { site.stop(child) }
        try site.waitUntilReady(child, readyFile: ready)
        return try measure(child, from: input, to: output, "round \(number) of \(plan.rounds), bare copy")
    }

    private func measure(
        _ child: BenchChild,
        from input: String,
        to output: String,
        _ title: String
    ) throws -> LatencyFigures {
        let reader = try AnswerStream(site.connection, topic: output, partitions: plan.partitions)
        let sender = OpenLoopSender(site.connection, topic: input, plan: plan)
        sender.start()
        defer { sender.stop() }
        var start: ContinuousClock.Instant?
        while start == nil {
            try site.checkInterruption()
            start = try sender.firstDue()
            Pause.briefly()
        }
        var times = AnswerTimes(plan: plan, start: start ?? .now)
        var deadline = Deadline(after: BenchSite.patience)
        while !times.isComplete {
            try site.checkInterruption()
            try child.check()
            _ = try sender.firstDue()
            let now = try reader.poll { number, now throws(Failure) in try times.note(number, at: now) }
            if now != nil { deadline = Deadline(after: BenchSite.patience) }
            times.sample(processorTime: child.processorTime)
            guard !deadline.isOver else {
                throw child.failure(
                    "has answered \(times.count) of \(plan.orders) orders and answers no more"
                )
            }
            site.progress.show(title, times.count, of: plan.orders)
        }
        let figures = times.figures(lateness: sender.lateness)
        site.progress.finish(
            "\(title): p50 \(Figure.text(figures.milliseconds.p50)) ms, p99 \(Figure.text(figures.milliseconds.p99)) ms"
        )
        return figures
    }
}

/// When each order was answered.
struct AnswerTimes {
    private let plan: LatencyPlan
    private let start: ContinuousClock.Instant
    /// In milliseconds from when the order was due; negative where it has no answer yet.
    private var latencies: [Double]
    private(set) var count = 0
    private var first: (count: Int, processorTime: Duration?)?
    private var last: (count: Int, processorTime: Duration?)?

    init(plan: LatencyPlan, start: ContinuousClock.Instant) {
        self.plan = plan
        self.start = start
        latencies = Array(repeating: -1, count: plan.orders)
    }

    var isComplete: Bool { count == plan.orders }

    mutating func note(_ number: Int, at time: ContinuousClock.Instant) throws(Failure) {
        guard latencies.indices.contains(number), latencies[number] < 0 else {
            throw Failure(.software, "order \(number) was answered twice, or never sent")
        }
        latencies[number] = max(0, (time - start - plan.due(number)) / .milliseconds(1))
        count += 1
    }

    /// Notes the processor time used so far. What was used before the warm-up was over does not count.
    mutating func sample(processorTime: Duration?) {
        guard count >= plan.warmUpOrders else { return }
        if first == nil { first = (count, processorTime) }
        last = (count, processorTime)
    }

    func figures(lateness: [Double]) -> LatencyFigures {
        var cpu: Double?
        if let first, let last, last.count > first.count, let end = last.processorTime,
            let start = first.processorTime
        {
            cpu = (end - start) / .microseconds(1) / Double(last.count - first.count)
        }
        let late = lateness.dropFirst(plan.warmUpOrders).sorted()
        return LatencyFigures(
            milliseconds: LatencyDistribution(sorted: latencies.dropFirst(plan.warmUpOrders).sorted()),
            cpuMicrosecondsPerOrder: cpu,
            senderLateMilliseconds: LatencyDistribution(sorted: late)
        )
    }
}

/// Reads answers as soon as they are committed.
///
/// It belongs to one thread.
final class AnswerStream {
    private let connection: Connection
    private let consumer: Consumer

    /// Reads the topic from its start.
    init(_ connection: Connection, topic: String, partitions: Int) throws(Failure) {
        self.connection = connection
        let configuration = KafkaConfiguration(["fetch.wait.max.ms": "10", "fetch.min.bytes": "1"])
            .merging(connection.properties)
            .merging([
                "bootstrap.servers": connection.bootstrapServers, "group.id": "juice-bench",
                "enable.auto.commit": "false", "isolation.level": "read_committed",
            ])
        do throws(KafkaError) {
            consumer = try Consumer(configuration: configuration, hooks: .silent)
            try consumer.assign(
                Dictionary(
                    uniqueKeysWithValues: (0..<Int32(clamping: partitions)).map {
                        (TopicPartition(topic: topic, partition: $0), 0)
                    }
                )
            )
        } catch {
            throw connection.failure(error)
        }
    }

    deinit { consumer.close() }

    /// Calls `body` with the number of each order whose answer is at hand, after waiting for the first for a moment.
    ///
    /// - Returns: when they were at hand; nil where there are none.
    func poll(
        _ body: (Int, ContinuousClock.Instant) throws(Failure) -> Void
    ) throws(Failure) -> ContinuousClock.Instant? {
        let batch: RecordBatch
        do throws(KafkaError) {
            batch = try consumer.poll(maxRecords: 1_000, timeout: .milliseconds(20))
        } catch {
            throw connection.failure(error)
        }
        let now = ContinuousClock.now
        var found: ContinuousClock.Instant?
        for element in batch {
            switch element {
            case .record(let record):
                guard let value = record.value, let number = BenchOrders.number(in: value) else { continue }
                try body(number, now)
                found = now
            case .failure(_, let error) where error.remedy != .retry: throw connection.failure(error)
            case .failure, .endOfPartition: continue
            }
        }
        return found
    }
}
