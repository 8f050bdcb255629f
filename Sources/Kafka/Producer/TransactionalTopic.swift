/// A topic as a ``TransactionalProducer`` addresses it, whichever client the producer has at the time.
public final class TransactionalTopic {
    private let name: String
    private let properties: [String: String]
    private(set) var batch: ProduceBatch?

    init(name: String, properties: [String: String]) {
        self.name = name
        self.properties = properties
    }

    /// From librdkafka 2.10 on a topic made before its client is initialised delays that by half a second.
    func connect(to handle: ClientHandle) throws(KafkaError) {
        let topic = try ProducerTopic(name, properties: properties, of: handle)
        batch = ProduceBatch(topic: topic, of: handle)
    }

    func disconnect() { batch = nil }

    /// Adds a record to the present transaction. It is copied, and sent in the background together with others, at the
    /// latest by ``TransactionalProducer/sendOffsets(_:metadata:membership:timeout:)`` or
    /// ``TransactionalProducer/commit(timeout:)``, either of which waits while the producer's queue is full.
    ///
    /// A timestamp is in milliseconds since 1970, heeded only with headers; nil is now.
    /// - Throws: ``KafkaError`` with ``KafkaError/Remedy/startOver``, for this record or one before it: whatever keeps one out
    ///   keeps the transaction from being complete.
    public func produce(
        partition: Int32,
        key: UnsafeRawBufferPointer?,
        value: UnsafeRawBufferPointer?,
        headers: [RecordHeader],
        timestamp: Int64? = nil
    ) throws(KafkaError) {
        guard let batch else {
            throw KafkaError(code: .state, message: "\(name): no producer is initialised")
        }
        try batch.add(
            partition: partition,
            key: key,
            value: value,
            headers: headers,
            timestamp: timestamp
        )
    }
}
