import ArgumentParser
import Foundation
import JuiceDomain
import JuiceMessages

/// `lab bench restore`: how fast stores are restored, and how much memory a store takes.
struct Restore: BrokerMeasurement {
    static let configuration = CommandConfiguration(
        abstract: "How fast the service restores its stores, and how much memory a store takes.",
        discussion: """
            A broker delays the first rebalance of a new group by group.initial.rebalance.delay.ms, by default 3 s: every start \
            takes that much longer.

            Goals: at most 200 bytes per store; at least half the speed of librdkafka alone; the first answer within 0.5 s.

            Example:
              lab bench restore --bootstrap-servers kafka:9092 --stores 100000 --partitions 4
            """)

    @Option(help: "The number of stores with stock.", transform: whole(1...OrderGenerator.mostStores)) var stores = 1_000_000
    @Option(help: "Partitions of each topic.", transform: whole(1...1_000)) var partitions = 1
    @Option(help: "The number of rounds.", transform: whole(1...1_000)) var rounds = 3
    @OptionGroup var broker: BrokerOptions

    /// How long a start with all stores may take.
    private static let patience = Duration.seconds(300)

    func measure(at site: Site) throws -> Report {
        var report = try site.report("restore", ["stores": stores, "partitions": partitions, "rounds": rounds])
        let empty = try site.makeTopics("empty", partitions: partitions)
        let full = try site.makeTopics("full", partitions: partitions)
        try fill(full, at: site)
        for number in 1...rounds {
            // Keyed by whether there are stores.
            let starts = try inTurns(number, [false, true]) { isFull in try start(isFull ? full : empty, at: site) }
            let reads = try inTurns(number, [false, true]) { isFull in
                try read(isFull ? full.stock : empty.stock, records: isFull ? stores : 0, at: site)
            }
            add(starts, reads, firstAnswer: try firstAnswer(number, at: site), to: &report)
            note("round \(number) of \(rounds): ready after \(Figure.text(starts[true]?.seconds)) s with all stores")
        }
        return report
    }

    /// Adds the measurements of a round. Starts and reads are keyed by whether there were stores.
    func add(_ starts: [Bool: Start], _ reads: [Bool: Double], firstAnswer: Double, to report: inout Report) {
        /// The share of the stores alone; nil if it is not positive.
        func difference(_ values: [Bool: Double]) -> Double? {
            guard let full = values[true], let empty = values[false], full > empty else { return nil }
            return full - empty
        }
        let ready = starts.mapValues(\.seconds)
        let restored = difference(ready).map { Double(stores) / $0 }
        let read = difference(reads).map { Double(stores) / $0 }
        report.add("s to ready, empty", ready[false])
        report.add("s to ready, with stores", ready[true])
        report.add("stores/s", restored)
        report.add("s to read, empty", reads[false])
        report.add("s to read, with stores", reads[true])
        report.add("records/s", read)
        report.add("stores/s to records/s", ratio(restored, read), .atLeast(0.5))
        report.add(
            "bytes/store", difference(starts.compactMapValues(\.residentBytes)).map { $0 / Double(stores) }, .atMost(200))
        report.add("s to first answer", firstAnswer, .atMost(0.5))
    }

    // MARK: The topics

    /// Writes the stock, and the journal that its service would have left: the service refuses stock without a journal.
    private func fill(_ topics: TopicNames, at site: Site) throws {
        let encoder = AnswerEncoder(menu: .standard)
        var buffer = OutputBuffer()
        var random = SeededGenerator(seed: 1)
        var changes: [Int32: StockChanges] = [:]
        try site.fill(topics.stock, count: stores) { number in
            let key = OrderGenerator.store(number)
            let fruits = Menu.standard.fruits.map { _ in Int.random(in: 0...10, using: &random) }
            let levels = (try? FruitStore(levels: fruits)) ?? FruitStore(menu: .standard)
            buffer.removeAll()
            key.withUnsafeBytes {
                let owner = Murmur2.partition(of: $0, count: Int32(clamping: partitions))
                changes[owner, default: StockChanges()].add(1 + number % 100, ofWeight: StockChanges.weight(of: $0))
                encoder.stock(store: BorrowedText($0), revision: 1 + number % 100, levels: levels, into: &buffer)
            }
            return (key, buffer.bytes)
        }
        for partition in 0..<Int32(clamping: partitions) {
            let claim = JournalClaim(
                ids: ["bench"], since: 0, group: "bench", instance: "bench", partitions: Int32(clamping: partitions), next: [:])
            let position = JournalPosition(
                next: [.orders: 0, .restocks: 0], added: [:], claim: 0, ids: ["bench"], forwarded: [:],
                account: JournalAccount(
                    before: nil, records: 1, changes: changes[partition] ?? StockChanges(), oldest: nil,
                    menu: JournalAccount.digest(of: .standard)))
            let notes = [JournalNote.claim(claim), .position(position)]
            try site.fill(topics.results, partition: partition, count: notes.count) { number in
                buffer.removeAll()
                notes[number].write(into: &buffer)
                return ([], buffer.bytes)
            }
        }
    }

    // MARK: Timing

    /// A start of the service until it was ready.
    struct Start {
        let seconds: Double
        /// Resident memory when it was ready; nil if the system does not report it.
        let residentBytes: Double?
    }

    private func start(_ topics: TopicNames, at site: Site) throws -> Start {
        let start = ContinuousClock.now
        // The same group in each round: another would wait until it is sure that the first has left the topics.
        let child = try site.startService(topics, group: topics.orders)
        defer { child.stop() }
        try child.waitUntilReady(patience: Self.patience)
        return Start(seconds: (ContinuousClock.now - start) / .seconds(1), residentBytes: child.residentBytes)
    }

    /// The bare read, in seconds.
    private func read(_ topic: String, records: Int, at site: Site) throws -> Double {
        let start = ContinuousClock.now
        let child = try site.startRead(of: topic, partitions: partitions)
        try wait(for: Self.patience, every: .milliseconds(1)) { !child.isRunning }
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        guard child.status == 0 else { throw child.failure("failed") }
        guard child.output.hasPrefix("\(records) records") else { throw child.failure("should have read \(records) records") }
        return seconds
    }

    /// From the start of the service until a waiting order is answered, in seconds.
    private func firstAnswer(_ number: Int, at site: Site) throws -> Double {
        let topics = try site.makeTopics("first.\(number)", partitions: partitions)
        defer { site.delete(topics.all) }
        let reader = try AnswerReader(site.cluster, of: topics.results)
        var generator = OrderGenerator(stores: 1)
        try site.fill(topics.orders, count: 1) { generator.next(number: $0) }

        let start = ContinuousClock.now
        let child = try site.startService(topics, group: topics.results)
        defer { child.stop() }
        var answered = start
        try follow("answers", of: child, to: 1) {
            guard let time = try reader.poll({ _, _, _ in }) else { return 0 }
            answered = time
            return 1
        }
        return (answered - start) / .seconds(1)
    }
}
