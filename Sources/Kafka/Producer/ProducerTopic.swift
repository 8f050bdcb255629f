import CRdKafka

/// A topic as a producer addresses it: the one owner of an `rd_kafka_topic_t`.
public final class ProducerTopic {
    /// The topic's name.
    public let name: String
    let pointer: OpaquePointer
    /// librdkafka requires topics to go before their client.
    private let handle: ClientHandle

    init(_ name: String, of handle: ClientHandle) throws(KafkaError) {
        guard let pointer = rd_kafka_topic_new(handle.pointer, name, nil) else {
            throw KafkaError(rd_kafka_last_error()) ?? .outOfMemory
        }
        self.name = name
        self.pointer = pointer
        self.handle = handle
    }

    deinit { rd_kafka_topic_destroy(pointer) }

    /// Hands a record to librdkafka, which copies it and sends it in the background.
    ///
    /// - Parameters:
    ///   - partition: nil leaves the choice to the property `partitioner`.
    ///   - opaque: comes back with the delivery report.
    func enqueue(
        partition: Int32?,
        key: UnsafeRawBufferPointer?,
        value: UnsafeRawBufferPointer?,
        headers: [RecordHeader],
        opaque: UnsafeMutableRawPointer? = nil
    ) throws(KafkaError) {
        let number = partition ?? RD_KAFKA_PARTITION_UA
        if headers.isEmpty {
            let result = rd_kafka_produce(
                pointer,
                number,
                RD_KAFKA_MSG_F_COPY,
                UnsafeMutableRawPointer(mutating: value?.baseAddress),
                value?.count ?? 0,
                key?.baseAddress,
                key?.count ?? 0,
                opaque
            )
            if result != 0 { throw KafkaError(rd_kafka_last_error()) ?? .outOfMemory }
        } else {
            let list = RecordHeader.makeList(headers)
            let code = crdkafka_produce_with_headers(
                handle.pointer,
                pointer,
                number,
                key?.baseAddress,
                key?.count ?? 0,
                value?.baseAddress,
                value?.count ?? 0,
                list,
                opaque
            )
            if let error = KafkaError(code) {
                if let list { rd_kafka_headers_destroy(list) }
                throw error
            }
        }
    }
}
