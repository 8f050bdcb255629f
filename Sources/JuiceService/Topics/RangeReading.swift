import Kafka

extension Consumer {
    /// Reads ranges of partitions. It has no assignment afterwards.
    ///
    /// - Parameters:
    ///   - timeout: how long to wait for all of it.
    ///   - body: called with each record; it returns false to stop reading.
    func read(_ ranges: [TopicPartition: Range<Offset>], timeout: Duration, _ body: (ConsumedRecord) -> Bool) throws(KafkaError) {
        let ranges = ranges.filter { !$0.value.isEmpty }
        guard let first = ranges.keys.first else { return }
        try assign(ranges.mapValues(\.lowerBound))
        defer { try? assign([:]) }
        var unread = UnreadRanges(ranges)
        let deadline = ContinuousClock.now + timeout
        while !unread.isEmpty {
            guard ContinuousClock.now < deadline else {
                throw KafkaError(code: .timedOut, message: "\(first.topic): no records", isRetriable: true)
            }
            for element in try poll(maxRecords: 10_000, timeout: .milliseconds(10)) {
                switch element {
                case .record(let record):
                    let partition = TopicPartition(topic: record.topic, partition: record.partition)
                    if ranges[partition]?.contains(record.offset) ?? false, !body(record) { return }
                    unread.passed(partition, next: record.offset + 1)
                case .endOfPartition(let partition, let next): unread.passed(partition, next: next)
                case .failure(_, let error) where error.remedy == .retry: continue
                case .failure(_, let error): throw error
                }
            }
        }
    }
}
