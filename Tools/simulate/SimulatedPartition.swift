import JuiceEngine
import JuiceMessages

/// One partition's log: records, and the markers that end their transactions.
final class SimulatedPartition {
    struct Record {
        let key: StableBytes?
        var value: StableBytes?
        let headers: [MessageHeader]
        /// Milliseconds since 1970; -1 means none, as in Kafka.
        let timestamp: Timestamp
        /// The partition's transaction that it belongs to; nil outside of transactions, as for clients' records.
        var transaction: Int?

        /// The timestamp as a consumer returns it.
        var visibleTimestamp: Timestamp? { timestamp == -1 ? nil : timestamp }
        /// The value as text; empty if there is none.
        var text: String { value.map { String(decoding: $0.view, as: UTF8.self) } ?? "" }
        /// Whether it answers a repeat.
        var isRepeat: Bool { text.contains(#""duplicate":true"#) }
    }

    /// Some records, and the offset after them.
    struct Span {
        var records: [(offset: Offset, record: Record)] = []
        var next: Offset
        /// The offset of an unreadable record, equal to `next`; nil if there is none.
        var damage: Offset?
    }

    /// What the partition knows of a transaction.
    private struct Transaction {
        let epoch: Int
        let first: Offset
        var decision: Decision?
        var marker: Offset?
    }

    /// A marker is nil, and so is a record that compaction removed: their offsets stay used.
    private var entries: [Record?] = []
    private var transactions: [Transaction] = []
    /// The undecided transaction of each producer, by the producer's number.
    private var ongoing: [Int: Int] = [:]
    /// The offsets of damaged records. Only a client that checks no checksums would read them.
    var damaged: Set<Offset> = []
    /// Records that were lost, by offset.
    private(set) var lost: [Offset: Record] = [:]
    /// Records that compaction or a fault has removed from between others, by offset.
    private(set) var removed: [Offset: Record] = [:]

    /// Entries below this offset have expired.
    var start: Offset = 0
    /// Without a leader, nothing can be written or read.
    var isLeaderless = false
    /// How often the log lost records that were written.
    private(set) var losses = 0
    /// The number of its last truncation, counted over all logs of the cluster.
    private(set) var truncated: Int?
    /// The transactions of all records below this offset are decided.
    private(set) var lastStableOffset: Offset = 0

    var end: Offset { Offset(entries.count) }

    // MARK: - Writing

    /// Appends a record outside of any transaction.
    func append(_ record: Record) {
        entries.append(record)
        updateLastStableOffset()
    }

    /// Appends a record to a producer's transaction, or begins one.
    func append(_ record: Record, by producer: Int, epoch: Int) {
        let transaction = ongoing[producer] ?? transactions.count
        if transaction == transactions.count {
            ongoing[producer] = transaction
            transactions.append(Transaction(epoch: epoch, first: end))
        }
        var record = record
        record.transaction = transaction
        append(record)
    }

    /// Whether a producer of this epoch has an undecided transaction here. Then its records need no verification.
    func hasOngoing(by producer: Int, epoch: Int) -> Bool {
        ongoing[producer].map { transactions[$0].epoch == epoch } ?? false
    }

    /// Ends a producer's transaction.
    func appendMarker(of producer: Int, _ decision: Decision) {
        if let transaction = ongoing.removeValue(forKey: producer) {
            transactions[transaction].decision = decision
            transactions[transaction].marker = end
        }
        entries.append(nil)
        updateLastStableOffset()
    }

    private func updateLastStableOffset() {
        lastStableOffset = Swift.max(start, ongoing.values.reduce(end) { min($0, transactions[$1].first) })
    }

    // MARK: - Reading

    func read(
        _ isolation: Isolation = .committed, from offset: Offset = 0, max: Int = .max, ignoringDamage: Bool = false,
        includingDeleted: Bool = false
    ) -> Span {
        let end = isolation == .committed ? lastStableOffset : end
        var span = Span(next: includingDeleted ? offset : Swift.max(offset, start))
        while span.next < end, span.records.count < max {
            if let record = entries[Int(span.next)] ?? (includingDeleted ? removed[span.next] : nil),
                isolation == .uncommitted || isCommitted(record)
            {
                if !ignoringDamage, !damaged.isEmpty, damaged.contains(span.next) {
                    span.damage = span.next
                    break
                }
                span.records.append((span.next, record))
            }
            span.next += 1
        }
        return span
    }

    /// Below the last stable offset every transaction is decided.
    private func isCommitted(_ record: Record) -> Bool {
        record.transaction.map { transactions[$0].decision == .commit } ?? true
    }

    /// The offset of the first record at or after a time, committed or not.
    func firstOffset(since time: Timestamp) -> Offset? {
        (start..<end).first { offset in entries[Int(offset)].map { $0.timestamp >= time } ?? false }
    }

    // MARK: - What storage does

    /// Removes aborted records, those without a key, and those with a later committed record of the same key.
    ///
    /// - Parameter end: where the closed segments end; by default the last stable offset.
    func compact(upTo end: Offset? = nil) {
        guard damaged.isEmpty else { return }
        var seen: Set<[UInt8]> = []
        for offset in (start..<(end ?? lastStableOffset)).reversed() {
            guard let record = entries[Int(offset)] else { continue }
            let isLatest = isCommitted(record) && record.key.map { seen.insert($0.bytes).inserted } ?? false
            if !isLatest { remove(offset) }
        }
    }

    /// Where the log would end if it lost its last entries.
    func end(afterLosing count: Int) -> Offset {
        var end = Swift.max(start, self.end - Offset(count))
        while let cut = transactions.first(where: { $0.first < end && $0.marker.map { $0 >= end } ?? false }) {
            end = cut.first
        }
        return end
    }

    /// Loses the last entries, as in an election of a leader that was behind.
    ///
    /// A transaction whose marker is lost loses all of its records, too: otherwise it would stay undecided for ever.
    func truncate(last count: Int, number: Int) {
        let end = self.end(afterLosing: count)
        keepLost(from: end)
        entries.removeSubrange(Int(end)...)
        ongoing = ongoing.filter { transactions[$0.value].first < end }
        damaged = damaged.filter { $0 < end }
        removed = removed.filter { $0.key < end }
        losses += 1
        truncated = number
        updateLastStableOffset()
    }

    /// Empties the log, like a topic that was deleted and recreated.
    func clear() {
        keepLost(from: 0)
        (entries, transactions, ongoing, damaged, removed, start) = ([], [], [:], [], [:], 0)
        losses += 1
        updateLastStableOffset()
    }

    private func keepLost(from offset: Offset) {
        for (offset, record) in read(from: offset, ignoringDamage: true).records { lost[offset] = record }
    }

    /// Loses a record.
    func remove(_ offset: Offset) {
        removed[offset] = entries[Int(offset)]
        entries[Int(offset)] = nil
    }

    /// Deletes all records before the first one that is not older than this time.
    func expire(before time: Timestamp) { deleteRecords(before: firstOffset(since: time) ?? end) }

    /// Deletes all records before an offset.
    func deleteRecords(before offset: Offset) {
        start = Swift.max(start, offset)
        damaged = damaged.filter { $0 >= start }
        updateLastStableOffset()
    }
}

/// Bytes at a fixed address, for records that are handed out as views.
final class StableBytes {
    let view: UnsafeRawBufferPointer

    init(_ bytes: some Collection<UInt8>) {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: max(1, bytes.count), alignment: 1)
        buffer.copyBytes(from: bytes)
        view = UnsafeRawBufferPointer(rebasing: buffer[..<bytes.count])
    }

    convenience init(_ text: String) { self.init(Array(text.utf8)) }

    var bytes: [UInt8] { Array(view) }

    deinit { view.baseAddress?.deallocate() }
}
