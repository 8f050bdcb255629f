import ArgumentParser
import Foundation
import JuiceDomain

/// `lab bench repeats`: the cost of repeats of old orders.
struct Repeats: BrokerMeasurement {
    static let configuration = CommandConfiguration(
        abstract: "What repeats of old orders cost, whose answers are read back from the results.",
        discussion: """
            Each round sends new orders, then the oldest tenth of them again in order, then a hundredth of them from anywhere. \
            Each time is from the first order sent to the last one answered.

            Goal: repeats in order at a quarter of the speed of new orders or more.

            Example:
              lab bench repeats --bootstrap-servers kafka:9092 --partitions 4 --orders 400000
            """)

    // The service must still remember all of them.
    @Option(help: "Orders in each round.", transform: whole(100_000...1_000_000)) var orders = 1_000_000

    @Option(help: "The number of stores that the orders are for.", transform: whole(1...OrderGenerator.mostStores))
    var stores = 1_000

    @Option(help: "Partitions of each topic.", transform: whole(1...1_000)) var partitions = 1
    @Option(help: "The number of rounds.", transform: whole(1...1_000)) var rounds = 3
    @OptionGroup var broker: BrokerOptions

    func measure(at site: Site) throws -> Report {
        var report = try site.report(
            "repeats", ["orders": orders, "stores": stores, "partitions": partitions, "rounds": rounds])
        for number in 1...rounds { try measure(number, at: site, into: &report) }
        return report
    }

    private func measure(_ number: Int, at site: Site, into report: inout Report) throws {
        let topics = try site.makeTopics("\(number)", partitions: partitions)
        defer { site.delete(topics.all) }
        let service = try site.startService(topics, group: topics.results)
        defer { service.stop() }
        try service.waitUntilReady()
        let count = try RecordCount(site.cluster, of: topics.results, partitions: partitions)

        /// Times from the first order sent to the last one answered.
        func send(_ numbers: [Int], _ what: String) throws -> Throughput {
            let goal = (try count() ?? 0) + numbers.count
            let start = ThroughputSample(done: 0, processorTime: service.processorTime)
            var generator = OrderGenerator(stores: stores)
            try site.fill(topics.orders, count: numbers.count) { generator.again(number: numbers[$0]) }
            var done = 0
            try follow("answers", of: service, to: goal) {
                usleep(1_000)
                done = try count() ?? done
                return done
            }
            let end = ThroughputSample(done: numbers.count, processorTime: service.processorTime)
            guard let result = Throughput(from: start, to: end, residentBytes: service.residentBytes) else {
                throw service.failure("cannot be timed")
            }
            note("round \(number) of \(rounds), \(what): \(result.text)")
            return result
        }
        let new = try send(Array(0..<orders), "new")
        // The orders whose answers left the service's memory first.
        let inOrder = try send(Array(0..<orders / 10), "in order")
        var random = SeededGenerator(seed: UInt64(number))
        let scattered = try send((0..<orders / 100).map { _ in Int.random(in: 0..<orders, using: &random) }, "scattered")

        report.add("orders/s, new", new.ordersPerSecond)
        report.add("orders/s, in order", inOrder.ordersPerSecond)
        report.add("orders/s, scattered", scattered.ordersPerSecond)
        report.add("orders/s, in order to new", inOrder.ordersPerSecond / new.ordersPerSecond, .atLeast(0.25))
        report.add("orders/s, scattered to new", scattered.ordersPerSecond / new.ordersPerSecond)
        report.add("µs/order, in order", inOrder.microsecondsPerOrder)
        report.add("µs/order, scattered", scattered.microsecondsPerOrder)
        report.add("MB, after the new orders", new.megabytes)
        report.add("MB, at the end", scattered.megabytes)
    }
}
