import Foundation
import JuiceEngine
import JuiceMessages
import Kafka

/// Reads outside the consumer group: start and end offsets, changelogs, and inputs a second time. ``LibrdkafkaPort`` adds the group
/// and the transactions; `juice doctor` needs only this.
///
/// One client stays connected. Another one is connected only while partitions are taken over.
class LogReader: KafkaReadPort {
    final let configuration: ServiceConfiguration
    final let hooks: ClientHooks
    let topics: TopicNames
    /// What the worker reads; nil without an assignment.
    final var assignment: InputAssignment?
    private var openCommitted: Consumer?
    private var openGroupReader: Consumer?
    /// Sees past undecided transactions.
    final let uncommitted: Consumer
    final let watch: BrokerWatch
    /// Brokers that do not answer. A request to them would delay the answers of the others.
    private let silent: Set<Int32>
    /// For lookups, which start from the beginning with each attempt.
    private var timeout: AdaptiveTimeout
    private var changelog: PartitionReader?
    /// The changelog records that were read last; kept to reuse their memory.
    private var spare: [ChangelogBatch.Record] = []
    /// The bytes of the input records that were read last.
    private var copies: [UnsafeMutableRawBufferPointer] = []
    /// The watermarks of the partitions whose extents were read last.
    private var watermarks: [TopicPartition: Range<Offset>] = [:]
    /// The leaders of each partition's inputs when its extents were read last, and how many connections had been lost by then.
    private var seen: [Int32: (leaders: [InputPartition: Int32], closedConnections: Int)] = [:]

    /// - Parameter timeout: how long a lookup may take.
    init(
        configuration: ServiceConfiguration, assignment: InputAssignment? = nil, silent: Set<Int32> = [],
        timeout: AdaptiveTimeout, watch: BrokerWatch, hooks: ClientHooks
    ) throws(KafkaError) {
        (self.configuration, self.hooks, topics) = (configuration, hooks, configuration.topics)
        (self.assignment, self.silent, self.timeout, self.watch) = (assignment, silent, timeout, watch)
        uncommitted = try Consumer(configuration: configuration.logEndConsumer, hooks: hooks)
    }

    deinit {
        freeCopies()
        openCommitted?.close()
        openGroupReader?.close()
        uncommitted.close()
    }

    /// Sees only what committed transactions wrote, up to the first undecided one. Created when needed.
    final var committed: Consumer {
        get throws(KafkaError) {
            if let openCommitted { return openCommitted }
            let consumer = try Consumer(configuration: configuration.changelogConsumer, hooks: hooks, patience: .zero)
            openCommitted = consumer
            return consumer
        }
    }

    /// A client with the group's id, for reading the group's offsets.
    var groupReader: Consumer {
        get throws(KafkaError) {
            if let openGroupReader { return openGroupReader }
            let consumer = try Consumer(
                configuration: configuration.logEndConsumer.merging(["group.id": configuration.group]), hooks: hooks,
                patience: .zero)
            openGroupReader = consumer
            return consumer
        }
    }

    /// Begins to connect ``committed``, for a takeover that is about to start.
    final func connectCommitted() { _ = try? committed.metadata(topics: [topics.results], timeout: .zero) }

    /// Closes ``committed``, and its connections to all brokers, until it is needed again.
    final func closeCommitted() {
        openCommitted?.close()
        openCommitted = nil
    }

    final var now: Timestamp { Timestamp(Date().timeIntervalSince1970 * 1000) }

    final var uptime: Timestamp { Timestamp((ContinuousClock.now - Self.start) / .milliseconds(1)) }
    private static let start = ContinuousClock.now

    /// How many connections to brokers have been lost. Each loss may mean that a partition has another leader.
    var closedConnections: Int { 0 }

    /// Serves the clients' hooks: events of a client that is never polled pile up. While a changelog is open, reading it serves
    /// them, and a poll here would take its records away.
    final func serve() {
        guard changelog == nil else { return }
        for consumer in [openCommitted, openGroupReader, uncommitted] { _ = try? consumer?.poll(maxRecords: 1, timeout: .zero) }
    }

    /// Makes a lookup. If it times out, the next one may take longer.
    final func looking<Success>(_ body: (_ timeout: Duration) throws(KafkaError) -> Success) throws(LogError) -> Success {
        do throws(KafkaError) {
            let result = try timeout.waiting(closedConnections: closedConnections, body)
            // A slow broker may never answer a probe in time, so every answer counts.
            watch.reached()
            return result
        } catch { throw LogError(error) }
    }

    final func knownAssignment() throws(LogError) -> InputAssignment {
        guard let assignment else { throw LogError(.startOver, "the partitions were given up") }
        return assignment
    }

    // MARK: - Extents

    func extents(of partitions: [Int32]) throws(LogError) -> (extents: [PartitionExtents], leaderless: [Int32: String]) {
        try extents(of: partitions, in: try metadata())
    }

