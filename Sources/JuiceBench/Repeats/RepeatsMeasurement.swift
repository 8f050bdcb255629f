import JuiceClient
import JuiceMaker

/// The settings of a measurement of repeats, whose first answers the service must read back from the journal.
package struct RepeatsPlan: BrokerMeasurement, Encodable, Equatable {
    /// How many repeats in order there are for each scattered one.
    private static let scatteredShare = 10

    let orders: Int
    let stores: Int
    let partitions: Int
    let rounds: Int

    /// A measurement with this many orders, a tenth of which are sent again.
    package init(orders: Int, stores: Int, partitions: Int, rounds: Int) {
        (self.orders, self.stores, self.partitions, self.rounds) = (orders, stores, partitions, rounds)
    }

    /// The oldest orders: those whose answers the service has not had at hand for longest.
    var inOrder: [Int] { Array(0..<orders / 10) }

    /// Orders from anywhere.
    func scattered(_ round: Int) -> [Int] {
        var random = SeededGenerator(seed: UInt64(round))
        return (0..<inOrder.count / Self.scatteredShare).map { _ in Int.random(in: 0..<orders, using: &random) }
    }

    /// Measures; see ``BrokerMeasurement/measure(at:)``.
    package func measure(at site: BenchSite) throws -> any BenchReport {
        try RepeatsMeasurement(site: site, plan: self).report()
    }
}

/// Measures new orders, repeats in order and scattered repeats, round by round.
struct RepeatsMeasurement {
    let site: BenchSite
    let plan: RepeatsPlan

    func report() throws -> RepeatsReport {
        RepeatsReport(machine: site.machine, settings: plan, rounds: try (1...plan.rounds).map { try round($0) })
    }

    private func round(_ number: Int) throws -> RepeatsReport.Round {
        let title = "round \(number) of \(plan.rounds)"
        let topics = try site.makeServiceTopics("\(number)", partitions: plan.partitions)
        defer { site.delete(topics: topics.all) }
        let service = try site.startService(topics, group: topics.orders + ".group")
        defer { site.stop(service) }
        try site.waitUntilReady(service)
        let progress = try OutputProgress(site.connection, topic: topics.results, partitions: plan.partitions)
        func send(_ numbers: [Int], _ what: String) throws -> Throughput {
            try throughput(of: service, sending: numbers, to: topics.orders, progress, "\(title), \(what)")
        }
        return RepeatsReport.Round(
            new: try send(Array(0..<plan.orders), "new orders"), inOrder: try send(plan.inOrder, "repeats in order"),
            scattered: try send(plan.scattered(number), "scattered repeats"))
    }

    /// Times from the first order sent to the last one answered.
    private func throughput(
        of service: BenchChild, sending numbers: [Int], to topic: String, _ progress: OutputProgress, _ title: String
    ) throws -> Throughput {
        var done = try progress.done() ?? 0
        let goal = done + numbers.count
        let start = ThroughputSample(time: .now, done: 0, processorTime: service.processorTime)
        var orders = BenchOrders(stores: plan.stores)
        try BulkProducer(site.connection).fill(topic, count: numbers.count) {
            orders.again(number: numbers[$0])
        } onProgress: { _ in
            try site.checkInterruption()
        }
        var deadline = Deadline(after: BenchSite.idleTimeout)
        while done < goal {
            try site.checkInterruption()
            try service.check()
            let before = done
            done = try progress.done() ?? done
            if done > before { deadline = Deadline(after: BenchSite.idleTimeout) }
            guard !deadline.isOver else { throw service.failure("lacks \(goal - done) answers") }
            site.onProgress(.step(title, done: numbers.count - goal + done, total: numbers.count))
            Pause.briefly()
        }
        let end = ThroughputSample(time: .now, done: numbers.count, processorTime: service.processorTime)
        guard let result = end.since(start, residentBytes: service.residentBytes) else { throw service.failure("cannot be timed") }
        site.onProgress(.finished("\(title): \(Figure.text(result.ordersPerSecond)) orders/s"))
        return result
    }
}
