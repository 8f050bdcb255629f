import JuiceClient

/// The settings of a latency measurement: how long orders wait for their answers at a steady rate.
package struct LatencyPlan: BrokerMeasurement, Encodable, Equatable {
    /// The warm-up is not counted: clients connect and memory grows.
    static let warmUpSeconds = 1

    let rate: Int
    let durationSeconds: Int
    let stores = 1_000
    let initialStock: Int
    let partitions: Int
    let rounds: Int

    /// A measurement with `rate` orders per second for `durationSeconds` in each round.
    package init(rate: Int, durationSeconds: Int, initialStock: Int, partitions: Int, rounds: Int) {
        (self.rate, self.durationSeconds, self.initialStock) = (rate, durationSeconds, initialStock)
        (self.partitions, self.rounds) = (partitions, rounds)
    }

    /// The number of orders in the warm-up.
    var warmUpOrders: Int { rate * Self.warmUpSeconds }
    var orders: Int { warmUpOrders + rate * durationSeconds }

    /// When an order is due, relative to the first.
    func due(_ number: Int) -> Duration { .seconds(number) / rate }

    /// Measures; see ``BrokerMeasurement/measure(at:)``.
    package func measure(at site: BenchSite) throws -> any BenchReport {
        try LatencyMeasurement(site: site, plan: self).report()
    }
}

/// Measures latency round by round.
struct LatencyMeasurement {
    let site: BenchSite
    let plan: LatencyPlan

    func report() throws -> LatencyReport {
        let answerSize = try AnswerSize.mean(orders: plan.orders, stores: plan.stores, initialStock: plan.initialStock)
        let rounds = try (1...plan.rounds).map { number in
            let results = try inTurns(number, Contender.allCases) { contender in
                let title = "round \(number) of \(plan.rounds), \(contender.name)"
                return switch contender {
                case .service: try service(number, title)
                case .bare: try bareLoop("\(number).bare", answerSize: answerSize, title)
                case .least: try bareLoop("\(number).least", answerSize: answerSize, sendsOffsets: false, title)
                }
            }
            return LatencyReport.Round(service: results[0], bare: results[1], least: results[2])
        }
        return LatencyReport(machine: site.machine, settings: plan, answerBytes: answerSize, rounds: rounds)
    }

    private func service(_ number: Int, _ title: String) throws -> LatencyFigures {
        let topics = try site.makeServiceTopics("\(number).service", partitions: plan.partitions)
        defer { site.delete(topics: topics.all) }
        let group = topics.orders + ".group"
        let child = try site.startService(topics, group: group, initialStock: plan.initialStock)
        defer { site.stop(child) }
        try site.waitUntilReady(child)
        return try measure(child, from: topics.orders, to: topics.results, title)
    }

    private func bareLoop(_ name: String, answerSize: Int, sendsOffsets: Bool = true, _ title: String) throws -> LatencyFigures {
        let input = try site.makeTopic("\(name).orders", partitions: plan.partitions)
        let output = try site.makeTopic("\(name).results", partitions: plan.partitions)
        defer { site.delete(topics: [input, output]) }
        let child = try site.startBareLoop(
            from: input, to: output, group: input + ".group", answerSize: answerSize, sendsOffsets: sendsOffsets)
        defer { site.stop(child) }
        try site.waitUntilReady(child)
        return try measure(child, from: input, to: output, title)
    }

    private func measure(_ child: BenchChild, from input: String, to output: String, _ title: String) throws -> LatencyFigures {
        let reader = try AnswerStream(site.connection, topic: output)
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
        var deadline = Deadline(after: BenchSite.idleTimeout)
        while !times.isComplete {
            try site.checkInterruption()
            try child.check()
            _ = try sender.firstDue()
            let now = try reader.poll { number, now throws(Failure) in try times.record(number, at: now) }
            if now != nil { deadline = Deadline(after: BenchSite.idleTimeout) }
            times.sample(processorTime: child.processorTime)
            guard !deadline.isOver else {
                throw child.failure("has answered \(times.count) of \(plan.orders) orders and answers no more")
            }
            site.onProgress(.step(title, done: times.count, total: plan.orders))
        }
        let figures = times.figures(lateness: sender.lateness)
        site.onProgress(
            .finished("\(title): p50 \(Figure.text(figures.milliseconds.p50)) ms, p99 \(Figure.text(figures.milliseconds.p99)) ms"))
        return figures
    }
}
