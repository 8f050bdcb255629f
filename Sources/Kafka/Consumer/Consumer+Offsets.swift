import CRdKafka

// MARK: - Committed offsets

extension Consumer {
    /// The group's committed offset of each partition; nil where none was committed.
    ///
    /// With `isolation.level=read_committed` the broker answers only once no open transaction includes offsets of them.
    public func committed(_ partitions: [TopicPartition], timeout: Duration) throws(KafkaError) -> [TopicPartition: Offset?] {
        // librdkafka reports an error for an empty list.
        guard !partitions.isEmpty else { return [:] }
        let list = PartitionList(partitions)
        let code = list.withPointer { rd_kafka_committed(handle.pointer, $0, timeout.milliseconds) }
        if let error = KafkaError(code) { throw error }
        return try list.offsets()
    }

    /// Commits offsets for the group, and waits until the broker has stored them. After a timeout it may still do so.
    public func commit(_ offsets: [TopicPartition: Offset], timeout: Duration = .seconds(10)) throws(KafkaError) {
        // The call without a queue waits for the coordinator as long as it takes.
        let queue = rd_kafka_queue_new(handle.pointer)
        defer { rd_kafka_queue_destroy(queue) }
        let code = PartitionList(offsets: offsets).withPointer { rd_kafka_commit_queue(handle.pointer, $0, queue, nil, nil) }
        if let error = KafkaError(code) { throw error }
        guard let event = rd_kafka_queue_poll(queue, timeout.milliseconds) else {
            throw KafkaError(code: .timedOut, isRetriable: true)
        }
        defer { rd_kafka_event_destroy(event) }
        if let error = KafkaError(rd_kafka_event_error(event)) { throw error }
    }

    /// Commits offsets for the group without waiting, for tools that show how far it has read. Errors are ignored, but a member
    /// that is stale learns of it, and joins anew. Until the answer has come, librdkafka begins no assignment.
    public func publish(_ offsets: [TopicPartition: Offset]) {
        guard !offsets.isEmpty else { return }
        _ = PartitionList(offsets: offsets).withPointer { rd_kafka_commit(handle.pointer, $0, 1) }
    }
}

// MARK: - Offsets in the log

extension Consumer {
    /// The first and the next offset of partitions. With `read_committed` the latter is the last stable offset, with
    /// `read_uncommitted` the true end of the log.
    public func watermarks(of partitions: [TopicPartition], timeout: Duration) throws(KafkaError) -> [TopicPartition: Watermarks] {
        let beginning = Offset(RD_KAFKA_OFFSET_BEGINNING)
        let low = try listOffsets(at: partitions.map { ($0, beginning) }, timeout: timeout)
        let high = try endOffsets(of: partitions, timeout: timeout)
        return low.reduce(into: [:]) { watermarks, entry in
            guard let high = high[entry.key] else { return }
            watermarks[entry.key] = Watermarks(low: entry.value, high: high)
        }
    }

    /// The upper ends alone; see ``watermarks(of:timeout:)``.
    public func endOffsets(of partitions: [TopicPartition], timeout: Duration) throws(KafkaError) -> [TopicPartition: Offset] {
        try listOffsets(at: partitions.map { ($0, Offset(RD_KAFKA_OFFSET_END)) }, timeout: timeout)
    }

    /// The offset of each partition's first record with a timestamp at or after a time in milliseconds since 1970. A partition
    /// without such a record is left out.
    public func offsets(since times: [TopicPartition: Int64], timeout: Duration) throws(KafkaError) -> [TopicPartition: Offset] {
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
        do throws(KafkaError) {
            if let error = KafkaError(code) { throw error }
            return try list.offsets().compactMapValues { $0 }
        } catch {
            guard error.code == .unknownTopicOrPartition else { throw error }
            // The broker that the cluster names as the leader does not know the partition yet, or no longer. If the topic is
            // gone, its metadata tells.
            throw KafkaError(code: error.code, message: error.message, isRetriable: true)
        }
    }
}
