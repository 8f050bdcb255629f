import CRdKafka

/// A producer whose records, together with the offsets of what they answer, become visible all at once or never.
///
/// It belongs to one thread. Every error says by its ``KafkaError/remedy`` what to do next:
/// - ``KafkaError/Remedy/abort``: call ``abort(timeout:)``, undo, read the input again;
/// - ``KafkaError/Remedy/retry``: the same call again with the same arguments;
/// - ``KafkaError/Remedy/startOver``: drop this producer. Whether the transaction was committed is then known
///   only to the broker.
///
/// ```swift
/// try producer.begin()
/// try results.produce(partition: 0, key: key, value: value, headers: [])
/// try producer.sendOffsets([orders: 42], membership: membership, timeout: .seconds(1))
/// try producer.commit(timeout: .seconds(1))
/// ```
public final class TransactionalProducer {
    private let handle: ClientHandle
    /// What was produced to each topic and is not handed to librdkafka yet.
    private var batches: [ProduceBatch] = []

    /// A producer that must be initialised before its first transaction.
    ///
    /// - Parameters:
    ///   - configuration: needs `transactional.id`, the name under which a successor fences this producer.
    ///   - hooks: told what no call returns.
    /// - Throws: ``KafkaError`` when librdkafka refuses a property.
    public init(configuration: KafkaConfiguration, hooks: ClientHooks) throws(KafkaError) {
        handle = try ClientHandle(.producer, configuration: configuration, hooks: hooks) {
            // Failed deliveries fail the transaction, so the reports themselves say nothing new. But without this
            // callback rd_kafka_flush, and with it every commit, waits in steps of 10 ms.
            rd_kafka_conf_set_dr_msg_cb($0) { _, _, _ in }
        }
    }

    /// A topic to produce to; make it once and keep it.
    ///
    /// - Parameters:
    ///   - name: the topic's name.
    ///   - properties: librdkafka's topic properties for this topic alone, such as `compression.type`.
    public func topic(
        _ name: String,
        properties: [String: String] = [:]
    ) throws(KafkaError) -> TransactionalTopic {
        let batch = ProduceBatch(
            topic: try ProducerTopic(name, properties: properties, of: handle),
            of: handle
        )
        batches.append(batch)
        return TransactionalTopic(batch: batch)
    }

    /// Takes over the transactional id: fences its former user and ends what that left open.
    public func initTransactions(timeout: Duration) throws(KafkaError) {
        try check(rd_kafka_init_transactions(handle.pointer, timeout.milliseconds))
    }

    /// Begins a transaction. A local call.
    public func begin() throws(KafkaError) {
        for batch in batches { batch.removeAll() }
        try check(rd_kafka_begin_transaction(handle.pointer))
    }

    /// Makes the group's committed offsets part of the transaction.
    ///
    /// - Parameters:
    ///   - offsets: of each partition, the next offset to read.
    ///   - note: kept beside each offset; Kafka calls it metadata.
    ///   - membership: the generation to which the partitions belong, so that the broker can refuse it later.
    ///   - timeout: how long to wait; a call that took longer is made again.
    public func sendOffsets(
        _ offsets: [TopicPartition: Offset],
        note: String = "",
        membership: ConsumerGroupMetadata,
        timeout: Duration
    ) throws(KafkaError) {
        try handOver()
        let list = PartitionList(offsets: offsets, note: note)
        try check(
            list.withPointer {
                rd_kafka_send_offsets_to_transaction(
                    handle.pointer,
                    $0,
                    membership.pointer,
                    timeout.milliseconds
                )
            }
        )
    }

    /// Waits for all deliveries, then commits. When it returns, the transaction is committed.
    ///
    /// After ``KafkaError/Remedy/retry``, such as at the end of `timeout`, the same call goes on waiting.
    public func commit(timeout: Duration) throws(KafkaError) {
        try handOver()
        try check(rd_kafka_commit_transaction(handle.pointer, timeout.milliseconds))
    }

    /// Throws away what is not sent yet, then aborts. When it returns, nothing of the transaction will be seen.
    public func abort(timeout: Duration) throws(KafkaError) {
        for batch in batches { batch.removeAll() }
        try check(rd_kafka_abort_transaction(handle.pointer, timeout.milliseconds))
    }

    /// Waits until everything that was produced is written, if not yet decided about. A commit does so by itself.
    public func flush(timeout: Duration) throws(KafkaError) {
        try handOver()
        if let error = KafkaError(rd_kafka_flush(handle.pointer, timeout.milliseconds)) { throw error }
    }

    /// Serves the hooks, waiting for at most `timeout`.
    public func poll(timeout: Duration) {
        rd_kafka_poll(handle.pointer, timeout.milliseconds)
    }

    private func handOver() throws(KafkaError) {
        for batch in batches { try batch.flush() }
    }

    private func check(_ error: OpaquePointer?) throws(KafkaError) {
        if let error = KafkaError(consuming: error) { throw handle.explained(error) }
    }
}

/// A topic as a ``TransactionalProducer`` addresses it.
public struct TransactionalTopic {
    fileprivate let batch: ProduceBatch

    /// Adds a record to the present transaction. It is copied, and sent in the background together with others, at the
    /// latest by ``TransactionalProducer/sendOffsets(_:note:membership:timeout:)`` or
    /// ``TransactionalProducer/commit(timeout:)``, either of which waits while the producer's queue is full.
    ///
    /// - Throws: ``KafkaError`` with ``KafkaError/Remedy/abort``, for this record or one before it: whatever keeps one out
    ///   keeps the transaction from being complete.
    public func produce(
        partition: Int32,
        key: UnsafeRawBufferPointer?,
        value: UnsafeRawBufferPointer?,
        headers: [RecordHeader]
    ) throws(KafkaError) {
        try batch.add(partition: partition, key: key, value: value, headers: headers)
    }
}
