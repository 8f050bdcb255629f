/// A record to send.
public struct OutgoingRecord: Sendable {
    /// The topic's name.
    public var topic: String
    /// The partition; nil leaves the choice to the `partitioner` property.
    public var partition: Int32?
    /// The record's key; nil is Kafka's null.
    public var key: [UInt8]?
    /// The record's value; nil is Kafka's null.
    public var value: [UInt8]?
    /// The record's timestamp, in milliseconds since 1970; nil is now.
    public var timestamp: Int64?

    /// A record without headers.
    public init(topic: String, partition: Int32? = nil, key: [UInt8]?, value: [UInt8]?, timestamp: Int64? = nil) {
        self.topic = topic
        self.partition = partition
        self.key = key
        self.value = value
        self.timestamp = timestamp
    }
}

extension Producer {
    /// Sends records and waits until all are confirmed. It waits at most for `message.timeout.ms`, or a little longer if the
    /// producer's queue is full.
    ///
    /// - Throws: the error of the first record that failed. Some of the others may have been written, or may still be while the
    ///   producer exists.
    public func send(_ records: [OutgoingRecord]) throws(KafkaError) {
        let deliveries = Deliveries()
        for record in records {
            try retrying(while: { deliveries.error == nil }) { () throws(KafkaError) in
                do throws(KafkaError) {
                    try produce(
                        topic: record.topic, partition: record.partition, key: record.key, value: record.value,
                        timestamp: record.timestamp, completion: deliveries.record)
                } catch {
                    // The queue is full; deliveries make room.
                    poll(timeout: .milliseconds(10))
                    throw error
                }
                deliveries.due += 1
            }
        }
        while deliveries.due > 0, deliveries.error == nil { poll(timeout: .milliseconds(100)) }
        if let error = deliveries.error { throw error }
    }
}

/// Counts outstanding delivery reports and keeps the first error.
private final class Deliveries {
    var due = 0
    private(set) var error: KafkaError?

    func record(_ result: Result<Producer.Delivery, KafkaError>) {
        due -= 1
        if case .failure(let failure) = result { error = error ?? failure }
    }
}
