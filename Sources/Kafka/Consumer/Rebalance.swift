/// A change of the partitions that a group gives a consumer, told inside ``Consumer/poll(maxRecords:timeout:)``.
public enum Rebalance {
    /// The group gave these partitions. `membership` is the generation they belong to.
    case assigned([TopicPartition], membership: ConsumerGroupMetadata?)
    /// The group takes these partitions back. They are still this consumer's until the handler returns, unless
    /// `lost`: then another consumer may have them already.
    case revoked([TopicPartition], lost: Bool)
    /// The group could not be joined, for now.
    case failed(KafkaError)
}

/// Where to begin with newly assigned partitions; the answer to ``Rebalance/assigned(_:membership:)``.
public enum Assignment {
    /// Read each from the group's committed offset.
    case fromCommitted
    /// Read nothing until ``Consumer/assign(_:)`` says from where.
    case hold
}
