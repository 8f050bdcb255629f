import JuiceMessages

struct RecordCursor {
    let topic: Topic
    let partition: Int32
    /// The first offset that has not expired.
    let first: Int64
    private let source: any AuditSource
    private var offset: Int64
    /// Nil before the first record is read, and at the end.
    private var reader: (any AuditReader)?
    private var records: [AuditRecord] = []
    private var position = 0
    private var isAtEnd: Bool
    /// What could not be read before the records at hand.
    private var gaps: Set<AuditGap> = []

    /// - Parameter start: where to begin; earlier records count as expired.
    init(_ source: any AuditSource, _ topic: Topic, _ partition: Int32, from start: Int64 = 0) {
        (self.source, self.topic, self.partition) = (source, topic, partition)
        isAtEnd = partition >= source.partitionCount(of: topic)
        // Compaction moves the first offset of the stock, so that offset says nothing.
        first = isAtEnd || topic == .stock ? 0 : max(start, source.firstOffset(of: topic, partition: partition))
        offset = first
    }

    /// The offset of the next record; nil at the end.
    mutating func nextOffset() throws -> Int64? {
        if position == records.count, !isAtEnd {
            reader = try reader ?? source.reader(of: topic, partition: partition, from: offset)
            (records, position) = (try reader?.next() ?? [], 0)
            gaps.formUnion(reader?.gaps ?? [])
            isAtEnd = records.isEmpty
            if isAtEnd { reader = nil }
        }
        return position < records.count ? records[position].offset : nil
    }

    /// - Parameter end: the offset to stop at.
    mutating func next(before end: Int64 = .max) throws -> AuditRecord? {
        guard let offset = try nextOffset(), offset < end else { return nil }
        position += 1
        return records[position - 1]
    }

    mutating func move(to offset: Int64) {
        (self.offset, reader, records, position) = (offset, nil, [], 0)
        isAtEnd = partition >= source.partitionCount(of: topic)
    }

    func place(_ offset: Int64) -> Place { Place(topic: topic, partition: partition, offset: offset) }

    /// Whether it is unknown which records had some of these offsets.
    func lacks(_ offsets: Range<Int64>) -> Bool {
        offsets.lowerBound < first || gaps.contains { $0.offsets.overlaps(offsets) }
    }

    var faults: [Fault] {
        gaps.sorted { $0.offsets.lowerBound < $1.offsets.lowerBound }.compactMap { gap in
            gap.problem.map { Fault(.wrong, place(gap.offsets.lowerBound), "up to offset \(gap.offsets.upperBound - 1): \($0)") }
        }
    }
}
