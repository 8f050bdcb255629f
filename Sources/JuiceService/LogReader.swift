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
    private var changelog: PartitionReader?
    /// The records that were read last; kept to reuse their memory.
    private var spare: [ChangelogBatch.Record] = []
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
        try uncommitted.read(ranges, timeout: timeout, gaps: .leave) { _, record in
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
        let reader = PartitionReader(isolation == .committed ? committed : uncommitted, gaps: .leave)
        changelog = reader
        try reader.start(at: Dictionary(uniqueKeysWithValues: positions.map { (topics[$0.topic.topic, $0.partition], $0.offset) }))
    }

    /// Stops reading.
    func close() throws(KafkaError) {
        defer { changelog = nil }
        try changelog?.stop()
    }

    /// The next records, and the partitions that have been read to their ends.
    func read(timeout: Duration) throws(KafkaError) -> ChangelogBatch {
        guard let changelog else { return ChangelogBatch(records: [], ends: []) }
        let batch = try changelog.poll(timeout: timeout)
        var records: [ChangelogBatch.Record] = []
        swap(&records, &spare)
        records.removeAll(keepingCapacity: true)
        defer { spare = records }
        for (partition, indices) in batch.runs {
            let topic = changelogTopic(of: partition)
            for index in indices {
                let record = batch[index]
                records.append(
                    LogRecord(
                        topic: topic, partition: partition.partition, offset: record.offset, timestamp: record.timestamp,
                        key: record.key, value: record.value, index: index))
            }
        }
        let ends = batch.ends.map { position(in: $0, at: $1) }
        var damages: [ChangelogPosition: String] = [:]
        for gap in changelog.gaps {
            guard gap.error.code.isDamage else { throw gap.error }
            damages[position(in: gap.partition, at: gap.error.offset ?? 0)] = gap.error.message
        }
        changelog.gaps = []
        return ChangelogBatch(records: records, ends: ends, damages: damages)
    }

    private func changelogTopic(of partition: TopicPartition) -> ChangelogTopic {
        partition.topic == topics.stock ? .stock : .results
    }

    private func position(in partition: TopicPartition, at offset: Offset) -> ChangelogPosition {
        ChangelogPosition(topic: changelogTopic(of: partition), partition: partition.partition, offset: offset)
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
        let gaps = try uncommitted.read(places, timeout: timeout, gaps: .leave) { partition, record in
            if let input = inputs[partition] { records.append(copy(record, of: input)) }
            return true
        }
        let damaged = Set(gaps.lazy.filter(\.error.code.isDamage).compactMap { inputs[$0.partition] })
        return (records.filter { !damaged.contains($0.input) }, damaged)
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
