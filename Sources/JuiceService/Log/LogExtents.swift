import JuiceEngine
import JuiceMessages
import Kafka

/// Finds out where logs begin and truly end, and which of them may have changed their leader.
struct LogExtents {
    private let configuration: ServiceConfiguration
    /// Sees past undecided transactions.
    private let consumer: Consumer
    private var watermarks: [TopicPartition: Watermarks] = [:]
    private var leaders: [TopicPartition: Int32] = [:]
    private var closedConnections = 0
    /// Since when a topic is missing.
    private var missingSince: ContinuousClock.Instant?

    /// A topic that was made anew, or that a broker does not know yet, is there again by then.
    private static let longestAbsence = Duration.seconds(30)

    init(configuration: ServiceConfiguration, consumer: Consumer) {
        (self.configuration, self.consumer) = (configuration, consumer)
    }

    /// - Parameters:
    ///   - share: what the worker reads.
    ///   - closedConnections: how many connections the worker's consumer has lost.
    ///   - timeout: how long to wait for each answer of the cluster.
    mutating func read(_ partitions: [Int32], of share: InputShare, closedConnections: Int, timeout: Duration) throws(LogError) -> (
        extents: [PartitionExtents], leaderless: [Int32: String]
    ) {
        let names = configuration.topics.inputs + configuration.topics.changelogs + [configuration.topics.deadLetters]
        let metadata = try LogError.rethrowing { () throws(KafkaError) in try consumer.metadata(topics: names, timeout: timeout) }
        try checkForMissing(names, in: metadata)
        var leaderless: [Int32: String] = [:]
        var leaders: [TopicPartition: Int32] = [:]
        for topic in metadata.topics {
            for partition in topic.partitions {
                leaders[TopicPartition(topic: topic.name, partition: partition.number)] = partition.leader
            }
        }
        for partition in partitions { leaderless[partition] = places(of: partition, share).first { leaders[$0] == nil }?.topic }
        let all = partitions.filter { leaderless[$0] == nil }.flatMap { places(of: $0, share) }
        watermarks = try LogError.rethrowing { () throws(KafkaError) in try consumer.watermarks(of: all, timeout: timeout) }
        let moved = Set(all.filter { self.leaders[$0] != nil && self.leaders[$0] != leaders[$0] })
        let isDisturbed = closedConnections != self.closedConnections
        (self.leaders, self.closedConnections) = (leaders, closedConnections)
        var extents: [PartitionExtents] = []
        for partition in partitions where leaderless[partition] == nil {
            extents.append(try extent(of: partition, share) { isDisturbed || moved.contains($0) })
        }
        return (extents, leaderless)
    }

    private func places(of partition: Int32, _ share: InputShare) -> [TopicPartition] {
        share.inputs(of: partition).map { TopicPartition(topic: configuration.topics[$0.topic], partition: $0.partition) }
            + configuration.topics.changelogs.map { TopicPartition(topic: $0, partition: partition) }
    }

    private func extent(
        of partition: Int32,
        _ share: InputShare,
        _ isDisturbed: (TopicPartition) -> Bool
    ) throws(LogError) -> PartitionExtents {
        func range(_ topic: String, _ number: Int32) throws(LogError) -> Range<Offset> {
            guard let log = watermarks[TopicPartition(topic: topic, partition: number)] else {
                throw LogError(.retry, "\(topic) [\(number)]: no answer")
            }
            return log.low..<max(log.low, log.high)
        }
        var inputs: [InputPartition: Range<Offset>] = [:]
        var disturbed: Set<InputPartition> = []
        for input in share.inputs(of: partition) {
            let topic = configuration.topics[input.topic]
            inputs[input] = try range(topic, input.partition)
            if isDisturbed(TopicPartition(topic: topic, partition: input.partition)) { disturbed.insert(input) }
        }
        return PartitionExtents(
            partition: partition, inputs: inputs, results: try range(configuration.topics.results, partition),
            stock: try range(configuration.topics.stock, partition), disturbed: disturbed)
    }

    /// - Throws: ``LogError``: to try again, or to stop once a topic has been missing for long.
    private mutating func checkForMissing(_ names: [String], in metadata: ClusterMetadata) throws(LogError) {
        guard let missing = names.first(where: { metadata[$0] == nil }) else { return missingSince = nil }
        let since = missingSince ?? .now
        missingSince = since
        let error = metadata.topics.first { $0.name == missing }?.error
        let reason = error?.description ?? "the topic \(missing) is gone"
        if let error, error.code.isDenial { throw LogError(error) }
        throw LogError(.now - since < Self.longestAbsence ? .retry : .stop, reason)
    }

    // MARK: - Answers

    /// The first answer of each partition that a repeat may still ask for.
    ///
    /// - Parameter positions: those of partitions whose extents were read last.
    func answerStarts(
        at positions: [InputPosition],
        retention: Timestamp,
        now: Timestamp,
        timeout: Duration
    ) throws(KafkaError) -> [Int32: Offset] {
        let topics = configuration.topics
        let results = watermarks.keys.filter { $0.topic == topics.results }
        // A broker that cannot look up times trims its logs soon anyway.
        guard configuration.capabilities.findsOffsetsByTime else {
            return results.reduce(into: [:]) { $0[$1.partition] = watermarks[$1]?.low }
        }
        var horizons = AnswerHorizons(of: results.map(\.partition), now: now, consumer: consumer)
        for partition in results {
            if let log = watermarks[partition] { horizons.lookAtAnswers(partition, in: log) }
        }
        for position in positions {
            let partition = TopicPartition(topic: topics[position.topic], partition: position.partition)
            guard let log = watermarks[partition] else { continue }
            horizons.lookAtCommands(position.topic, partition, next: position.offset, in: log)
        }
        let starts = try horizons.read(timeout: timeout).mapValues { $0.start(retention: retention) }
        var times: [TopicPartition: Timestamp] = [:]
        for partition in results { times[partition] = starts[partition.partition] }
        let first = try consumer.offsets(since: times, timeout: timeout)
        // If no record is that recent, there is no answer to read.
        return results.reduce(into: [:]) { $0[$1.partition] = first[$1] ?? watermarks[$1]?.high }
    }
}
