import JuiceMessages

/// Writes answers and stock to the log, record by record, from one reused buffer.
struct Output<Log: CommandLog>: ~Copyable {
    let log: Log
    /// The value of the record being written.
    var buffer = OutputBuffer()

    init(_ log: Log) { self.log = log }

    /// Writes a record with the buffer as its value.
    func write(
        _ topic: Topic,
        _ partition: Int32,
        key: BorrowedText,
        headers: [RecordHeader] = []
    ) throws(LogError) {
        try log.produce(
            OutputRecord(
                topic: topic,
                partition: partition,
                key: key.bytes,
                value: buffer.unsafeBytes,
                headers: headers
            )
        )
    }

    /// Writes the stock of every store that the transaction changed.
    mutating func writeStock(
        of state: PartitionState,
        encoder: AnswerEncoder,
        summary: inout TransactionSummary
    ) throws(LogError) {
        summary.storesChanged += state.applied.stores.changeCount
        try state.applied.stores.forEachChange { (store, levels, revision) throws(LogError) in
            buffer.removeAll()
            encoder.stock(store: store, revision: revision, levels: levels, into: &buffer)
            try write(.stock, state.partition, key: store)
        }
    }
}
