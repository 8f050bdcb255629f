/// A topic of a ``TransactionalProducer``, independent of the client that the producer currently uses.
public final class TransactionalTopic {
    let name: String
    private let properties: [String: String]
    private(set) var batch: ProduceBatch?

    init(name: String, properties: [String: String]) {
        self.name = name
        self.properties = properties
    }

    /// Called once the client is initialised: from librdkafka 2.10 on, a topic created earlier delays that by half a second.
    func connect(to handle: ClientHandle) throws(KafkaError) {
        let topic = try ProducerTopic(name, properties: properties, of: handle)
        batch = ProduceBatch(topic: topic, of: handle)
    }

    func disconnect() { batch = nil }

    /// Adds a record to the current transaction. It is copied and sent in the background together with others, at the latest
    /// by ``TransactionalProducer/sendOffsets(_:metadata:membership:timeout:)`` or
    /// ``TransactionalProducer/commit(timeout:)``, both of which wait while the producer's queue is full.
    ///
    /// The timestamp, in milliseconds since 1970, is ignored for records without headers; nil is now.
    /// - Throws: ``KafkaError`` with ``KafkaError/Remedy/startOver``, for this record or an earlier one: a transaction that
    ///   lacks a record must not be committed.
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
