import CRdKafka

// MARK: - Committed offsets

extension Consumer {
    /// The group's committed offset of each partition; nil where none was committed.
    ///
    /// With `isolation.level=read_committed` the broker answers only once no open transaction includes offsets of them.
    public func committed(
        _ partitions: [TopicPartition],
        timeout: Duration
    ) throws(KafkaError) -> [TopicPartition: Offset?] {
        try committedList(partitions, timeout: timeout).offsets()
    }

    /// The metadata stored with the group's committed offset of each partition; empty where there is none.
    public func committedMetadata(
        _ partitions: [TopicPartition],
        timeout: Duration
    ) throws(KafkaError) -> [TopicPartition: String] {
        try committedList(partitions, timeout: timeout).metadata()
    }

    private func committedList(
        _ partitions: [TopicPartition],
        timeout: Duration
    ) throws(KafkaError) -> PartitionList {
        let list = PartitionList(partitions)
        // librdkafka reports an error for an empty list.
        guard !partitions.isEmpty else { return list }
        let code = list.withPointer { rd_kafka_committed(handle.pointer, $0, timeout.milliseconds) }
        if let error = KafkaError(code) { throw error }
        return list
    }

    /// Commits offsets for the group outside any transaction, and waits until the broker has stored them.
    public func commit(_ offsets: [TopicPartition: Offset]) throws(KafkaError) {
        let list = PartitionList(offsets: offsets)
        let code = list.withPointer { rd_kafka_commit(handle.pointer, $0, 0) }
        if let error = KafkaError(code) { throw error }
    }
}

// MARK: - Offsets in the log

extension Consumer {
    /// The first and the next offset of partitions. With `read_committed` the latter is the last stable offset, with
    /// `read_uncommitted` the true end of the log.
    public func watermarks(
        of partitions: [TopicPartition],
        timeout: Duration
    ) throws(KafkaError) -> [TopicPartition: Watermarks] {
        let beginning = Offset(RD_KAFKA_OFFSET_BEGINNING)
        let low = try listOffsets(at: partitions.map { ($0, beginning) }, timeout: timeout)
        let high = try endOffsets(of: partitions, timeout: timeout)
        return low.reduce(into: [:]) { watermarks, entry in
            guard let high = high[entry.key] else { return }
            watermarks[entry.key] = Watermarks(low: entry.value, high: high)
        }
    }

    /// The upper ends alone; see ``watermarks(of:timeout:)``.
    public func endOffsets(
        of partitions: [TopicPartition],
        timeout: Duration
    ) throws(KafkaError) -> [TopicPartition: Offset] {
        try listOffsets(at: partitions.map { ($0, Offset(RD_KAFKA_OFFSET_END)) }, timeout: timeout)
    }

    /// The offset of each partition's first record with a timestamp at or after a time in milliseconds since 1970. A partition
    /// without such a record is left out.
    public func offsets(
        since times: [TopicPartition: Int64],
        timeout: Duration
    ) throws(KafkaError) -> [TopicPartition: Offset] {
        try listOffsets(at: times.map { ($0, max(0, $1)) }, timeout: timeout)
    }

    /// Asks all leaders at once. `rd_kafka_query_watermark_offsets` would ask for one partition at a time, and ignores its
    /// timeout if no broker answers.
    private func listOffsets(
        at times: [(TopicPartition, Int64)],
        timeout: Duration
    ) throws(KafkaError) -> [TopicPartition: Offset] {
        // The protocol accepts the two logical offsets in place of a time.
        let list = PartitionList(offsets: times)
        // librdkafka reports an error for an empty list.
        guard !times.isEmpty else { return [:] }
        let code = list.withPointer { rd_kafka_offsets_for_times(handle.pointer, $0, timeout.milliseconds) }
        if let error = KafkaError(code) { throw error }
        return try list.offsets().compactMapValues { $0 }
    }
}
