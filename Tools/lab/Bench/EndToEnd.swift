import ArgumentParser
import Foundation

/// `lab bench end-to-end`: throughput and its cost.
struct EndToEnd: BrokerMeasurement {
    static let configuration = CommandConfiguration(
        commandName: "end-to-end", abstract: "Throughput and processor time per order, beside a bare loop on the same orders.",
        discussion: """
            Goals: at least 0.90 of the bare loop's orders per second, and at most 1.1 times its processor time per order, or 1.3 \
            times that of the loop without offsets.

            Examples:
              lab bench end-to-end --bootstrap-servers kafka:9092 --orders 2000000 --stores 1000000
              lab bench end-to-end --bootstrap-servers kafka:9092 --partitions 64 --json > numbers.json
            """)

    // Fewer are processed before they can be timed.
    @Option(help: "Orders in each round.", transform: whole(50_000...999_999_999)) var orders = 1_000_000

    @Option(help: "The number of stores that the orders are for.", transform: whole(1...OrderGenerator.mostStores))
    var stores = 1_000

    @Option(
        help: """
            The initial stock of each fruit in each store: with 10 most orders are soon out of stock, with 1000000 every juice is \
            made and changes the stock.
            """, transform: whole(0...1_000_000_000))
    var initialStock = 10

    @Option(help: "Partitions of each topic.", transform: whole(1...1_000)) var partitions = 4
    @Option(help: "The number of rounds.", transform: whole(1...1_000)) var rounds = 5
    @OptionGroup var comparison: ContenderOptions
    @OptionGroup var broker: BrokerOptions

    func measure(at site: Site) throws -> Report {
        let answerBytes = try meanAnswerSize(orders: orders, stores: stores, initialStock: initialStock)
        var report = try site.report(
            "end-to-end",
            [
                "orders": orders, "stores": stores, "initialStock": initialStock, "partitions": partitions, "rounds": rounds,
                "answerBytes": answerBytes,
            ])
        for number in 1...rounds {
            let results = try round(number, answerBytes: answerBytes, at: site)
            report.compare("orders/s", results.mapValues(\.ordersPerSecond), goals: [.bare: .atLeast(0.90)])
            report.compare(
                "µs/order", results.mapValues(\.microsecondsPerOrder), goals: [.bare: .atMost(1.1), .least: .atMost(1.3)])
            report.compare("MB", results.mapValues(\.megabytes))
            comparison.addBroker(results, to: &report)
        }
        return report
    }

    private func round(_ number: Int, answerBytes: Int, at site: Site) throws -> [Contender: Throughput] {
        let topics = try site.makeTopics("\(number)", partitions: partitions)
        var outputs: [String] = []
        defer { site.delete(Set(topics.all + outputs)) }
        var generator = OrderGenerator(stores: stores)
        try site.fill(topics.orders, count: orders) { generator.next(number: $0) }

        return try inTurns(number, comparison.contenders) { contender in
            var output = topics.results
            if contender != .service {
                output = try site.makeTopic("\(number).\(contender.topicName)", partitions: partitions)
                outputs.append(output)
            }
            let count = try RecordCount(site.cluster, of: output, partitions: partitions)
            let child = try site.start(
                contender, on: topics, output: output, answerBytes: answerBytes, initialStock: initialStock)
            defer { child.stop() }
            let result = try throughput(of: child, count)
            note("round \(number) of \(rounds), \(contender.name): \(result.text)")
            try site.judge(contender, output, orders: orders, stores: stores, initialStock: initialStock)
            return result
        }
    }

    /// Times a process from the first progress seen to the last order.
    private func throughput(of child: Child, _ count: RecordCount) throws -> Throughput {
        var first: ThroughputSample?
        var last: ThroughputSample?
        try follow("orders", of: child, to: orders) {
            let done = last?.done ?? 0
            // Faster near the start and the end, which determine the measured time.
            usleep(first == nil || done > orders / 100 * 95 ? 1_000 : 20_000)
            let sample = ThroughputSample(
                done: try count() ?? done, processorTime: child.processorTime, brokerTime: comparison.brokerTime)
            if first == nil, sample.done > 0 { first = sample }
            last = sample
            return sample.done
        }
        guard let first, let last, let result = Throughput(from: first, to: last, residentBytes: child.residentBytes) else {
            throw ToolError("--orders is too small: all of them were processed before they could be timed", status: 64)
        }
        return result
    }
}

/// Calls `body` for each thing, starting with a different one each round, so that the effects of being first or last even out.
func inTurns<Thing: Hashable, Result>(
    _ round: Int, _ things: [Thing], _ body: (Thing) throws -> Result
) rethrows -> [Thing: Result] {
    let first = (round - 1) % things.count
    return try (things[first...] + things[..<first]).reduce(into: [:]) { $0[$1] = try body($1) }
}
