/// Journal records to write after a flush of the records that have left the partition.
struct DeferredRecords {
    private var records: [(record: OutputRecord, key: Range<Int>?, value: Range<Int>?)] = []
    private var bytes: [UInt8] = []

    mutating func append(_ record: OutputRecord) {
        records.append((record, record.key.map { append($0) }, record.value.map { append($0) }))
    }

    private mutating func append(_ source: UnsafeRawBufferPointer) -> Range<Int> {
        bytes.append(contentsOf: source)
        return bytes.count - source.count..<bytes.count
    }

    func write(to log: any KafkaPort) throws(LogError) {
        // The standard library's withUnsafeBytes does not pass typed errors on.
        let result: Result<Void, LogError> = bytes.withUnsafeBytes { bytes in
            Result { () throws(LogError) in
                for (deferred, key, value) in records {
                    var record = deferred
                    record.key = key.map { UnsafeRawBufferPointer(rebasing: bytes[$0]) }
                    record.value = value.map { UnsafeRawBufferPointer(rebasing: bytes[$0]) }
                    try log.produce(record)
                }
            }
        }
        try result.get()
    }
}