    final func metadata() throws(LogError) -> ClusterMetadata {
        try looking { timeout throws(KafkaError) in try uncommitted.metadata(topics: topics.all, timeout: timeout) }
    }

    /// Where the logs of partitions begin and truly end, and which of them may have changed their leader since the last call.
    final func extents(
        of partitions: [Int32], in metadata: ClusterMetadata
    ) throws(LogError) -> (extents: [PartitionExtents], leaderless: [Int32: String]) {
        let assignment = try knownAssignment()
        var leaders: [TopicPartition: Int32] = [:]
        for topic in metadata.topics {
            for partition in topic.partitions {
                guard let leader = partition.leader, !silent.contains(leader) else { continue }
                leaders[TopicPartition(topic: topic.name, partition: partition.number)] = leader
            }
        }
        func logs(of partition: Int32) -> [TopicPartition] {
            assignment.inputs(of: partition).map { topics[$0] } + ChangelogTopic.allCases.map { topics[$0.topic, partition] }
        }
        var leaderless: [Int32: String] = [:]
        for partition in partitions { leaderless[partition] = logs(of: partition).first { leaders[$0] == nil }?.topic }
        let led = partitions.filter { leaderless[$0] == nil }
        let found = try looking { timeout throws(KafkaError) in
            let found = try uncommitted.watermarks(of: led.flatMap(logs), timeout: timeout)
            if let missing = led.flatMap(logs).first(where: { found[$0] == nil }) {
                throw KafkaError(code: .timedOut, message: "\(missing): no answer", isRetriable: true)
            }
            return found
        }
        watermarks = found
        let extents = led.map { partition in
            let inputs = Dictionary(uniqueKeysWithValues: assignment.inputs(of: partition).map { ($0, found[topics[$0]] ?? 0..<0) })
            let ofInputs = Dictionary(
                uniqueKeysWithValues: inputs.keys.compactMap { input in leaders[topics[input]].map { (input, $0) } })
            let former = seen.updateValue((ofInputs, closedConnections), forKey: partition)
            let isConnectionLost = closedConnections != former?.closedConnections ?? 0
            let withNewLeader = inputs.keys.filter { input in
                isConnectionLost || former?.leaders[input].map { $0 != ofInputs[input] } ?? false
            }
            return PartitionExtents(
                partition: partition, inputs: inputs, results: found[topics[.results, partition]] ?? 0..<0,
                stock: found[topics[.stock, partition]] ?? 0..<0, withNewLeader: Set(withNewLeader))
        }
        return (extents, leaderless)
    }

    /// For each changelog of these extents that has an open transaction before its end: where the first one begins. Waits a moment
    /// if there is one: brokers may be about to end it.
    final func openTransactions(in extents: [PartitionExtents]) throws(LogError) -> [ChangelogPosition] {
        var ends: [TopicPartition: Offset] = [:]
        for extent in extents {
            ends[topics[.stock, extent.partition]] = extent.stock.upperBound
            ends[topics[.results, extent.partition]] = extent.results.upperBound
        }
        let stable = try looking { timeout throws(KafkaError) in
            // This client reads nothing now, so without this it would keep asking former leaders.
            let reader = try committed
            _ = try reader.metadata(topics: ChangelogTopic.allCases.map { topics[$0.topic] }, timeout: timeout)
            // With read_committed, the end is the last stable offset.
            return try reader.endOffsets(of: Array(ends.keys), timeout: timeout)
        }
        let open = stable.filter { place, offset in ends[place].map { offset < $0 } ?? false }.map { position(in: $0, at: $1) }
        if !open.isEmpty { Thread.sleep(forTimeInterval: 0.02) }
        return open.sorted { $0.partition < $1.partition }
    }

    final func groupOffsets(of partitions: [InputPartition]) throws(LogError) -> [InputPartition: GroupOffset] {
        let committed = try looking { timeout throws(KafkaError) in
            try groupReader.committed(partitions.map { topics[$0] }, timeout: timeout)
        }
        return partitions.reduce(into: [:]) { offsets, input in
            guard let found = committed[topics[input]] else { return }
            offsets[input] = GroupOffset(offset: found.offset, mark: JournalMark(metadata: found.metadata))
        }
    }

