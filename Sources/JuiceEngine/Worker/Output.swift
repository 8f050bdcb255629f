import JuiceMessages

/// Writes what a batch results in to the log, record by record, and counts it.
///
/// Forwarded commands and dead letters are not the journal's, and a transaction can be torn: a late request of an earlier one may
/// commit the first part of it alone. So they are flushed before the notes that tell of them are written, and all records of
/// the journal that come after the first of them in the batch are held back until then.
struct Output: ~Copyable {
    /// Records of the journal that are not written yet.
    struct HeldBack {
        private struct Record {
            let partition: Int32
            let key: Range<Int>?
            let value: Range<Int>
            let headers: [MessageHeader]
        }

        private var records: [Record] = []
        private var bytes: [UInt8] = []

        var isEmpty: Bool { records.isEmpty }

        fileprivate mutating func append(_ record: OutputRecord) {
            records.append(
                Record(
                    partition: record.partition, key: record.key.map { append($0) },
                    value: append(record.value ?? UnsafeRawBufferPointer(start: nil, count: 0)), headers: record.headers))
        }

        private mutating func append(_ source: UnsafeRawBufferPointer) -> Range<Int> {
            bytes.append(contentsOf: source)
            return bytes.count - source.count..<bytes.count
        }

        /// Writes the records.
        func write(to log: any CommandLog) throws(LogError) {
            for record in records {
                try withBytes(of: record) { (key, value) throws(LogError) in
                    try log.produce(
                        OutputRecord(topic: .results, partition: record.partition, key: key, value: value, headers: record.headers))
                }
            }
        }

        private func withBytes(
            of record: Record, _ body: (UnsafeRawBufferPointer?, UnsafeRawBufferPointer) throws(LogError) -> Void
        ) throws(LogError) {
            // The standard library's withUnsafeBytes does not pass typed errors on.
            let result: Result<Void, LogError> = bytes.withUnsafeBytes { bytes in
                Result { () throws(LogError) in
                    try body(
                        record.key.map { UnsafeRawBufferPointer(rebasing: bytes[$0]) },
                        UnsafeRawBufferPointer(rebasing: bytes[record.value]))
                }
            }
            try result.get()
        }
    }

    let log: any CommandLog
    /// How to treat the records; ``Trouble/Treatment/whole`` for a batch of several.
    let treatment: Trouble.Treatment
    /// What is written so far.
    var summary = TransactionSummary()
    /// The answer being written, and the value of its record. Both are used again for the next one.
    var answer = AnswerContent()
    var buffer = OutputBuffer()
    private(set) var heldBack = HeldBack()
    /// Whether anything was handed on that has to be flushed first.
    private(set) var mustFlush = false

    init(_ log: any CommandLog, _ treatment: Trouble.Treatment = .whole) {
        (self.log, self.treatment) = (log, treatment)
    }

    /// Writes a record of the journal, with the buffer as its value.
    ///
    /// - Parameter key: the store that was answered; nil for a note.
    mutating func journal(_ partition: Int32, key: BorrowedText?, headers: [MessageHeader] = []) throws(LogError) {
        let record = OutputRecord(
            topic: .results, partition: partition, key: key?.bytes, value: buffer.unsafeBytes, headers: headers)
        if mustFlush { heldBack.append(record) } else { try log.produce(record) }
    }

    /// Writes a note into the journal.
    mutating func journal(_ partition: Int32, _ note: JournalNote) throws(LogError) {
        buffer.removeAll()
        note.write(into: &buffer)
        try journal(partition, key: nil)
    }

    /// Hands on a record that is not the journal's.
    mutating func handOn(_ record: OutputRecord) throws(LogError) {
        try log.produce(record)
        mustFlush = true
    }

    /// Writes the stock of every store that the stock topic lacks changes of. The open transaction must not have changed any.
    mutating func writeStock(of state: PartitionState, encoder: AnswerEncoder) throws(LogError) {
        summary.storesWritten += state.applied.stores.unwrittenCount
        try state.applied.stores.forEachUnwritten { (store, levels, revision) throws(LogError) in
            buffer.removeAll()
            encoder.stock(store: store, revision: revision, levels: levels, into: &buffer)
            try log.produce(
                OutputRecord(topic: .stock, partition: state.partition, key: store.bytes, value: buffer.unsafeBytes, headers: []))
        }
    }
}
