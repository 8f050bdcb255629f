import CRdKafka

/// A producer without transactions: each record is written and confirmed individually. It belongs to one thread.
///
/// For records that must become visible together use ``TransactionSession``.
public final class Producer {
    private let handle: ClientHandle
    private var topics: [String: ClientTopic] = [:]

    /// Where a record was written.
    public struct Delivery: Sendable, Equatable {
        /// The partition's number.
        public let partition: Int32
        /// Nil if the broker did not report it: it already had the record from an attempt whose response was lost.
        public let offset: Offset?
    }

    /// A producer. Set `enable.idempotence` if a retry must not write a record twice. Throws ``KafkaError`` when librdkafka refuses
    /// a property.
    public init(configuration: KafkaConfiguration, hooks: ClientHooks) throws(KafkaError) {
        handle = try ClientHandle(RD_KAFKA_PRODUCER, configuration: configuration, context: ClientContext(hooks)) {
            rd_kafka_conf_set_dr_msg_cb($0) { _, message, _ in
                guard let message, let opaque = message.pointee._private else { return }
                Unmanaged<DeliveryReport>.fromOpaque(opaque).takeRetainedValue().complete(message.pointee)
            }
        }
    }

    deinit { purgeUndelivered() }

    /// Hands a record to librdkafka, which sends it in the background. Key and value are bytes, or nil for Kafka's null. Without a
    /// partition the `partitioner` property chooses one. The timestamp is in milliseconds since 1970, by default now. `completion`
    /// is called once, inside a later ``poll(timeout:)`` or when the producer is released.
    public func produce(
        topic: String, partition: Int32? = nil, key: [UInt8]?, value: [UInt8]?, headers: [RecordHeader] = [],
        timestamp: Int64? = nil, completion: @escaping (Result<Delivery, KafkaError>) -> Void
    ) throws(KafkaError) {
        let topic = try self.topic(topic)
        let report = Unmanaged.passRetained(DeliveryReport(completion))
        do throws(KafkaError) {
            try (key ?? []).withUnsafeBufferPointer { keyBytes throws(KafkaError) in
                try (value ?? []).withUnsafeBufferPointer { valueBytes throws(KafkaError) in
                    try topic.enqueue(
                        partition: partition, key: key == nil ? nil : UnsafeRawBufferPointer(keyBytes),
                        value: value == nil ? nil : UnsafeRawBufferPointer(valueBytes), headers: headers, timestamp: timestamp,
                        opaque: report.toOpaque())
                }
            }
        } catch {
            report.release()
            // With the topic's name, as in a delivery report.
            throw error.with(\.message, "topic \(topic.name): \(error.message)")
        }
    }

    /// Sends one record and waits for its confirmation; the arguments are those of `produce`.
    ///
    /// - Throws: ``KafkaError``; ``KafkaError/Code/timedOut`` if no broker confirmed the record in time. It is then unknown whether
    ///   the record was written, and all other undelivered records of this producer are purged, too.
    @discardableResult
    public func send(
        topic: String, partition: Int32? = nil, key: [UInt8]?, value: [UInt8]?, headers: [RecordHeader] = [],
        timestamp: Int64? = nil, timeout: Duration
    ) throws(KafkaError) -> Delivery {
        var result: Result<Delivery, KafkaError>?
        try produce(topic: topic, partition: partition, key: key, value: value, headers: headers, timestamp: timestamp) {
            result = $0
        }
        let deadline = ContinuousClock.now + timeout
        while result == nil, ContinuousClock.now < deadline { handle.poll(timeout: min(deadline - .now, .milliseconds(100))) }
        // Purged, so that it is not sent unexpectedly later.
        if result == nil { purgeUndelivered() }
        do throws(KafkaError) {
            guard let delivery = try result?.get() else { throw .noAnswer }
            return delivery
        } catch { throw error.code == .purgedFromQueue || error.code == .purgedInFlight ? .noAnswer : error }
    }

    /// Serves completions and hooks, waiting up to `timeout` for the first.
    public func poll(timeout: Duration) { handle.poll(timeout: timeout) }

    /// The cluster's brokers and the partitions of the named topics, waiting up to `timeout` for each topic.
    public func metadata(topics: [String]?, timeout: Duration) throws(KafkaError) -> ClusterMetadata {
        try handle.metadata(topics: topics, timeout: timeout, serving: true)
    }

