import JuiceEngine
import JuiceMessages
import Kafka

/// Reads changelogs, and inputs again: whatever a worker reads outside its group.
///
/// Its two clients stay connected as long as the worker lives, so that taking over partitions need not wait for that.
final class LogReader {
    private let configuration: ServiceConfiguration
    private let committed: Consumer
    /// Sees past undecided transactions.
    let uncommitted: Consumer
    private var changelog: (consumer: Consumer, partitions: [TopicPartition])?
    private var changelogConverter: RecordConverter<ChangelogTopic>
    private var inputConverter: RecordConverter<InputTopic>
    /// The bytes of the inputs' records read last.
    private var copies: [UnsafeMutableRawBufferPointer] = []

    init(configuration: ServiceConfiguration, hooks: ClientHooks) throws(KafkaError) {
        self.configuration = configuration
        committed = try Consumer(configuration: configuration.changelogConsumer, hooks: hooks)
        uncommitted = try Consumer(configuration: configuration.logEndConsumer, hooks: hooks)
        let topics = configuration.topics
        changelogConverter = RecordConverter([topics.stock: .stock, topics.results: .results])
        inputConverter = RecordConverter([topics.orders: .orders, topics.restocks: .restocks])
    }

    deinit {
        freeCopies()
        committed.close()
        uncommitted.close()
    }

    /// Serves the clients' hooks: events of a client that is never polled pile up. While a changelog is open, reading it does that,
    /// and a poll here would take records away from it.
    func poll() {
        guard changelog == nil else { return }
        for consumer in [committed, uncommitted] { _ = try? consumer.poll(maxRecords: 1, timeout: .zero) }
    }

    // MARK: - Changelogs

    func open(_ positions: [ChangelogPosition], isolation: Isolation) throws(KafkaError) {
        try close()
        guard !positions.isEmpty else { return }
        let partitions = positions.map { TopicPartition(topic: configuration.topics[$0.topic], partition: $0.partition) }
        let consumer = isolation == .committed ? committed : uncommitted
        changelog = (consumer, partitions)
        changelogConverter.begin()
        try consumer.assign(Dictionary(uniqueKeysWithValues: zip(partitions, positions.map(\.offset))))
    }

    /// Stops reading.
    func close() throws(KafkaError) {
        guard let (consumer, _) = changelog else { return }
        changelog = nil
        try consumer.assign([:])
    }

    /// The next records, and the partitions that have been read to their ends.
    func read(timeout: Duration) throws(KafkaError) -> ChangelogBatch {
        guard let (consumer, partitions) = changelog else { return ChangelogBatch(records: [], ends: []) }
        var elements = try consumer.poll(maxRecords: 10_000, timeout: min(timeout, .milliseconds(10)))
        if elements.isEmpty {
            // By itself librdkafka takes some tenths of a second to look up a topic that is new to it, and to fetch on after its
            // queue was full. A lookup makes it do both at once; its answer is not needed.
            _ = try? consumer.endOffsets(of: partitions, timeout: .milliseconds(1))
            elements = try consumer.poll(maxRecords: 10_000, timeout: timeout)
        }
        let (records, ends, damages) = try changelogConverter.convert(elements) { (_, error) throws(KafkaError) in
            if error.remedy != .retry { throw error }
        }
        return ChangelogBatch(records: records, ends: ends, damages: damages)
    }

    // MARK: - Inputs

    /// The records in ranges of the inputs, and the partitions whose bytes there are damaged.
    func readBack(_ ranges: [InputPartition: Range<Offset>], timeout: Duration) throws(KafkaError) -> (
        records: [CommandRecord], damaged: Set<InputPartition>
    ) {
        freeCopies()
        var unread = UnreadRanges(Dictionary(uniqueKeysWithValues: ranges.map { (place($0), $1) }))
        var found: [CommandRecord] = []
        var damaged: Set<InputPartition> = []
        let deadline = ContinuousClock.now + timeout
        inputConverter.begin()
        try uncommitted.assign(Dictionary(uniqueKeysWithValues: ranges.map { (place($0), $1.lowerBound) }))
        defer { try? uncommitted.assign([:]) }
        while !unread.isEmpty {
            guard ContinuousClock.now < deadline else {
                throw KafkaError(code: .timedOut, message: "no records of the inputs", isRetriable: true)
            }
            let batch = try uncommitted.poll(maxRecords: 10_000, timeout: .milliseconds(10))
            let (records, ends, damages) = try inputConverter.convert(batch) { (partition, error) throws(KafkaError) in
                // A log that ends before the range does not hold what it held.
                if let partition, error.code.isOffsetReset { return unread.passed(partition, next: .max) }
                if error.remedy != .retry { throw error }
            }
            for record in records {
                let input = InputPartition(topic: record.topic, partition: record.partition)
                unread.passed(place(input), next: record.offset + 1)
                if ranges[input]?.contains(record.offset) ?? false { found.append(copy(record)) }
            }
            for end in ends { unread.passed(place(InputPartition(topic: end.topic, partition: end.partition)), next: end.offset) }
            for position in damages.keys {
                let input = InputPartition(topic: position.topic, partition: position.partition)
                unread.passed(place(input), next: .max)
                damaged.insert(input)
            }
        }
        return (found.filter { !damaged.contains(InputPartition(topic: $0.topic, partition: $0.partition)) }, damaged)
    }

    /// The last offset of the damaged records that begin at a place: records that are written together are damaged together.
    func lastDamaged(of partition: TopicPartition, from offset: Offset, timeout: Duration) -> Offset {
        var (bad, step) = (offset, Offset(1))
        let deadline = ContinuousClock.now + timeout
        // First in ever longer steps, then halving the last one.
        while ContinuousClock.now < deadline, !isReadable(partition, at: bad + step) { (bad, step) = (bad + step, step * 2) }
        var good = bad + step
        while good - bad > 1, ContinuousClock.now < deadline {
            let middle = bad + (good - bad) / 2
            if isReadable(partition, at: middle) { good = middle } else { bad = middle }
        }
        return bad
    }

    private func isReadable(_ partition: TopicPartition, at offset: Offset) -> Bool {
        do throws(KafkaError) {
            try uncommitted.assign([partition: offset])
            defer { try? uncommitted.assign([:]) }
            for _ in 0..<100 {
                for element in try uncommitted.poll(maxRecords: 1, timeout: .milliseconds(10)) {
                    switch element {
                    case .record(let record): return record.offset >= offset
                    case .endOfPartition: return true
                    case .failure(_, let error):
                        if error.code.isDamage || error.code.isOffsetReset { return !error.code.isDamage }
                    }
                }
            }
        } catch {}
        return false
    }

    private func place(_ input: InputPartition) -> TopicPartition {
        TopicPartition(topic: configuration.topics[input.topic], partition: input.partition)
    }

    /// The same record, with bytes that outlast the next poll.
    private func copy(_ record: CommandRecord) -> CommandRecord {
        func copy(_ bytes: UnsafeRawBufferPointer?) -> UnsafeRawBufferPointer? {
            guard let bytes else { return nil }
            let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: max(1, bytes.count), alignment: 1)
            memory.copyMemory(from: bytes)
            copies.append(memory)
            return UnsafeRawBufferPointer(rebasing: memory[..<bytes.count])
        }
        return CommandRecord(
            topic: record.topic, partition: record.partition, offset: record.offset, timestamp: record.timestamp,
            key: copy(record.key), value: copy(record.value), index: record.index)
    }

    private func freeCopies() {
        for copy in copies { copy.deallocate() }
        copies = []
    }
}
