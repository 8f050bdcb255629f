import CRdKafka

/// Collects records for a topic and hands them to librdkafka in batches. A call for a single record takes three locks and reads the
/// clock twice.
///
/// A batch holds records of several partitions, so that a small transaction is handed over at once. One millisecond after the first
/// record, librdkafka asks the coordinator to add the partitions seen so far to the transaction. Later ones wait for a second
/// request.
///
/// It is flushed before a record that does not fit, and before one with headers or a timestamp, which librdkafka's batch call does
/// not accept. This keeps the order within each partition.
final class ProduceBatch {
    private let topic: ClientTopic
    private let handle: ClientHandle
    private var messages: UnsafeMutableBufferPointer<rd_kafka_message_t>
    private var bytes: UnsafeMutableRawBufferPointer
    private var count = 0
    private var byteCount = 0

    /// Small enough that librdkafka begins to send while a large transaction is still being processed.
    private static let maximumCount = 256
    private static let maximumByteCount = 128 * 1024
    /// How long to wait for room in a full queue. If nothing is delivered in this time, the broker is not answering.
    private static let queueTimeout = Duration.seconds(1)

    init(topic: ClientTopic, of handle: ClientHandle) {
        (self.topic, self.handle) = (topic, handle)
        messages = .allocate(capacity: Self.maximumCount)
        messages.initialize(repeating: rd_kafka_message_t())
        bytes = .allocate(byteCount: Self.maximumByteCount, alignment: 1)
    }

    deinit {
        messages.deallocate()
        bytes.deallocate()
    }

    /// Adds a record and copies its bytes. Throws as ``TransactionSession`` does, for this record or an earlier one.
    func add(
        partition: Int32, key: UnsafeRawBufferPointer?, value: UnsafeRawBufferPointer?, headers: [RecordHeader],
        copying: HeaderList? = nil, timestamp: Int64?
    ) throws(KafkaError) {
        let size = (key?.count ?? 0) + (value?.count ?? 0)
        guard headers.isEmpty, copying == nil, timestamp == nil, size <= Self.maximumByteCount else {
            try flush()
            return try waitingForRoom(partition) { () throws(KafkaError) in
                try topic.enqueue(
                    partition: partition, key: key, value: value, headers: headers, copying: copying, timestamp: timestamp)
            }
        }
        if count == Self.maximumCount || byteCount + size > Self.maximumByteCount { try flush() }
        messages[count].partition = partition
        (messages[count].key, messages[count].key_len) = copy(key)
        (messages[count].payload, messages[count].len) = copy(value)
        count += 1
    }

    /// Copies bytes into the batch. Nil becomes a null pointer, which librdkafka takes for Kafka's null.
    private func copy(_ source: UnsafeRawBufferPointer?) -> (UnsafeMutableRawPointer?, Int) {
        guard let source, let base = bytes.baseAddress else { return (nil, 0) }
        let place = base + byteCount
        if let start = source.baseAddress { place.copyMemory(from: start, byteCount: source.count) }
        byteCount += source.count
        return (place, source.count)
    }

    /// Hands all records to librdkafka, which copies them and sends them in the background.
    func flush() throws(KafkaError) {
        guard count > 0 else { return }
        defer { (count, byteCount) = (0, 0) }
        var next = 0
        try waitingForRoom(messages[next].partition) { () throws(KafkaError) in
            while next < count {
                // librdkafka takes consecutive records of one partition at a time.
                let partition = messages[next].partition
                let run = UnsafeMutableBufferPointer(rebasing: messages[next..<count].prefix { $0.partition == partition })
                let taken = topic.enqueue(run, partition: partition)
                next += taken
                guard taken < run.count else { continue }
                // Once the queue is full, librdkafka refuses all further records.
                throw KafkaError(run.first { $0.err != RD_KAFKA_RESP_ERR_NO_ERROR }?.err ?? RD_KAFKA_RESP_ERR__FAIL) ?? .outOfMemory
            }
        }
    }

    /// Repeats a call while the queue is full, up to a timeout. After an error the transaction lacks a record and must be aborted.
    private func waitingForRoom(_ partition: @autoclosure () -> Int32, _ body: () throws(KafkaError) -> Void) throws(KafkaError) {
        let deadline = ContinuousClock.now + Self.queueTimeout
        while true {
            do throws(KafkaError) {
                return try body()
            } catch {
                guard error.code == .queueFull, ContinuousClock.now < deadline else {
                    let place = TopicPartition(topic: topic.name, partition: partition())
                    throw error.with(\.requiresAbort, true).with(\.place, place)
                }
                handle.poll(timeout: .milliseconds(10))
            }
        }
    }
}
