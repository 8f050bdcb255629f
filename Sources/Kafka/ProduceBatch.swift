import CRdKafka

/// Collects records for a topic and hands them to librdkafka in batches. A call for a single record takes three locks and reads
/// the clock twice.
///
/// A batch holds records of several partitions, so that a small transaction is handed over at once. One millisecond after the first
/// record, librdkafka asks the coordinator to add the partitions that it knows of to the transaction. Those it learns of later
/// wait for a second request.
///
/// It is flushed before a record that does not fit, and before one with headers, for which librdkafka has no batch call. That
/// keeps the order within each partition.
final class ProduceBatch {
    private let topic: ProducerTopic
    private let handle: ClientHandle
    private var messages: UnsafeMutableBufferPointer<rd_kafka_message_t>
    private var bytes: UnsafeMutableRawBufferPointer
    private var count = 0
    private var byteCount = 0

    /// Small enough that librdkafka begins to send while a large transaction is still being processed.
    private static let maximumCount = 256
    private static let maximumByteCount = 128 * 1024
    /// How long to wait for room in a full queue. If nothing is delivered in this time, the broker does not answer.
    private static let queueTimeout = Duration.seconds(1)

    init(topic: ProducerTopic, of handle: ClientHandle) {
        self.topic = topic
        self.handle = handle
        messages = .allocate(capacity: Self.maximumCount)
        messages.initialize(repeating: rd_kafka_message_t())
        bytes = .allocate(byteCount: Self.maximumByteCount, alignment: 1)
    }

    deinit {
        messages.deallocate()
        bytes.deallocate()
    }

    /// Adds a record. Its bytes are copied.
    ///
    /// - Throws: ``KafkaError`` with ``KafkaError/Remedy/startOver``, for this record or an earlier one: a transaction that
    ///   lacks a record must not be committed.
    func add(
        partition: Int32, key: UnsafeRawBufferPointer?, value: UnsafeRawBufferPointer?, headers: [RecordHeader],
        timestamp: Int64? = nil
    ) throws(KafkaError) {
        let size = (key?.count ?? 0) + (value?.count ?? 0)
        guard headers.isEmpty, size <= Self.maximumByteCount else {
            try flush()
            return try waitingForRoom { () throws(KafkaError) in
                try topic.enqueue(partition: partition, key: key, value: value, headers: headers, timestamp: timestamp)
            }
        }
        if count == Self.maximumCount || byteCount + size > Self.maximumByteCount { try flush() }
        messages[count].partition = partition
        (messages[count].key, messages[count].key_len) = copy(key)
        (messages[count].payload, messages[count].len) = copy(value)
        count += 1
    }

    /// Copies bytes into the batch. Nil stays null, which is Kafka's null.
    private func copy(_ source: UnsafeRawBufferPointer?) -> (UnsafeMutableRawPointer?, Int) {
        guard let source, let base = bytes.baseAddress else { return (nil, 0) }
        let place = base + byteCount
        if let start = source.baseAddress { place.copyMemory(from: start, byteCount: source.count) }
        byteCount += source.count
        return (place, source.count)
    }

    /// Discards records not yet handed over, which belong to an abandoned transaction.
    func removeAll() {
        count = 0
        byteCount = 0
    }

    /// Hands all records to librdkafka, which copies them and sends them in the background.
    func flush() throws(KafkaError) {
        guard count > 0 else { return }
        defer { removeAll() }
        var next = 0
        try waitingForRoom { () throws(KafkaError) in
            while next < count {
                let run = self.run(from: next)
                let taken = try enqueue(run)
                next += taken
                if taken < run.count { throw KafkaError(code: .queueFull, isRetriable: true) }
            }
        }
    }

    /// The consecutive records of one partition that begin with this one.
    private func run(from first: Int) -> Slice<UnsafeMutableBufferPointer<rd_kafka_message_t>> {
        let partition = messages[first].partition
        return messages[first..<count].prefix { $0.partition == partition }
    }

    /// - Parameter run: records of one partition.
    /// - Returns: how many of them librdkafka accepted. It accepts fewer than all only if the producer's queue is full.
    private func enqueue(_ run: Slice<UnsafeMutableBufferPointer<rd_kafka_message_t>>) throws(KafkaError) -> Int {
        let records = UnsafeMutableBufferPointer(rebasing: run)
        guard let first = records.first else { return 0 }
        let taken = topic.enqueue(records, partition: first.partition)
        guard taken < records.count else { return taken }
        // Once the queue is full, librdkafka refuses all further records.
        let refused = records.firstIndex { $0.err != RD_KAFKA_RESP_ERR_NO_ERROR } ?? records.endIndex
        guard refused == taken, records[refused].err == RD_KAFKA_RESP_ERR__QUEUE_FULL else {
            throw KafkaError(records.first { $0.err != RD_KAFKA_RESP_ERR_NO_ERROR }?.err ?? RD_KAFKA_RESP_ERR__FAIL) ?? .outOfMemory
        }
        return taken
    }

    private func waitingForRoom(_ body: () throws(KafkaError) -> Void) throws(KafkaError) {
        let deadline = ContinuousClock.now + Self.queueTimeout
        while true {
            do throws(KafkaError) {
                return try body()
            } catch {
                guard error.code == .queueFull, ContinuousClock.now < deadline else {
                    throw KafkaError(code: error.code, message: error.message, requiresAbort: true)
                }
                handle.poll(timeout: .milliseconds(10))
            }
        }
    }
}
