import Foundation
import JuiceEngine
import JuiceMessages
import Kafka

/// Whatever a worker reads outside its group: where logs begin and end, changelogs, and inputs again.
///
/// Its two clients stay connected as long as the worker lives, so that taking over partitions need not wait for that.
final class LogReader {
    private let topics: TopicNames
    private let capabilities: BrokerCapabilities
    private let committed: Consumer
    /// Sees past undecided transactions.
    let uncommitted: Consumer
    private var changelog: (consumer: Consumer, partitions: [TopicPartition])?
    private var converter: RecordConverter<ChangelogTopic>
    /// The bytes of the inputs' records read last.
    private var copies: [UnsafeMutableRawBufferPointer] = []
    /// Of the partitions whose extents were read last.
    private var watermarks: [TopicPartition: Range<Offset>] = [:]
    private var leaders: [TopicPartition: Int32] = [:]
    private var closedConnections = 0

    init(configuration: ServiceConfiguration, hooks: ClientHooks) throws(KafkaError) {
        (topics, capabilities) = (configuration.topics, configuration.capabilities)
        committed = try Consumer(configuration: configuration.changelogConsumer, hooks: hooks)
        uncommitted = try Consumer(configuration: configuration.logEndConsumer, hooks: hooks)
        converter = RecordConverter([topics.stock: .stock, topics.results: .results])
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

    // MARK: - Extents

    /// Where the logs of partitions begin and truly end, and which of them may have changed their leader.
    ///
    /// - Parameters:
    ///   - metadata: of all topics.
    ///   - assignment: what the worker reads.
    ///   - closedConnections: how many connections the worker's consumer has lost.
    ///   - timeout: how long to wait for each answer of the cluster.
    func extents(
        of partitions: [Int32], in metadata: ClusterMetadata, assignment: InputAssignment, closedConnections: Int, timeout: Duration
    ) throws(KafkaError) -> (extents: [PartitionExtents], leaderless: [Int32: String]) {
        var leaders: [TopicPartition: Int32] = [:]
        for topic in metadata.topics {
            for partition in topic.partitions {
                leaders[TopicPartition(topic: topic.name, partition: partition.number)] = partition.leader
            }
        }
        func logs(of partition: Int32) -> [TopicPartition] {
            assignment.inputs(of: partition).map { topics[$0] } + ChangelogTopic.allCases.map { topics[$0.topic, partition] }
        }
        var leaderless: [Int32: String] = [:]
        for partition in partitions { leaderless[partition] = logs(of: partition).first { leaders[$0] == nil }?.topic }
        let led = partitions.filter { leaderless[$0] == nil }
        watermarks = try uncommitted.watermarks(of: led.flatMap(logs), timeout: timeout)
        let isConnectionLost = closedConnections != self.closedConnections
        let former = self.leaders
        (self.leaders, self.closedConnections) = (leaders, closedConnections)

        func range(_ log: TopicPartition) throws(KafkaError) -> Range<Offset> {
            guard let found = watermarks[log] else {
                throw KafkaError(code: .timedOut, message: "\(log.topic) [\(log.partition)]: no answer", isRetriable: true)
            }
            return found
        }
        var extents: [PartitionExtents] = []
        for partition in led {
            var inputs: [InputPartition: Range<Offset>] = [:]
            for input in assignment.inputs(of: partition) { inputs[input] = try range(topics[input]) }
            let withNewLeader = inputs.keys.filter { input in
                isConnectionLost || former[topics[input]].map { $0 != leaders[topics[input]] } ?? false
            }
            extents.append(
                PartitionExtents(
                    partition: partition, inputs: inputs, results: try range(topics[.results, partition]),
                    stock: try range(topics[.stock, partition]), withNewLeader: Set(withNewLeader)))
        }
        return (extents, leaderless)
    }

    /// Where the first transaction begins that is still open in the changelogs of these extents, before their ends. Waits a moment
    /// if there is one: brokers may be about to end it.
    func openTransactions(in extents: [PartitionExtents], timeout: Duration) throws(KafkaError) -> [ChangelogPosition] {
        var ends: [TopicPartition: (log: ChangelogTopic, end: Offset)] = [:]
        for extent in extents {
            for log in ChangelogTopic.allCases {
                let end = log == .stock ? extent.stock.upperBound : extent.results.upperBound
                ends[topics[log.topic, extent.partition]] = (log, end)
            }
        }
        // This client reads nothing now, so it would go on asking leaders that are gone.
        _ = try committed.metadata(topics: ChangelogTopic.allCases.map { topics[$0.topic] }, timeout: timeout)
        // With read_committed, the end is the last stable offset.
        let stable = try committed.endOffsets(of: Array(ends.keys), timeout: timeout)
        let open = stable.compactMap { place, offset in
            ends[place].flatMap {
                offset < $0.end ? ChangelogPosition(topic: $0.log, partition: place.partition, offset: offset) : nil
            }
        }
        if !open.isEmpty { Thread.sleep(forTimeInterval: 0.02) }
        return open.sorted { $0.partition < $1.partition }
    }

    /// How far back repeats may ask for answers in each partition: ``AnswerRestoreTime`` from the first command not yet read.
    ///
    /// - Parameters:
    ///   - positions: those of partitions whose extents were read last.
    ///   - handledAt: when each partition's last record was handled.
    func answerReaches(
        at positions: [InputPosition], handledAt: [Int32: Timestamp], retention: Timestamp, of assignment: InputAssignment,
        now: Timestamp, timeout: Duration
    ) throws(KafkaError) -> [Int32: AnswerReach] {
        let journals = watermarks.filter { $0.key.topic == topics.results }
        var ranges: [TopicPartition: Range<Offset>] = [:]
        for position in positions {
            let log = topics[position.topic.topic, position.partition]
            if let end = watermarks[log]?.upperBound, end > position.offset { ranges[log] = position.offset..<end }
        }
        var firstUnread: [Int32: Timestamp] = [:]
        // What cannot be read says nothing of the time.
        try uncommitted.read(ranges, timeout: timeout, skippingDamage: true) { record in
            let home = record.partition % assignment.partitionCount
            firstUnread[home] = min(firstUnread[home] ?? now, CommandTime.effective(record.timestamp, readAt: now))
            return false
        }
        let times = journals.keys.reduce(into: [:]) { times, journal in
            times[journal] = AnswerRestoreTime.start(
                now: now, handledAt: handledAt[journal.partition], firstUnread: firstUnread[journal.partition], retention: retention
            )
        }
        // A broker that cannot look up times trims its logs soon anyway.
        let first = capabilities.findsOffsetsByTime ? try uncommitted.offsets(since: times, timeout: timeout) : [:]
        return journals.reduce(into: [:]) { reaches, journal in
            // If no record is that recent, there is no answer to read.
            let none = capabilities.findsOffsetsByTime ? journal.value.upperBound : journal.value.lowerBound
            reaches[journal.key.partition] = AnswerReach(
                offset: first[journal.key] ?? none, firstUnread: firstUnread[journal.key.partition])
        }
    }

    // MARK: - Changelogs

    func open(_ positions: [ChangelogPosition], isolation: Isolation) throws(KafkaError) {
        try close()
        guard !positions.isEmpty else { return }
        let offsets = Dictionary(uniqueKeysWithValues: positions.map { (topics[$0.topic.topic, $0.partition], $0.offset) })
        let consumer = isolation == .committed ? committed : uncommitted
        changelog = (consumer, Array(offsets.keys))
        converter.begin()
        try consumer.assign(offsets)
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
        var batch = try consumer.poll(maxRecords: 10_000, timeout: min(timeout, .milliseconds(10)))
        if batch.isEmpty {
            // By itself librdkafka takes some tenths of a second to look up a topic that is new to it, and to fetch on after its
            // queue was full. A lookup makes it do both at once; its answer is not needed.
            _ = try? consumer.endOffsets(of: partitions, timeout: .milliseconds(1))
            batch = try consumer.poll(maxRecords: 10_000, timeout: timeout)
        }
        let (records, ends, damages) = try converter.convert(batch) { (_, error) throws(KafkaError) in
            if error.remedy != .retry { throw error }
        }
        return ChangelogBatch(records: records, ends: ends, damages: damages)
    }

    // MARK: - Inputs

    /// The records in ranges of the inputs, and the partitions whose bytes there are damaged, which have none. The bytes stay valid
    /// until the next call.
    func readBack(_ ranges: [InputPartition: Range<Offset>], timeout: Duration) throws(KafkaError) -> (
        records: [CommandRecord], damaged: Set<InputPartition>
    ) {
        freeCopies()
        let inputs = Dictionary(uniqueKeysWithValues: ranges.keys.map { (topics[$0], $0) })
        let places = Dictionary(uniqueKeysWithValues: ranges.map { (topics[$0], $1) })
        var records: [CommandRecord] = []
        let unreadable = try uncommitted.read(places, timeout: timeout, skippingDamage: true) { record in
            if let input = inputs[TopicPartition(topic: record.topic, partition: record.partition)] {
                records.append(copy(record, of: input))
            }
            return true
        }
        let damaged = Set(unreadable.compactMap { inputs[$0] })
        return (records.filter { !damaged.contains(InputPartition(topic: $0.topic, partition: $0.partition)) }, damaged)
    }

    /// A record of an input, with bytes that outlast the next poll.
    private func copy(_ record: ConsumedRecord, of input: InputPartition) -> CommandRecord {
        func copy(_ bytes: UnsafeRawBufferPointer?) -> UnsafeRawBufferPointer? {
            guard let bytes else { return nil }
            let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: max(1, bytes.count), alignment: 1)
            memory.copyMemory(from: bytes)
            copies.append(memory)
            return UnsafeRawBufferPointer(rebasing: memory[..<bytes.count])
        }
        return CommandRecord(
            topic: input.topic, partition: input.partition, offset: record.offset, timestamp: record.timestamp,
            key: copy(record.key), value: copy(record.value), index: 0)
    }

