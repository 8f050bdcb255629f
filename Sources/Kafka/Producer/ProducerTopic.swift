import CRdKafka

/// A topic of one producer client: the only owner of an `rd_kafka_topic_t`.
final class ProducerTopic {
    private let pointer: OpaquePointer
    /// Retained because librdkafka requires topics to be destroyed before their client.
    private let handle: ClientHandle

    /// - Parameter properties: librdkafka's topic properties, which override the client's.
    /// - Throws: ``KafkaError`` when librdkafka refuses a property.
    init(_ name: String, properties: [String: String] = [:], of handle: ClientHandle) throws(KafkaError) {
        let configuration = try Self.makeConfiguration(properties, of: handle)
        guard let pointer = rd_kafka_topic_new(handle.pointer, name, configuration) else {
            throw KafkaError(rd_kafka_last_error()) ?? .outOfMemory
        }
        self.pointer = pointer
        self.handle = handle
    }

    deinit { rd_kafka_topic_destroy(pointer) }

    /// The client's topic configuration with these properties; nil if there are none. The caller owns it until
    /// `rd_kafka_topic_new` takes it, which it does even when it fails.
    private static func makeConfiguration(
        _ properties: [String: String],
        of handle: ClientHandle
    ) throws(KafkaError) -> OpaquePointer? {
        guard !properties.isEmpty, let configuration = rd_kafka_default_topic_conf_dup(handle.pointer) else {
            return nil
        }
        for (name, value) in properties {
            let result = rd_kafka_topic_conf_set(configuration, name, value, nil, 0)
            guard result != RD_KAFKA_CONF_OK else { continue }
            rd_kafka_topic_conf_destroy(configuration)
            throw .refusedProperty(name, result)
        }
        return configuration
    }

    /// Hands a record to librdkafka, which copies it and sends it in the background.
    ///
    /// - Parameters:
    ///   - partition: the partition's number; nil leaves the choice to the `partitioner` property.
    ///   - timestamp: the record's timestamp, in milliseconds since 1970; nil is now.
    ///   - opaque: passed to the delivery report.
    func enqueue(
        partition: Int32?, key: UnsafeRawBufferPointer?, value: UnsafeRawBufferPointer?, headers: [RecordHeader],
        timestamp: Int64? = nil, opaque: UnsafeMutableRawPointer? = nil
    ) throws(KafkaError) {
        let number = partition ?? RD_KAFKA_PARTITION_UA
        if headers.isEmpty, timestamp == nil {
            let result = rd_kafka_produce(
                pointer, number, RD_KAFKA_MSG_F_COPY, UnsafeMutableRawPointer(mutating: Self.address(of: value)), value?.count ?? 0,
                Self.address(of: key), key?.count ?? 0, opaque)
            if result != 0 { throw KafkaError(rd_kafka_last_error()) ?? .outOfMemory }
        } else {
            let list = headers.isEmpty ? nil : RecordHeader.makeList(headers)
            let code = crdkafka_produce_with_headers(
                handle.pointer, pointer, number, Self.address(of: key), key?.count ?? 0, Self.address(of: value), value?.count ?? 0,
                list, timestamp ?? 0, opaque)
            if let error = KafkaError(code) {
                if let list { rd_kafka_headers_destroy(list) }
                throw error
            }
        }
    }

    /// Hands records for one partition to librdkafka, which copies them and sends them in the background.
    ///
    /// - Parameter messages: the records; librdkafka reads key and payload and sets `err` of each.
    /// - Returns: how many records it accepted.
    func enqueue(_ messages: UnsafeMutableBufferPointer<rd_kafka_message_t>, partition: Int32) -> Int {
        let count = Int32(messages.count)
        return Int(rd_kafka_produce_batch(pointer, partition, RD_KAFKA_MSG_F_COPY, messages.baseAddress, count))
    }

    /// Nil stays null, which is Kafka's null. Empty bytes need some address, and an empty buffer may have none.
    private static func address(of bytes: UnsafeRawBufferPointer?) -> UnsafeRawPointer? {
        bytes.flatMap { $0.baseAddress ?? UnsafeRawPointer(bitPattern: 1) }
    }
}
