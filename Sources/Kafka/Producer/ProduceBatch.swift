import CRdKafka

/// Collects records for a topic and hands them to librdkafka in batches. A call for a single record takes three locks and reads
/// the clock twice.
///
/// A batch holds records of one partition. It is flushed before a record of another partition, before one that does not fit and
/// before one with headers, for which librdkafka has no batch call. That keeps the order within each partition.
final class ProduceBatch {
    private let topic: ProducerTopic
    private let handle: ClientHandle
    private var partition: Int32 = 0
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
        partition: Int32,
        key: UnsafeRawBufferPointer?,
        value: UnsafeRawBufferPointer?,
        headers: [RecordHeader],
        timestamp: Int64? = nil
    ) throws(KafkaError) {
        let size = (key?.count ?? 0) + (value?.count ?? 0)
        guard headers.isEmpty, size <= Self.maximumByteCount else {
            try flush()
            return try waitingForRoom { () throws(KafkaError) in
                try topic.enqueue(
                    partition: partition,
                    key: key,
                    value: value,
                    headers: headers,
                    timestamp: timestamp
                )
            }
        }
        if partition != self.partition || count == Self.maximumCount
            || byteCount + size > Self.maximumByteCount
        {
            try flush()
        }
        self.partition = partition
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
            next += try enqueue(from: next)
            if next < count { throw KafkaError(code: .queueFull, isRetriable: true) }
        }
    }

    /// - Returns: how many records librdkafka accepted. It accepts fewer than all only if the producer's queue is full.
    private func enqueue(from first: Int) throws(KafkaError) -> Int {
        guard let start = messages.baseAddress else { return 0 }
        let rest = UnsafeMutableBufferPointer(start: start + first, count: count - first)
        let taken = topic.enqueue(rest, partition: partition)
        guard taken < rest.count else { return taken }
        // Once the queue is full, librdkafka refuses all further records.
        let refused = rest.firstIndex { $0.err != RD_KAFKA_RESP_ERR_NO_ERROR } ?? rest.endIndex
        guard refused == taken, rest[refused].err == RD_KAFKA_RESP_ERR__QUEUE_FULL else {
            throw KafkaError(
                rest.first { $0.err != RD_KAFKA_RESP_ERR_NO_ERROR }?.err ?? RD_KAFKA_RESP_ERR__FAIL
            )
                ?? .outOfMemory
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
                rd_kafka_poll(handle.pointer, 10)
            }
        }
    }
}
