import JuiceEngine

/// Bytes at a fixed address, for records that are handed out as views.
final class StableBytes {
    let view: UnsafeRawBufferPointer

    init(_ bytes: some Collection<UInt8>) {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: max(1, bytes.count), alignment: 1)
        buffer.copyBytes(from: bytes)
        view = UnsafeRawBufferPointer(rebasing: buffer[..<bytes.count])
    }

    convenience init(_ text: String) { self.init(Array(text.utf8)) }

    deinit { view.baseAddress?.deallocate() }
}

/// A producer's transaction: the numbers by which its records and its marker find each other.
struct TransactionKey: Hashable {
    let transactionalID: String
    let number: Int
}

/// One partition's log: records, and the markers that decide about those of a transaction.
struct SimulatedPartition {
    struct Record {
        let key: StableBytes?
        let value: StableBytes?
        let headers: [Header]
        /// Nil for a record outside any transaction, as clients write them.
        let transaction: TransactionKey?
    }

    enum Entry {
        case record(Record)
        case marker(TransactionKey, isCommit: Bool)
    }

    private(set) var entries: [Entry] = []
    /// Entries below this offset have expired.
    var start = 0
    private var undecided: [TransactionKey: Int] = [:]
    private var decisions: [TransactionKey: Bool] = [:]

    var end: Offset { Offset(entries.count) }

    /// Everything below this offset is decided.
    var lastStableOffset: Offset { Offset(undecided.values.min() ?? entries.count) }

    mutating func append(_ record: Record) {
        if let transaction = record.transaction, undecided[transaction] == nil {
            undecided[transaction] = entries.count
        }
        entries.append(.record(record))
    }

    mutating func appendMarker(_ transaction: TransactionKey, isCommit: Bool) {
        undecided[transaction] = nil
        decisions[transaction] = isCommit
        entries.append(.marker(transaction, isCommit: isCommit))
    }

    /// The committed records from an offset on, and where reading them ends.
    func readCommitted(from offset: Offset, max: Int = .max) -> (records: [(Offset, Record)], next: Offset) {
        var records: [(Offset, Record)] = []
        var next = Swift.max(offset, Offset(start))
        while next < lastStableOffset, records.count < max {
            if case .record(let record) = entries[Int(next)],
                record.transaction.map({ decisions[$0] == true }) ?? true
            {
                records.append((next, record))
            }
            next += 1
        }
        return (records, next)
    }
}
