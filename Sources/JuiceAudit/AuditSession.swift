import Synchronization

/// Where an audit reads the five topics. Different partitions may be read at the same time.
public protocol AuditSource: Sendable {
    /// How many partitions a topic has.
    func partitionCount(of topic: AuditTopic) -> Int

    /// The first offset of a partition that has not expired.
    func firstOffset(of topic: AuditTopic, partition: Int) -> Int64

    /// The first committed records of a partition at or after an offset, in their order.
    ///
    /// An audit reads on from where it was, with few exceptions: where an operator moved a position, for example.
    ///
    /// - Returns: as many as are at hand; none at the end.
    /// - Throws: what keeps the source from reading, which ends the audit.
    func records(of topic: AuditTopic, partition: Int, from offset: Int64) throws -> [AuditRecord]
}

/// Audits the topics partition by partition, at most as many at a time as the caller has threads.
///
/// ```swift
/// let session = AuditSession(source, by: rules)
/// for partition in 0..<session.partitionCount { try session.audit(partition) }
/// let audit = try session.finish()
/// ```
public final class AuditSession: Sendable {
    private let source: any AuditSource
    private let rules: AuditRules
    private let transfers = TransferAudit()
    private let findings = Mutex(Findings())

    /// An audit that has not begun.
    ///
    /// - Parameters:
    ///   - source: where the records are read.
    ///   - rules: the service's settings.
    public init(_ source: some AuditSource, by rules: AuditRules) {
        (self.source, self.rules) = (source, rules)
    }

    /// How many partitions stores live in, as the first claims say; the number of the stock topic's, if they have expired.
    public static func storePartitionCount(of source: some AuditSource) throws -> Int {
        var json = JSONReader()
        for partition in 0..<source.partitionCount(of: .results) {
            let first = source.firstOffset(of: .results, partition: partition)
            for record in try source.records(of: .results, partition: partition, from: first) {
                let count = (record.value ?? []).withUnsafeBufferPointer { value in
                    json.readObject(value) && json.isType("claim") ? json.integer("partitions") : nil
                }
                if let count { return count }
            }
        }
        return source.partitionCount(of: .stock)
    }

    /// How many partitions must be audited: as many as the topic with the most has.
    public var partitionCount: Int {
        let topics: [AuditTopic] = [.orders, .restocks, .results, .stock, .deadLetters]
        return topics.reduce(rules.partitionCount) { max($0, source.partitionCount(of: $1)) }
    }

    /// Audits one partition of all topics. Several may be audited at the same time.
    ///
    /// - Parameter partition: the partition, once.
    /// - Throws: what the source throws.
    public func audit(_ partition: Int) throws {
        var audit = PartitionAudit(source, partition, rules, transfers)
        let found = try audit.run()
        findings.withLock { $0.add(found) }
    }

    /// The verdict, once all partitions are audited: it needs what several of them left.
    public func finish() throws -> Audit {
        var findings = findings.withLock { $0 }
        transfers.finish(&findings)
        return Audit(findings)
    }
}

/// What the audit of some partitions found.
struct Findings: Sendable {
    var list = FaultList()
    var counts = AuditCounts()
    var starts: [AuditMoment] = []
    var owners: [AuditOwner] = []
    var anchors: [AuditAnchor] = []
    /// The offsets of each input that were judged.
    var judged: [Place: Judged] = [:]

    /// What was judged of a partition of an input.
    struct Judged: Sendable {
        var offsets: Range<Int64>
        /// When the first of them may have been written, in milliseconds since 1970: what is older has expired.
        let since: Int64
    }

    mutating func add(_ other: Findings) {
        list.add(other.list)
        counts.add(other.counts)
        starts += other.starts
        owners += other.owners
        anchors += other.anchors
        judged.merge(other.judged) { $1 }
    }
}

/// Records that are all in memory.
struct RecordArrays: AuditSource {
    let topics: AuditTopics

    func partitionCount(of topic: AuditTopic) -> Int { topics[topic].count }

    func firstOffset(of topic: AuditTopic, partition: Int) -> Int64 { 0 }

    func records(of topic: AuditTopic, partition: Int, from offset: Int64) -> [AuditRecord] {
        let records = topics[topic][partition]
        var (low, high) = (0, records.count)
        while low < high {
            let middle = (low + high) / 2
            if records[middle].offset < offset { low = middle + 1 } else { high = middle }
        }
        return low == 0 ? records : Array(records[low...])
    }
}

/// The records of one partition, one after the other.
struct RecordCursor {
    let topic: AuditTopic
    let partition: Int
    /// The first offset that has not expired.
    let first: Int64
    private let source: any AuditSource
    private var records: [AuditRecord] = []
    private var position = 0
    private var offset: Int64
    private var isAtEnd: Bool

    init(_ source: some AuditSource, _ topic: AuditTopic, _ partition: Int) {
        (self.source, self.topic, self.partition) = (source, topic, partition)
        isAtEnd = partition >= source.partitionCount(of: topic)
        // Compaction moves the first offset of the stock, which says nothing.
        first = isAtEnd || topic == .stock ? 0 : source.firstOffset(of: topic, partition: partition)
        offset = first
    }

    /// The offset of the next record; nil at the end.
    mutating func nextOffset() throws -> Int64? {
        if position == records.count, !isAtEnd {
            (records, position) = (try source.records(of: topic, partition: partition, from: offset), 0)
            isAtEnd = records.isEmpty
            if let last = records.last { offset = last.offset + 1 }
        }
        return position < records.count ? records[position].offset : nil
    }

    mutating func next() throws -> AuditRecord? {
        guard try nextOffset() != nil else { return nil }
        position += 1
        return records[position - 1]
    }

    /// Goes on at this offset.
    mutating func move(to offset: Int64) {
        (records, position, self.offset) = ([], 0, offset)
        isAtEnd = partition >= source.partitionCount(of: topic)
    }
}
