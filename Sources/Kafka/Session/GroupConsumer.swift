/// A member of a consumer group: rebalances and records come as events of one poll.
///
/// Nothing of an assignment is read before ``start(at:)`` says from where. It belongs to one thread.
///
/// ```swift
/// let member = try GroupConsumer(of: ["orders"], configuration: configuration, hooks: hooks)
/// switch try member.poll(maxRecords: 1000, timeout: .milliseconds(100)) {
/// case .assigned(let partitions): try member.start(at: offsets(of: partitions))
/// case .revoked: forget()
/// case .records(let batch): process(batch)
/// }
/// ```
public final class GroupConsumer {
    /// What happened next.
    public enum Event {
        /// The group gave these partitions; there were none when this comes.
        case assigned([TopicPartition])
        /// The group took all partitions back, or could not be joined for this reason.
        case revoked(KafkaError?)
        /// The records at hand, none after a wait in vain. Valid until the next poll.
        case records(RecordBatch)
    }

    /// For questions about offsets and topics. Assigning and polling are this class's.
    public let consumer: Consumer
    /// The generation that the present assignment belongs to; nil without one.
    public private(set) var membership: ConsumerGroupMetadata?

    /// Joins the group that `group.id` names.
    ///
    /// - Throws: ``KafkaError`` when librdkafka refuses a property.
    public init(
        of topics: [String],
        configuration: KafkaConfiguration,
        hooks: ClientHooks
    ) throws(KafkaError) {
        consumer = try Consumer(configuration: configuration, hooks: hooks)
        try consumer.subscribe(to: topics)
    }

    /// What happened next: waits up to `timeout` for the first of it.
    ///
    /// - Throws: ``KafkaError`` when the membership is beyond recovery, for example fenced by another member with the same
    ///   `group.instance.id`. What concerns one partition comes as an element of the records.
    public func poll(maxRecords: Int, timeout: Duration) throws(KafkaError) -> Event {
        if let event = nextRebalance() { return event }
        let batch = try consumer.poll(maxRecords: maxRecords, timeout: timeout)
        // librdkafka tells some errors only once, so they go before the rebalance that was told by the same call.
        return batch.isEmpty ? nextRebalance() ?? .records(batch) : .records(batch)
    }

    /// Reads the given partitions from the given offsets, and no others.
    public func start(at offsets: [TopicPartition: Offset]) throws(KafkaError) {
        try consumer.assign(offsets)
    }

    /// Leaves the group. A static member (`group.instance.id`) keeps its seat until the session times out.
    public func close() { consumer.close() }

    private func nextRebalance() -> Event? {
        switch consumer.nextRebalance() {
        case .assigned(let partitions, let membership):
            self.membership = membership
            return .assigned(partitions)
        case .revoked(let error):
            membership = nil
            return .revoked(error)
        case nil:
            return nil
        }
    }
}
