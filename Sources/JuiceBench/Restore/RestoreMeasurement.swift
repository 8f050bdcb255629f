import JuiceClient
import JuiceMaker
import JuiceMessages

/// The settings of a restore measurement: how fast the service restores its stores, and how much memory a store takes.
package struct RestorePlan: BrokerMeasurement, Encodable, Equatable {
    let stores: Int
    let partitions: Int
    let rounds: Int

    /// A measurement of starts with this many stores in each round.
    package init(stores: Int, partitions: Int, rounds: Int) {
        (self.stores, self.partitions, self.rounds) = (stores, partitions, rounds)
    }

    /// Measures; see ``BrokerMeasurement/measure(at:)``.
    package func measure(at site: BenchSite) throws -> any BenchReport {
        try RestoreMeasurement(site: site, plan: self).report()
    }
}

/// Measures starts of the service round by round.
struct RestoreMeasurement {
    /// How long a start with all stores may take.
    private static let restoreTimeout = Duration.seconds(300)

    let site: BenchSite
    let plan: RestorePlan

    func report() throws -> RestoreReport {
        let empty = try site.makeServiceTopics("empty", partitions: plan.partitions)
        let full = try site.makeServiceTopics("full", partitions: plan.partitions)
        try fill(full.stock)
        try writeJournal(full)
        let rounds = try (1...plan.rounds).map { try round($0, empty: empty, full: full) }
        return RestoreReport(machine: site.machine, settings: plan, rounds: rounds)
    }

    private func fill(_ topic: String) throws {
        let encoder = AnswerEncoder(menu: .standard)
        var buffer = OutputBuffer()
        var random = SeededGenerator(seed: 1)
        let producer = try BulkProducer(site.connection)
        try producer.fill(topic, count: plan.stores) { number in
            let key = BenchOrders.store(number)
            let levels =
                (try? FruitStore(levels: Menu.standard.fruits.map { _ in Int.random(in: 0...10, using: &random) }))
                ?? FruitStore(menu: .standard)
            buffer.removeAll()
            key.withUnsafeBytes {
                encoder.stock(store: BorrowedText($0), revision: 1 + number % 100, levels: levels, into: &buffer)
            }
            return (key, buffer.bytes)
        } onProgress: { done in
            try site.checkInterruption()
            site.onProgress(.step("writing stock", done: done, total: plan.stores))
        }
    }

    /// Writes what the service that wrote the stock would have left. It refuses stock without a journal.
    private func writeJournal(_ topics: TopicNames) throws {
        let stock = try TopicReader(site.connection, topic: topics.stock, deadline: Deadline(after: BenchSite.idleTimeout))
        let partitions = Int32(clamping: plan.partitions)
        let producer = try BulkProducer(site.connection)
        var buffer = OutputBuffer()
        for partition in 0..<partitions {
            let notes: [JournalNote] = [
                .claim(
                    JournalClaim(ids: ["bench"], since: 0, group: "bench", instance: "bench", partitions: partitions, next: [:])),
                .position(
                    JournalPosition(
                        next: [.orders: 0, .restocks: 0], added: [:], stock: stock.watermarks[partition]?.high ?? 0, claim: 0,
                        ids: ["bench"], forwarded: [:])),
            ]
            try producer.fill(topics.results, partition: partition, count: notes.count) { number in
                buffer.removeAll()
                notes[number].write(into: &buffer)
                return ([], buffer.bytes)
            } onProgress: { _ in
                try site.checkInterruption()
            }
        }
    }

    private func round(_ number: Int, empty: TopicNames, full: TopicNames) throws -> RestoreReport.Round {
        let title = "round \(number) of \(plan.rounds)"
        var done = 0
        func step<Result>(_ body: () throws -> Result) rethrows -> Result {
            site.onProgress(.step(title, done: done, total: 5))
            done += 1
            return try body()
        }
        let starts = try inTurns(number, [empty, full]) { topics in try step { try start(topics, number) } }
        let reads = try inTurns(number, [(empty, 0), (full, plan.stores)]) { topics, records in
            try step { try read(topics.stock, records: records) }
        }
        let round = RestoreReport.Round(
            stores: plan.stores, empty: starts[0], full: starts[1], emptyReadSeconds: reads[0], fullReadSeconds: reads[1],
            firstAnswerSeconds: try step { try firstAnswer(number) })
        site.onProgress(.finished("\(title): ready after \(Figure.text(round.full.seconds)) s with all stores"))
        return round
    }

    /// Measures from the start of the process until it is ready, each time in a new group.
    private func start(_ topics: TopicNames, _ number: Int) throws -> RestoreReport.Start {
        let start = ContinuousClock.now
        let child = try site.startService(topics, group: "\(topics.orders).\(number)")
        defer { site.stop(child) }
        try site.waitUntilReady(child, timeout: Self.restoreTimeout)
        return RestoreReport.Start(
            seconds: (ContinuousClock.now - start) / .seconds(1), cpuSeconds: child.processorTime.map { $0 / .seconds(1) },
            residentBytes: child.residentBytes)
    }

    /// Measures the bare read, in seconds.
    private func read(_ topic: String, records: Int) throws -> Double {
        let start = ContinuousClock.now
        let child = try site.startRead(of: topic, partitions: plan.partitions)
        defer { site.stop(child) }
        var status: Int32?
        let deadline = Deadline(after: Self.restoreTimeout)
        while status == nil {
            try site.checkInterruption()
            if deadline.isOver { throw child.failure("does not end") }
            status = child.status(within: .milliseconds(200))
        }
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        guard status == 0 else { throw child.failure("failed") }
        guard child.output.hasPrefix("\(records) records") else { throw child.failure("should have read \(records) records") }
        return seconds
    }

    /// Measures from the start of the process until a waiting order is answered, in seconds.
    private func firstAnswer(_ number: Int) throws -> Double {
        let topics = try site.makeServiceTopics("first.\(number)", partitions: plan.partitions)
        defer { site.delete(topics: topics.all) }
        let reader = try AnswerStream(site.connection, topic: topics.results)
        var orders = BenchOrders(stores: 1)
        try BulkProducer(site.connection).fill(topics.orders, count: 1) {
            orders.next(number: $0)
        } onProgress: { _ in
        }

        let start = ContinuousClock.now
        let child = try site.startService(topics, group: topics.orders + ".group")
        defer { site.stop(child) }
        let deadline = Deadline(after: BenchSite.idleTimeout)
        while !deadline.isOver {
            try site.checkInterruption()
            try child.check()
            if let answered = try reader.poll({ _, _ in }) { return (answered - start) / .seconds(1) }
        }
        throw child.failure("answers nothing")
    }
}