    /// Purges undelivered records and calls all outstanding completions.
    private func purgeUndelivered() {
        rd_kafka_purge(handle.pointer, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT)
        // With nothing to report, the poll would wait for its whole timeout.
        guard rd_kafka_outq_len(handle.pointer) > 0 else { return }
        handle.poll(timeout: .milliseconds(100))
    }

    private func topic(_ name: String) throws(KafkaError) -> ClientTopic {
        if let topic = topics[name] { return topic }
        let topic = try ClientTopic(name, of: handle)
        topics[name] = topic
        return topic
    }
}

/// Carries a completion through librdkafka: retained when the record is handed over, released with its delivery report.
private final class DeliveryReport {
    private let completion: (Result<Producer.Delivery, KafkaError>) -> Void

    init(_ completion: @escaping (Result<Producer.Delivery, KafkaError>) -> Void) { self.completion = completion }

    func complete(_ message: rd_kafka_message_t) {
        if let error = KafkaError(message.err) {
            let topic = message.rkt.map { "topic \(String(cString: rd_kafka_topic_name($0))): " } ?? ""
            completion(.failure(error.with(\.message, topic + error.message)))
        } else {
            let offset = message.offset >= 0 ? message.offset : nil
            completion(.success(.init(partition: message.partition, offset: offset)))
        }
    }
}

/// A topic of one client: the only owner of an `rd_kafka_topic_t`.
final class ClientTopic {
    private let pointer: OpaquePointer
    /// Retained because librdkafka requires topics to be destroyed before their client.
    private let handle: ClientHandle

    /// The properties override the client's.
    init(_ name: String, properties: [String: String] = [:], of handle: ClientHandle) throws(KafkaError) {
        let configuration = properties.isEmpty ? nil : rd_kafka_default_topic_conf_dup(handle.pointer)
        for (name, value) in properties {
            let result = rd_kafka_topic_conf_set(configuration, name, value, nil, 0)
            guard result != RD_KAFKA_CONF_OK else { continue }
            rd_kafka_topic_conf_destroy(configuration)
            throw .refusedProperty(name, result)
        }
        // rd_kafka_topic_new takes ownership of the configuration, even when it fails.
        guard let pointer = rd_kafka_topic_new(handle.pointer, name, configuration) else {
            throw KafkaError(rd_kafka_last_error()) ?? .outOfMemory
        }
        (self.pointer, self.handle) = (pointer, handle)
    }

    deinit { rd_kafka_topic_destroy(pointer) }

    var name: String { String(cString: rd_kafka_topic_name(pointer)) }

    /// Hands a record to librdkafka, which copies it, as in `Producer.produce`. The delivery report gets `opaque`.
    func enqueue(
        partition: Int32?, key: UnsafeRawBufferPointer?, value: UnsafeRawBufferPointer?, headers: [RecordHeader],
        copying: HeaderList? = nil, timestamp: Int64? = nil, opaque: UnsafeMutableRawPointer? = nil
    ) throws(KafkaError) {
        let list = headers.isEmpty && copying == nil ? nil : RecordHeader.makeList(headers, behind: copying)
        let code = crdkafka_produce(
            handle.pointer, pointer, partition ?? RD_KAFKA_PARTITION_UA, key.flatMap(nonNull), key?.count ?? 0,
            value.flatMap(nonNull), value?.count ?? 0, list, timestamp ?? 0, opaque)
        guard let error = KafkaError(code) else { return }
        if let list { rd_kafka_headers_destroy(list) }
        throw error
    }

    /// Hands records for one partition to librdkafka, which copies them and sets `err` of each. Returns how many it accepted.
    func enqueue(_ messages: UnsafeMutableBufferPointer<rd_kafka_message_t>, partition: Int32) -> Int {
        let count = Int32(messages.count)
        return Int(rd_kafka_produce_batch(pointer, partition, RD_KAFKA_MSG_F_COPY, messages.baseAddress, count))
    }

    // MARK: - Reading without a group

    /// Begins to read a partition that is not being read yet.
    func start(_ partition: Int32, at offset: Offset, into queue: OpaquePointer) throws(KafkaError) {
        guard rd_kafka_consume_start_queue(pointer, partition, offset, queue) != 0 else { return }
        throw KafkaError(rd_kafka_last_error()) ?? .outOfMemory
    }

    func stop(_ partition: Int32) { rd_kafka_consume_stop(pointer, partition) }
}
