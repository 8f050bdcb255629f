import Kafka

/// Who committed last for each of some input partitions, also while a transaction is undecided about them.
struct CommittedMetadata {
    let byPartition: [TopicPartition: CommitMetadata]
    /// Of how many partitions they served the stores; nil where nobody said so.
    let partitionCount: Int32?

    /// Asks for them.
    ///
    /// - Parameter consumer: can ask for the group's offsets, and sees past undecided transactions.
    /// - Throws: ``KafkaError``, also when they counted different partitions: the stores would be split in two.
    init(
        of partitions: [TopicPartition],
        from consumer: Consumer,
        timeout: Duration
    ) throws(KafkaError) {
        byPartition = try consumer.committedMetadata(partitions, timeout: timeout)
            .compactMapValues { CommitMetadata($0) }
        let counts = Set(byPartition.values.map(\.partitionCount))
        guard counts.count <= 1 else {
            let listed = counts.sorted().map(String.init).joined(separator: " and of ")
            throw KafkaError(
                code: .invalidPartitions,
                message:
                    "stores were served as those of \(listed) partitions: their stock may be in two places."
                    + " docs/OPERATIONS.md#stock-in-the-wrong-partitions says what to do"
            )
        }
        partitionCount = counts.first
    }
}
