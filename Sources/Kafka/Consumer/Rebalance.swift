import CRdKafka

/// A change of the partitions that the group has assigned to a consumer.
enum Rebalance {
    /// The assigned partitions, and the membership as of this assignment.
    case assigned([TopicPartition], membership: ConsumerGroupMetadata?)
    /// The group revoked all partitions, or could not be joined for this reason.
    case revoked(KafkaError?)
}

/// A consumer's membership at one moment: group, member and generation.
///
/// A transaction sends its offsets with it. Once the group has moved on, the broker refuses them, so a member that lost its
/// partitions cannot commit for them. For that it must be read at assignment: read later, it may name a later generation.
public final class ConsumerGroupMetadata {
    let pointer: OpaquePointer

    init?(of consumer: OpaquePointer) {
        guard let pointer = rd_kafka_consumer_group_metadata(consumer) else { return nil }
        self.pointer = pointer
    }

    deinit { rd_kafka_consumer_group_metadata_destroy(pointer) }
}

/// The context of a consumer's rebalance callback. Only the polling thread uses it.
final class ConsumerContext: ClientContext {
    /// Brought by a poll and not yet returned by ``Consumer/nextRebalance()``.
    var rebalances: [Rebalance] = []
}

func rebalanceCallback(
    client: OpaquePointer?,
    code: rd_kafka_resp_err_t,
    list: UnsafeMutablePointer<rd_kafka_topic_partition_list_t>?,
    opaque: UnsafeMutableRawPointer?
) {
    guard let client, let list, let context = ClientContext.of(client) as? ConsumerContext else { return }
    if code == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS {
        // Read before assign is called: until then no later generation can begin.
        let membership = ConsumerGroupMetadata(of: client)
        context.rebalances.append(.assigned(PartitionList.partitions(of: list), membership: membership))
        _ = PartitionList([]).withPointer { rd_kafka_assign(client, $0) }
    } else {
        let isRevocation = code == RD_KAFKA_RESP_ERR__REVOKE_PARTITIONS
        context.rebalances.append(.revoked(isRevocation ? nil : KafkaError(code)))
        rd_kafka_assign(client, nil)
    }
}
