import CRdKafka

/// A consumer's membership at one moment: group, member and generation.
///
/// A transaction that sends offsets with it is refused by the broker once the group has moved on, which is what
/// keeps a member that lost its partitions from committing for them. For that it must be taken when the
/// partitions are assigned: taken later it may already speak for a later generation.
public final class ConsumerGroupMetadata {
    let pointer: OpaquePointer

    init?(of consumer: OpaquePointer) {
        guard let pointer = rd_kafka_consumer_group_metadata(consumer) else { return nil }
        self.pointer = pointer
    }

    deinit { rd_kafka_consumer_group_metadata_destroy(pointer) }
}