    private func freeCopies() {
        for copy in copies { copy.deallocate() }
        copies = []
    }
}

// MARK: - Ranges

extension Consumer {
    /// Reads ranges of partitions within `timeout`. It has no assignment afterwards.
    ///
    /// - Parameters:
    ///   - skippingDamage: whether to leave a partition whose bytes are damaged. Otherwise damage is an error.
    ///   - body: called with each record; it returns false if it needs no more of the record's partition.
    /// - Returns: the partitions that were left.
    @discardableResult
    func read(
        _ ranges: [TopicPartition: Range<Offset>], timeout: Duration, skippingDamage: Bool = false, _ body: (ConsumedRecord) -> Bool
    ) throws(KafkaError) -> Set<TopicPartition> {
        var unread = ranges.filter { !$0.value.isEmpty }
        guard !unread.isEmpty else { return [] }
        var damaged: Set<TopicPartition> = []
        try assign(unread.mapValues(\.lowerBound))
        defer { try? assign([:]) }
        let deadline = ContinuousClock.now + timeout
        while let next = unread.first {
            guard ContinuousClock.now < deadline else {
                throw KafkaError(code: .timedOut, message: "\(next.key.topic): no records", isRetriable: true)
            }
            for element in try poll(maxRecords: 10_000, timeout: .milliseconds(10)) {
                switch element {
                case .record(let record):
                    let partition = TopicPartition(topic: record.topic, partition: record.partition)
                    guard let range = unread[partition] else { continue }
                    let wantsMore = range.contains(record.offset) ? body(record) : true
                    if !wantsMore || record.offset + 1 >= range.upperBound { unread[partition] = nil }
                // Markers have offsets, so the last record need not be just before the end of the range.
                case .endOfPartition(let partition, let end):
                    if let range = unread[partition], end >= range.upperBound { unread[partition] = nil }
                // A log that ends before the range does not hold what it held.
                case .failure(let partition?, let error) where error.code.isOffsetReset: unread[partition] = nil
                case .failure(let partition?, let error) where error.code.isDamage && skippingDamage:
                    if unread.removeValue(forKey: partition) != nil { damaged.insert(partition) }
                case .failure(_, let error): if error.remedy != .retry { throw error }
                }
            }
        }
        return damaged
    }
}

