/// Where an audit reads the five topics. Different partitions may be read at the same time.
public protocol AuditSource: Sendable {
    /// How many partitions a topic has.
    ///
    /// - Parameter topic: one of the five.
    func partitionCount(of topic: AuditTopic) -> Int

    /// Which records of a partition can be judged.
    ///
    /// - Parameters:
    ///   - topic: one of the five.
    ///   - partition: one of its partitions.
    func bounds(of topic: AuditTopic, partition: Int) -> AuditBounds

    /// The next committed records of a partition, in offset order.
    ///
    /// - Parameters:
    ///   - topic: one of the five.
    ///   - partition: one of its partitions.
    /// - Returns: the records that follow those of the call before; none at the end.
    /// - Throws: what keeps the source from reading, which ends the audit.
    func nextRecords(of topic: AuditTopic, partition: Int) throws -> [AuditRecord]

    /// One committed record, read out of order. Few are: those that a record claims to be a copy of.
    ///
    /// - Parameters:
    ///   - topic: orders or restocks.
    ///   - partition: one of its partitions.
    ///   - offset: the record's offset.
    /// - Returns: the record; nil if there is none at this offset.
    /// - Throws: what keeps the source from reading, which ends the audit.
    func record(of topic: AuditTopic, partition: Int, offset: Int64) throws -> AuditRecord?
}

/// Which records of a partition can be judged.
public struct AuditBounds: Sendable, Hashable {
    /// The first offset that has not expired. The records from before it may have had answers, and may have had commands.
    public var first: Int64
    /// The first offset that the service has not committed. From there on a command may still have no answer.
    public var settled: Int64

    /// Bounds of a partition.
    ///
    /// - Parameters:
    ///   - first: the first offset that has not expired; by default none has.
    ///   - settled: the first offset that the service has not committed; by default it has committed all.
    public init(first: Int64 = 0, settled: Int64 = .max) {
        (self.first, self.settled) = (first, settled)
    }
}

/// The records of one partition, one after the other.
struct RecordCursor {
    private let source: any AuditSource
    private let topic: AuditTopic
    private let partition: Int
    private var records: [AuditRecord] = []
    private var position = 0
    private var isAtEnd: Bool
    let bounds: AuditBounds

    init(_ source: some AuditSource, _ topic: AuditTopic, _ partition: Int) {
        (self.source, self.topic, self.partition) = (source, topic, partition)
        isAtEnd = partition >= source.partitionCount(of: topic)
        bounds = isAtEnd ? AuditBounds() : source.bounds(of: topic, partition: partition)
    }

    mutating func next() throws -> AuditRecord? {
        guard let record = try peek() else { return nil }
        position += 1
        return record
    }

    /// The record that is next, which stays next.
    mutating func peek() throws -> AuditRecord? {
        if position == records.count, !isAtEnd {
            (records, position) = (try source.nextRecords(of: topic, partition: partition), 0)
            isAtEnd = records.isEmpty
        }
        return position < records.count ? records[position] : nil
    }
}
