import JuiceEngine
import JuiceMessages
import Kafka

/// Finds out where logs begin and truly end, which of them may have changed their leader, and from where on answers are needed.
struct LogExtents {
    private let topics: TopicNames
    private let capabilities: BrokerCapabilities
    /// Sees past undecided transactions.
    private let consumer: Consumer
    /// Of the partitions whose extents were read last.
    private var watermarks: [TopicPartition: Range<Offset>] = [:]
    private var leaders: [TopicPartition: Int32] = [:]
    private var closedConnections = 0
    /// Since when a topic is missing.
    private var missingSince: ContinuousClock.Instant?

    init(configuration: ServiceConfiguration, consumer: Consumer) {
        topics = configuration.topics
        capabilities = configuration.capabilities
        self.consumer = consumer
    }

    /// - Parameters:
    ///   - share: what the worker reads.
    ///   - closedConnections: how many connections the worker's consumer has lost.
    ///   - timeout: how long to wait for each answer of the cluster.
    mutating func read(_ partitions: [Int32], of share: InputAssignment, closedConnections: Int, timeout: Duration) throws(LogError)
        -> (
            extents: [PartitionExtents], leaderless: [Int32: String]
        )
    {
        let metadata = try LogError.rethrowing { () throws(KafkaError) in
            try consumer.metadata(topics: topics.all, timeout: timeout)
        }
        try checkForMissing(in: metadata)
        var leaders: [TopicPartition: Int32] = [:]
        for topic in metadata.topics {
            for partition in topic.partitions {
                leaders[TopicPartition(topic: topic.name, partition: partition.number)] = partition.leader
            }
        }
        var leaderless: [Int32: String] = [:]
        for partition in partitions { leaderless[partition] = logs(of: partition, share).first { leaders[$0] == nil }?.topic }
        let led = partitions.filter { leaderless[$0] == nil }
        let all = led.flatMap { logs(of: $0, share) }
        watermarks = try LogError.rethrowing { () throws(KafkaError) in try consumer.watermarks(of: all, timeout: timeout) }
        let isConnectionLost = closedConnections != self.closedConnections
        let disturbed = all.filter { isConnectionLost || self.leaders[$0] != nil && self.leaders[$0] != leaders[$0] }
        (self.leaders, self.closedConnections) = (leaders, closedConnections)
        var extents: [PartitionExtents] = []
        for partition in led { extents.append(try extent(of: partition, share, disturbed: Set(disturbed))) }
        return (extents, leaderless)
    }

    private func logs(of partition: Int32, _ share: InputAssignment) -> [TopicPartition] {
        share.inputs(of: partition).map { topics[$0] } + ChangelogTopic.allCases.map { topics[$0.topic, partition] }
    }

    private func extent(
        of partition: Int32, _ share: InputAssignment, disturbed: Set<TopicPartition>
    ) throws(LogError) -> PartitionExtents {
        func range(_ log: TopicPartition) throws(LogError) -> Range<Offset> {
            guard let found = watermarks[log] else { throw LogError(.retry, "\(log.topic) [\(log.partition)]: no answer") }
            return found
        }
        var inputs: [InputPartition: Range<Offset>] = [:]
        for input in share.inputs(of: partition) { inputs[input] = try range(topics[input]) }
        return PartitionExtents(
            partition: partition, inputs: inputs, results: try range(topics[.results, partition]),
            stock: try range(topics[.stock, partition]), disturbed: Set(inputs.keys.filter { disturbed.contains(topics[$0]) }))
    }

    /// How long a topic may be missing. One that was made anew, or that a broker does not know yet, is there again by then.
    static let longestAbsence = Duration.seconds(30)

    /// Every topic counts, also the one that is only written to now and then: it may not be there when it is needed.
    ///
    /// - Throws: ``LogError``: to try again, or to stop once a topic has been missing for long.
    private mutating func checkForMissing(in metadata: ClusterMetadata) throws(LogError) {
        guard let missing = topics.all.first(where: { metadata[$0] == nil }) else { return missingSince = nil }
        let since = missingSince ?? .now
        missingSince = since
        let error = metadata.topics.first { $0.name == missing }?.error
        if let error, error.code.isDenial { throw LogError(error) }
        throw LogError(
            .now - since < Self.longestAbsence ? .retry : .stop, error?.description ?? "the topic \(missing) is gone")
    }

    /// The first answer of each partition that a repeat may still ask for. ``AnswerRestoreTime`` tells by the timestamps of a few
    /// records: the last answers, the last commands already read and the first command not yet read.
    ///
    /// - Parameter positions: those of partitions whose extents were read last.
    func answerStarts(
        at positions: [InputPosition], retention: Timestamp, now: Timestamp, timeout: Duration
    ) throws(KafkaError) -> [Int32: Offset] {
        let journals = watermarks.filter { $0.key.topic == topics.results }
        // A broker that cannot look up times trims its logs soon anyway.
        guard capabilities.findsOffsetsByTime else {
            return journals.reduce(into: [:]) { $0[$1.key.partition] = $1.value.lowerBound }
        }

        var ranges: [TopicPartition: Range<Offset>] = [:]
        func look(at log: TopicPartition, before offset: Offset, in watermarks: Range<Offset>) {
            let start = max(watermarks.lowerBound, offset - AnswerRestoreTime.lookBack)
            ranges[log] = start..<max(start, watermarks.upperBound)
        }
        for (journal, watermarks) in journals { look(at: journal, before: watermarks.upperBound, in: watermarks) }
        var inputs: [TopicPartition: InputPosition] = [:]
        for position in positions {
            let log = topics[position.topic.topic, position.partition]
            guard let watermarks = watermarks[log] else { continue }
            inputs[log] = position
            look(at: log, before: position.offset, in: watermarks)
        }
        var restoreTimes = journals.keys.reduce(into: [:]) { $0[$1.partition] = AnswerRestoreTime(now: now) }
        // What cannot be read says nothing of the time.
        try consumer.read(ranges, timeout: timeout, skippingDamage: true) { record in
            guard let position = inputs[TopicPartition(topic: record.topic, partition: record.partition)] else {
                restoreTimes[record.partition]?.addAnswer(at: record.timestamp)
                return true
            }
            guard record.offset < position.offset else {
                restoreTimes[record.partition]?.addUnread(position.topic, at: record.timestamp)
                return false
            }
            restoreTimes[record.partition]?.addRead(position.topic, at: record.timestamp)
            return true
        }
        let times = journals.keys.reduce(into: [:]) { $0[$1] = restoreTimes[$1.partition]?.start(retention: retention) }
        let first = try consumer.offsets(since: times, timeout: timeout)
        // If no record is that recent, there is no answer to read.
        return journals.reduce(into: [:]) { $0[$1.key.partition] = first[$1.key] ?? $1.value.upperBound }
    }
}