// MARK: - Records

/// Converts polled records into the engine's.
struct RecordConverter<Topic: Sendable & Hashable> {
    private let topics: [String: Topic]
    /// The topic of the last record. Records come in runs, so a topic's name need not be copied for each of them.
    private var last: (identity: OpaquePointer?, topic: Topic)?
    /// The records of the last batch; kept to reuse their memory.
    private var spare: [LogRecord<Topic>] = []
    /// Partitions that cannot be read on, since their bytes are damaged. Nothing that follows may be taken.
    private var damaged: Set<TopicPartition> = []

    /// - Parameter topics: the topics to expect, by name. Records of others are skipped.
    init(_ topics: [String: Topic]) { self.topics = topics }

    /// Other partitions are read, or the same from elsewhere. A topic's identity may be another's by then.
    mutating func begin() { (last, damaged) = (nil, []) }

    /// The records of a batch, the partitions that have been read to their ends, and the places that cannot be read. The bytes
    /// belong to the batch.
    ///
    /// - Parameter failed: called for each other error, with its partition if known.
    mutating func convert<Failure: Error>(
        _ batch: RecordBatch, failed: (TopicPartition?, KafkaError) throws(Failure) -> Void
    ) throws(Failure) -> (records: [LogRecord<Topic>], ends: [LogPosition<Topic>], damages: [LogPosition<Topic>: String]) {
        var records: [LogRecord<Topic>] = []
        swap(&records, &spare)
        records.removeAll(keepingCapacity: true)
        defer { spare = records }
        var ends: [LogPosition<Topic>] = []
        var damages: [LogPosition<Topic>: String] = [:]
        for (index, element) in batch.enumerated() {
            switch element {
            case .record(let record):
                guard let topic = topic(record.topicIdentity, named: record.topic) else { continue }
                if !damaged.isEmpty, damaged.contains(TopicPartition(topic: record.topic, partition: record.partition)) { continue }
                records.append(
                    LogRecord(
                        topic: topic, partition: record.partition, offset: record.offset, timestamp: record.timestamp,
                        key: record.key, value: record.value, index: index))
            case .endOfPartition(let end, let next):
                guard let topic = topics[end.topic], !damaged.contains(end) else { continue }
                ends.append(LogPosition(topic: topic, partition: end.partition, offset: next))
            // Whatever else librdkafka says of such a partition comes from bytes that it took for records.
            case .failure(let partition?, _) where damaged.contains(partition): continue
            case .failure(let partition?, let error) where error.code.isDamage:
                guard let topic = topics[partition.topic], damaged.insert(partition).inserted else { continue }
                let place = LogPosition(topic: topic, partition: partition.partition, offset: error.offset ?? 0)
                damages[place] = error.message
            case .failure(let partition, let error): try failed(partition, error)
            }
        }
        return (records, ends, damages)
    }

    /// The topic with an identity of librdkafka's. Its name would have to be copied, so it is asked for only if the last record was
    /// of another one.
    mutating func topic(_ identity: OpaquePointer?, named name: @autoclosure () -> String) -> Topic? {
        if let last, last.identity == identity { return last.topic }
        guard let topic = topics[name()] else { return nil }
        last = (identity, topic)
        return topic
    }
}
