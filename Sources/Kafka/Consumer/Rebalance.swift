import CRdKafka
import Synchronization

/// A change of the partitions that the group has assigned to a consumer.
enum Rebalance {
    /// The assigned partitions.
    case assigned([TopicPartition])
    /// The group revoked all partitions, or could not be joined for this reason.
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
        let partitions = PartitionList.partitions(of: list)
        context.rebalances.withLock { $0.append(.assigned(partitions)) }
        _ = PartitionList([]).withPointer { rd_kafka_assign(client, $0) }
    } else {
        let isRevocation = code == RD_KAFKA_RESP_ERR__REVOKE_PARTITIONS
        context.rebalances.withLock { $0.append(.revoked(isRevocation ? nil : KafkaError(code))) }
        rd_kafka_assign(client, nil)
    }
}
