import CRdKafka
import Synchronization

/// A member of a consumer group, whose polls return rebalances and records as events. It belongs to one thread.
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
    /// The result of a poll.
    public enum Event {
        /// The group assigned these partitions, none of which is read before ``GroupConsumer/start(at:)``. There were none before.
        case assigned([TopicPartition])
        /// The group revoked all partitions, or could not be joined for this reason.
        case revoked(KafkaError?)
        /// The records that have arrived, possibly none. Valid until the next poll.
        case records(RecordBatch)
    }

    /// For lookups of offsets and topics. Only this class may assign and poll.
    public let consumer: Consumer
    /// Whether the group has assigned partitions, perhaps none, and not revoked them.
    public private(set) var hasAssignment = false
    private let topics: [String]

    /// Joins the group that `group.id` names. Throws ``KafkaError`` when librdkafka refuses a property.
    public init(of topics: [String], configuration: KafkaConfiguration, hooks: ClientHooks) throws(KafkaError) {
        self.topics = topics
        consumer = try Consumer(configuration: configuration, hooks: hooks)
        try consumer.subscribe(to: topics)
    }

    /// Waits up to `timeout` for a rebalance or records and returns whichever comes first.
    ///
    /// - Throws: ``KafkaError`` when the membership is beyond recovery, as ``Consumer/poll(maxRecords:timeout:)`` does.
    public func poll(maxRecords: Int, timeout: Duration) throws(KafkaError) -> Event {
        if let event = nextRebalance() { return event }
        let batch = try consumer.poll(maxRecords: maxRecords, timeout: timeout)
        // librdkafka reports some errors only once, so they come before a rebalance that the same poll brought.
        return batch.isEmpty ? nextRebalance() ?? .records(batch) : .records(batch)
    }

    /// Reads exactly these partitions from these offsets.
    public func start(at offsets: [TopicPartition: Offset]) throws(KafkaError) { try consumer.assign(offsets) }

    /// Asks the group for another assignment, which comes as events. What the member has is revoked first.
    public func rejoin() throws(KafkaError) { try consumer.subscribe(to: topics) }

    /// Leaves the group. A static member (`group.instance.id`, KIP-345) keeps its assignment until the session times out.
    public func close() { consumer.close() }

    private func nextRebalance() -> Event? {
        switch consumer.nextRebalance() {
        case .assigned(let partitions):
            hasAssignment = true
            return .assigned(partitions)
        case .revoked(let error):
            hasAssignment = false
            return .revoked(error)
        case nil: return nil
        }
    }
}

/// A change of the partitions that the group has assigned, as in ``GroupConsumer/Event``.
enum Rebalance {
    case assigned([TopicPartition])
    case revoked(KafkaError?)
}

/// The context of a consumer's rebalance callback, which the polling thread calls, or the one that closes the consumer.
final class ConsumerContext: ClientContext, @unchecked Sendable {
    /// Brought by a poll and not yet returned by ``Consumer/nextRebalance()``.
    let rebalances = Mutex<[Rebalance]>([])
}

func rebalanceCallback(
    client: OpaquePointer?, code: rd_kafka_resp_err_t, list: UnsafeMutablePointer<rd_kafka_topic_partition_list_t>?,
    opaque: UnsafeMutableRawPointer?
) {
    guard let client, let list, let context = ClientContext.of(client) as? ConsumerContext else { return }
    if code == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS {
        let partitions = UnsafePointer(list).partitions
        context.rebalances.withLock { $0.append(.assigned(partitions)) }
        _ = PartitionList([]).withPointer { rd_kafka_assign(client, $0) }
    } else {
        let isRevocation = code == RD_KAFKA_RESP_ERR__REVOKE_PARTITIONS
        context.rebalances.withLock { $0.append(.revoked(isRevocation ? nil : KafkaError(code))) }
        rd_kafka_assign(client, nil)
    }
}
