import JuiceClient

/// The settings of a throughput measurement: in every round all contenders process the same orders.
package struct EndToEndPlan: BrokerMeasurement, Encodable, Equatable {
    /// Fewer orders are processed before they can be timed.
    package static let fewestOrders = 50_000

    let orders: Int
    let stores: Int
    let initialStock: Int
    let partitions: Int
    let rounds: Int

    /// A measurement with this many orders and stores in each round; stores start with `initialStock` of each fruit.
    package init(orders: Int, stores: Int, initialStock: Int, partitions: Int, rounds: Int) {
        (self.orders, self.stores, self.initialStock) = (orders, stores, initialStock)
        (self.partitions, self.rounds) = (partitions, rounds)
    }

    /// Measures; see ``BrokerMeasurement/measure(at:)``.
    package func measure(at site: BenchSite) throws -> any BenchReport {
        try EndToEndMeasurement(site: site, plan: self).report()
    }
}

/// Measures throughput round by round.
struct EndToEndMeasurement {
    let site: BenchSite
    let plan: EndToEndPlan

    func report() throws -> EndToEndReport {
        let answerSize = try AnswerSize.mean(orders: plan.orders, stores: plan.stores, initialStock: plan.initialStock)
        let rounds = try (1...plan.rounds).map { try round($0, answerSize: answerSize) }
        return EndToEndReport(machine: site.machine, settings: plan, answerBytes: answerSize, rounds: rounds)
    }

    private func round(_ number: Int, answerSize: Int) throws -> EndToEndReport.Round {
        let title = "round \(number) of \(plan.rounds)"
        let topics = try site.makeServiceTopics("\(number)", partitions: plan.partitions)
        let bare = try site.makeTopic("\(number).bare", partitions: plan.partitions)
        let least = try site.makeTopic("\(number).least", partitions: plan.partitions)
        defer { site.delete(topics: topics.all + [bare, least]) }
        try fill(topics.orders, title)

        let results = try inTurns(number, Contender.allCases) { contender in
            let output =
                switch contender {
                case .service: topics.results
                case .bare: bare
                case .least: least
                }
            return try measure(output, group: "\(topics.orders).\(contender)", "\(title), \(contender.name)") { group in
                switch contender {
                case .service: try site.startService(topics, group: group, initialStock: plan.initialStock)
                case .bare, .least:
                    try site.startBareLoop(
                        from: topics.orders, to: output, group: group, answerSize: answerSize, sendsOffsets: contender == .bare)
                }
            }
        }
        return EndToEndReport.Round(service: results[0], bare: results[1], least: results[2])
    }

    private func fill(_ topic: String, _ title: String) throws {
        var orders = BenchOrders(stores: plan.stores)
        let producer = try BulkProducer(site.connection)
        try producer.fill(topic, count: plan.orders) {
            orders.next(number: $0)
        } onProgress: { done in
            try site.checkInterruption()
            site.onProgress(.step("\(title), filling", done: done, total: plan.orders))
        }
    }

    /// Times a process from the first progress seen to the last order.
    private func measure(
        _ output: String,
        group: String,
        _ title: String,
        start: (_ group: String) throws -> BenchChild
    ) throws -> Throughput {
        let progress = try OutputProgress(
            site.connection,
            topic: output,
            partitions: plan.partitions
        )
        let child = try start(group)
        defer { site.stop(child) }

        var first: ThroughputSample?
        var done = 0
        var deadline = Deadline(after: BenchSite.idleTimeout)
        while true {
            try site.checkInterruption()
            try child.check()
            let sample = ThroughputSample(time: .now, done: try progress.done() ?? done, processorTime: child.processorTime)
            if sample.done > done { deadline = Deadline(after: BenchSite.idleTimeout) }
            done = sample.done
            if first == nil, done > 0 { first = sample }
            if done >= plan.orders, let first {
                guard let result = sample.since(first, residentBytes: child.residentBytes) else {
                    throw Failure(.usage, "--orders is too small: all of them were processed before they could be timed")
                }
                finish(title, result)
                return result
            }
            guard !deadline.isOver else { throw child.failure("is at \(done) of \(plan.orders) orders and makes no progress") }
            site.onProgress(.step(title, done: done, total: plan.orders))
            // Poll faster near the start and the end, which determine the measured time.
            let isNearAnEnd = first == nil || done > plan.orders / 100 * 95
            isNearAnEnd ? Pause.briefly() : Pause.betweenSamples()
        }
    }

    private func finish(_ title: String, _ result: Throughput) {
        let cpu = result.cpuMicrosecondsPerOrder.map { ", \(Figure.text($0)) µs each" } ?? ""
        site.onProgress(.finished("\(title): \(Figure.text(result.ordersPerSecond)) orders/s\(cpu)"))
    }
}