    /// How far back repeats may ask for answers in each partition, by ``AnswerRestoreTime`` for the first unread command.
    ///
    /// - Parameters:
    ///   - positions: positions in partitions whose extents were read last.
    ///   - handledAt: when the last handled command of each partition was sent.
    final func answerReaches(
        at positions: [InputPosition], handledAt: [Int32: Timestamp], _ settings: WorkerSettings
    ) throws(LogError) -> [Int32: AnswerReach] {
        let (assignment, now) = (try knownAssignment(), now)
        let journals = watermarks.filter { $0.key.topic == topics.results }
        var ranges: [TopicPartition: Range<Offset>] = [:]
        for position in positions {
            let log = topics[position.input]
            if let end = watermarks[log]?.upperBound, end > position.offset { ranges[log] = position.offset..<end }
        }
        return try looking { timeout throws(KafkaError) in
            var firstUnread: [Int32: Timestamp] = [:]
            // Damaged records have no time.
            try uncommitted.read(ranges, timeout: timeout, gaps: .leave) { partition, record in
                let owner = partition.partition % assignment.partitionCount
                firstUnread[owner] = min(
                    firstUnread[owner] ?? .max, settings.times.effective(record.timestamp, readAt: now))
                return false
            }
            let times = journals.keys.reduce(into: [:]) { times, journal in
                times[journal] = AnswerRestoreTime.start(
                    now: now, handledAt: handledAt[journal.partition], firstUnread: firstUnread[journal.partition],
                    retention: settings.window.retention)
            }
            // A broker that cannot look up times trims its logs soon anyway.
            let findsByTime = configuration.capabilities.findsOffsetsByTime
            let first = findsByTime ? try uncommitted.offsets(since: times, timeout: timeout) : [:]
            return journals.reduce(into: [:]) { reaches, journal in
                // If no record is that recent, there is no answer to read.
                let none = findsByTime ? journal.value.upperBound : journal.value.lowerBound
                reaches[journal.key.partition] = AnswerReach(
                    offset: first[journal.key] ?? none, firstUnread: firstUnread[journal.key.partition])
            }
        }
    }

    // MARK: - Changelogs

    final func openChangelog(_ positions: [ChangelogPosition], isolation: Isolation) throws(LogError) {
        try LogError.rethrowing { () throws(KafkaError) in
            try changelog?.stop()
            changelog = nil
            guard !positions.isEmpty else { return }
            let reader = PartitionReader(isolation == .committed ? try committed : uncommitted, gaps: .leave)
            changelog = reader
            try reader.start(
                at: Dictionary(uniqueKeysWithValues: positions.map { (topics[$0.topic.topic, $0.partition], $0.offset) }))
        }
    }

    final func readChangelog() throws(LogError) -> ChangelogBatch {
        guard let changelog else { return ChangelogBatch(records: [], ends: []) }
        let batch = try LogError.rethrowing { () throws(KafkaError) in try changelog.poll(timeout: .milliseconds(100)) }
        let records = engineRecords(of: batch, reusing: &spare) { changelogTopic(of: $0) }
        var damages: [ChangelogPosition: String] = [:]
        for gap in changelog.gaps {
            guard gap.error.code.isDamage else { throw LogError(gap.error) }
            damages[position(in: gap.partition, at: gap.error.offset ?? 0)] = gap.error.message
        }
        changelog.gaps = []
        return ChangelogBatch(records: records, ends: batch.ends.map { position(in: $0, at: $1) }, damages: damages)
    }

    final func headers(of record: ChangelogBatch.Record) -> [MessageHeader]? {
        changelog?.headers(at: record.index, of: record.value)?.map { MessageHeader(name: $0.name, value: $0.value) }
    }

    /// The engine's form of records, whose bytes still belong to the batch.
    final func engineRecords<Source>(
        of batch: PartitionReader.Records, reusing spare: inout [LogRecord<Source>], topic: (TopicPartition) -> Source?
    ) -> [LogRecord<Source>] {
        var records: [LogRecord<Source>] = []
        swap(&records, &spare)
        records.removeAll(keepingCapacity: true)
        defer { spare = records }
        for (partition, indices) in batch.runs {
            guard let topic = topic(partition) else { continue }
            for index in indices {
                let record = batch[index]
                records.append(
                    LogRecord(
                        topic: topic, partition: partition.partition, offset: record.offset, timestamp: record.timestamp,
                        key: record.key, value: record.value, index: index))
            }
        }
        return records
    }

    private func changelogTopic(of partition: TopicPartition) -> ChangelogTopic {
        partition.topic == topics.stock ? .stock : .results
    }

    private func position(in partition: TopicPartition, at offset: Offset) -> ChangelogPosition {
        ChangelogPosition(topic: changelogTopic(of: partition), partition: partition.partition, offset: offset)
    }

    // MARK: - Inputs

    /// The records in ranges of the inputs, and the partitions with damaged bytes there, whose records are left out. The bytes stay
    /// valid until the next call.
    final func readBack(
        _ ranges: [InputPartition: Range<Offset>]
    ) throws(LogError) -> (records: [CommandRecord], damaged: Set<InputPartition>) {
        freeCopies()
        let inputs = Dictionary(uniqueKeysWithValues: ranges.keys.map { (topics[$0], $0) })
        let places = Dictionary(uniqueKeysWithValues: ranges.map { (topics[$0], $1) })
        var records: [CommandRecord] = []
        let gaps = try looking { timeout throws(KafkaError) in
            records = []
            return try uncommitted.read(places, timeout: timeout, gaps: .leave) { partition, record in
                if let input = inputs[partition] { records.append(copy(record, of: input)) }
                return true
            }
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
