import JuiceEngine

/// Identifies a producer's transaction, in its records and its markers.
struct TransactionKey: Hashable {
    let transactionalID: String
    let number: Int
}

/// One partition's log: records, and the markers that end their transactions.
package final class SimulatedPartition {
    package struct Record {
        package let key: StableBytes?
        package var value: StableBytes?
        package let headers: [RecordHeader]
        /// Milliseconds since 1970; as in Kafka, -1 is none.
        package let timestamp: Timestamp
        /// Nil for a record outside any transaction, as clients write.
        let transaction: TransactionKey?

        /// The timestamp as a consumer returns it.
        var visibleTimestamp: Timestamp? { timestamp == -1 ? nil : timestamp }
    }

    private enum Entry {
        case record(Record)
        case marker
        /// Compaction removed the record; its offset stays used.
        case gone
    }

    private var entries: [Entry] = []
    /// Entries below this offset have expired.
    package var start: Offset = 0
    private var undecided: [TransactionKey: Offset] = [:]
    private var aborted: Set<TransactionKey> = []

    package var end: Offset { Offset(entries.count) }

    /// The transactions of all records below this offset are decided.
    private(set) var lastStableOffset: Offset = 0

    func append(_ record: Record) {
        if let transaction = record.transaction, undecided[transaction] == nil {
            undecided[transaction] = end
        }
        entries.append(.record(record))
        updateLastStableOffset()
    }

    func appendMarker(_ transaction: TransactionKey, _ decision: SimulatedTransactions.Decision) {
        undecided[transaction] = nil
        if decision == .abort { aborted.insert(transaction) }
        entries.append(.marker)
        updateLastStableOffset()
    }

    private func updateLastStableOffset() { lastStableOffset = undecided.values.min() ?? end }

    /// The committed records from an offset on, and where reading them ends.
    package func readCommitted(
        from offset: Offset = 0,
        max: Int = .max
    ) -> (records: [(offset: Offset, record: Record)], next: Offset) {
        var records: [(Offset, Record)] = []
        var next = Swift.max(offset, start)
        while next < lastStableOffset, records.count < max {
            if case .record(let record) = entries[Int(next)], isCommitted(record) {
                records.append((next, record))
            }
            next += 1
        }
        return (records, next)
    }

    /// All records, as a consumer with `read_uncommitted` sees them.
    func readUncommitted(
        from offset: Offset,
        max: Int = .max
    ) -> (records: [(offset: Offset, record: Record)], next: Offset) {
        var records: [(Offset, Record)] = []
        var next = Swift.max(offset, start)
        while next < end, records.count < max {
            if case .record(let record) = entries[Int(next)] { records.append((next, record)) }
            next += 1
        }
        return (records, next)
    }

    /// Below the last stable offset every transaction is decided.
    private func isCommitted(_ record: Record) -> Bool {
        record.transaction.map { !aborted.contains($0) } ?? true
    }

    /// The offset of the first record at or after a time, committed or not.
    func firstOffset(since time: Timestamp) -> Offset? {
        for offset in start..<end {
            if case .record(let record) = entries[Int(offset)], record.timestamp >= time { return offset }
        }
        return nil
    }

    /// Removes aborted records, and those with a later committed record of the same key.
    func compact() {
        var seen: Set<[UInt8]> = []
        for offset in (start..<lastStableOffset).reversed() {
            guard case .record(let record) = entries[Int(offset)] else { continue }
            let isLatest = isCommitted(record) && seen.insert(record.key?.bytes ?? []).inserted
            if !isLatest { entries[Int(offset)] = .gone }
        }
    }
}
