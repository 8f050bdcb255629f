import JuiceEngine

/// A producer's transaction: the numbers by which its records and its marker find each other.
struct TransactionKey: Hashable {
    let transactionalID: String
    let number: Int
}

/// One partition's log: records, and the markers that decide about those of a transaction.
package final class SimulatedPartition {
    package struct Record {
        package let key: StableBytes?
        package let value: StableBytes?
        package let headers: [Header]
        /// Kafka's -1 stands for none.
        package let timestamp: Timestamp
        /// Nil for a record outside any transaction, as clients write them.
        let transaction: TransactionKey?

        /// As a consumer tells it.
        var toldTimestamp: Timestamp? { timestamp == -1 ? nil : timestamp }
    }

    private enum Entry {
        case record(Record)
        case marker
        /// Compaction took the record; the offset stays taken.
        case gone
    }

    private var entries: [Entry] = []
    /// Entries below this offset have expired.
    package var start: Offset = 0
    private var undecided: [TransactionKey: Offset] = [:]
    private var aborted: Set<TransactionKey> = []

    package var end: Offset { Offset(entries.count) }

    /// Everything below this offset is decided.
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

    /// Everything, as a consumer that forgot its isolation level sees it.
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

    /// The oldest committed or undecided record from a time on.
    func firstOffset(since time: Timestamp) -> Offset? {
        for offset in start..<end {
            if case .record(let record) = entries[Int(offset)], record.timestamp >= time { return offset }
        }
        return nil
    }

    /// Takes away what a later committed record of the same key makes void, and what was aborted.
    func compact() {
        var seen: Set<[UInt8]> = []
        for offset in (start..<lastStableOffset).reversed() {
            guard case .record(let record) = entries[Int(offset)] else { continue }
            let isLatest = isCommitted(record) && seen.insert(record.key?.bytes ?? []).inserted
            if !isLatest { entries[Int(offset)] = .gone }
        }
    }
}
