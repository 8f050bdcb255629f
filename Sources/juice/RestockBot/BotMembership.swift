import Kafka

/// The answers as a member of the bots' group gets them: which partitions, from where, and the records.
final class BotMembership {
    enum Event {
        /// The group gave this member these partitions.
        case assigned([Int32])
        /// The group took all partitions back.
        case revoked
        /// What came, valid until the next poll.
        case batch(RecordBatch)
    }

    let consumer: Consumer
    /// What the present assignment belongs to; taken at assignment, and nil without one.
    private(set) var generation: ConsumerGroupMetadata?
    private let results: String
    private let rebalances = RebalanceQueue()

    /// Joins the group.
    init(_ clients: BotClients) throws(Failure) {
        results = clients.connection.topics.results
        consumer = try clients.groupConsumer()
        do throws(KafkaError) {
            try consumer.subscribe(to: [results]) { [rebalances] in
                rebalances.append($0)
                // Reading begins with `start`, once it is known how things stand.
                return .hold
            }
        } catch {
            throw clients.connection.failure(error)
        }
    }

    /// What happened next.
    func poll(maxRecords: Int, timeout: Duration) throws(KafkaError) -> Event {
        if let event = try nextRebalance() { return event }
        let batch = try consumer.poll(maxRecords: maxRecords, timeout: timeout)
        // A change of the assignment makes the records of the same poll void.
        return try nextRebalance() ?? .batch(batch)
    }

    /// Reads the answers of these partitions from these offsets, and no others.
    func start(at offsets: [Int32: Offset]) throws(KafkaError) {
        try consumer.assign(
            Dictionary(
                uniqueKeysWithValues: offsets.map { (TopicPartition(topic: results, partition: $0), $1) }
            )
        )
    }

    private func nextRebalance() throws(KafkaError) -> Event? {
        guard let rebalance = rebalances.popFirst() else { return nil }
        switch rebalance {
        case .assigned(let partitions, let membership):
            generation = membership
            return .assigned(partitions.map(\.partition).sorted())
        case .revoked:
            generation = nil
            return .revoked
        case .failed(let error):
            generation = nil
            throw error
        }
    }
}

/// Carries rebalances from the consumer's callback to the poll that caused it; both run on one thread.
private final class RebalanceQueue {
    private var rebalances: [Rebalance] = []

    func append(_ rebalance: Rebalance) { rebalances.append(rebalance) }

    func popFirst() -> Rebalance? { rebalances.isEmpty ? nil : rebalances.removeFirst() }
}
