import CRdKafka

/// A plain producer: each record stands alone and is confirmed alone.
///
/// It belongs to one thread. For records that belong together use ``TransactionalProducer``.
public final class Producer {
    private let handle: ClientHandle
    private var topics: [String: ProducerTopic] = [:]

    /// Where a record ended up.
    public struct Delivery: Sendable, Equatable {
        /// The partition that got it.
        public let partition: Int32
        /// Its offset there.
        public let offset: Offset
    }

    /// A producer. Set `enable.idempotence` for records that a retry must not double.
    public init(configuration: KafkaConfiguration, hooks: ClientHooks) throws(KafkaError) {
        handle = try ClientHandle(.producer, configuration: configuration, hooks: hooks) {
            rd_kafka_conf_set_dr_msg_cb($0) { _, message, _ in
                guard let message, let opaque = message.pointee._private else { return }
                Unmanaged<DeliveryReport>.fromOpaque(opaque).takeRetainedValue().complete(message.pointee)
            }
        }
    }

    deinit { giveUpUndelivered() }

    /// Hands a record to librdkafka, which sends it in the background.
    ///
    /// - Parameters:
    ///   - topic: the topic's name.
    ///   - partition: nil leaves the choice to the property `partitioner`.
    ///   - key: the record's key; nil is Kafka's null.
    ///   - value: the record's value; nil is Kafka's null.
    ///   - headers: the record's headers.
    ///   - timestamp: when the record was made, in milliseconds since 1970; nil is now.
    ///   - completion: called once, inside a later ``poll(timeout:)``, or when the producer is let
    ///     go.
    public func produce(
        topic: String,
        partition: Int32? = nil,
        key: [UInt8]?,
        value: [UInt8]?,
        headers: [RecordHeader] = [],
        timestamp: Int64? = nil,
        completion: @escaping (Result<Delivery, KafkaError>) -> Void
    ) throws(KafkaError) {
        let topic = try self.topic(topic)
        let report = Unmanaged.passRetained(DeliveryReport(completion))
        do throws(KafkaError) {
            try Self.borrowing(key, value) { (key, value) throws(KafkaError) in
                try topic.enqueue(
                    partition: partition,
                    key: key,
                    value: value,
                    headers: headers,
                    timestamp: timestamp,
                    opaque: report.toOpaque()
                )
            }
        } catch {
            report.release()
            throw error
        }
    }

    /// Sends one record and waits for its confirmation.
    ///
    /// - Throws: ``KafkaError``; ``KafkaError/Code/timedOut`` when no broker confirmed it in time. It is then
    ///   unknown whether the record was written, and everything else this producer has not delivered is given up, too.
    @discardableResult
    public func send(
        topic: String,
        key: [UInt8]?,
        value: [UInt8]?,
        headers: [RecordHeader] = [],
        timestamp: Int64? = nil,
        timeout: Duration
    ) throws(KafkaError) -> Delivery {
        var result: Result<Delivery, KafkaError>?
        try produce(topic: topic, key: key, value: value, headers: headers, timestamp: timestamp) {
            result = $0
        }
        let deadline = ContinuousClock.now + timeout
        while result == nil, ContinuousClock.now < deadline {
            rd_kafka_poll(handle.pointer, min(deadline - .now, .milliseconds(100)).milliseconds)
        }
        // Taken back rather than left to be sent by surprise later.
        if result == nil { giveUpUndelivered() }
        guard let result, !Self.isTakenBack(result) else {
            throw KafkaError(code: .timedOut, isRetriable: true)
        }
        return try result.get()
    }

    /// Serves completions and hooks, waiting for at most `timeout` for the first.
    public func poll(timeout: Duration) {
        rd_kafka_poll(handle.pointer, timeout.milliseconds)
    }

    /// The cluster's brokers and the partitions of the topics named.
    public func metadata(topics: [String], timeout: Duration) throws(KafkaError) -> ClusterMetadata {
        // What went wrong in the background says more than that no answer came.
        defer { rd_kafka_poll(handle.pointer, 0) }
        return try handle.metadata(topics: topics, timeout: timeout)
    }

    /// Takes back what is not delivered; every completion that is still due is called.
    private func giveUpUndelivered() {
        rd_kafka_purge(handle.pointer, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT)
        rd_kafka_poll(handle.pointer, 100)
    }

    private static func isTakenBack(_ result: Result<Delivery, KafkaError>) -> Bool {
        guard case .failure(let error) = result else { return false }
        return error.code == .purgedFromQueue || error.code == .purgedInFlight
    }

    private func topic(_ name: String) throws(KafkaError) -> ProducerTopic {
        if let topic = topics[name] { return topic }
        let topic = try ProducerTopic(name, of: handle)
        topics[name] = topic
        return topic
    }

    private static func borrowing(
        _ key: [UInt8]?,
        _ value: [UInt8]?,
        _ body: (UnsafeRawBufferPointer?, UnsafeRawBufferPointer?) throws(KafkaError) -> Void
    ) throws(KafkaError) {
        // Typed throws do not reach through the standard library's withUnsafeBytes.
        let result: Result<Void, KafkaError> = (key ?? []).withUnsafeBytes { keyBytes in
            (value ?? []).withUnsafeBytes { valueBytes in
                Result { () throws(KafkaError) in
                    try body(key == nil ? nil : keyBytes, value == nil ? nil : valueBytes)
                }
            }
        }
        try result.get()
    }
}

/// Carries a completion through librdkafka; retained when the record is handed over, released when reported.
private final class DeliveryReport {
    private let completion: (Result<Producer.Delivery, KafkaError>) -> Void

    init(_ completion: @escaping (Result<Producer.Delivery, KafkaError>) -> Void) {
        self.completion = completion
    }

    func complete(_ message: rd_kafka_message_t) {
        if let error = KafkaError(message.err) {
            let topic = message.rkt.map { "topic \(String(cString: rd_kafka_topic_name($0))): " } ?? ""
            completion(.failure(error.saying(topic + error.message)))
        } else {
            completion(.success(.init(partition: message.partition, offset: message.offset)))
        }
    }
}
