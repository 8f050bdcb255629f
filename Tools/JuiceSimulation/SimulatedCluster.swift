import JuiceEngine
import JuiceMessages

/// A Kafka cluster in memory, single-threaded and deterministic: partitions, a consumer group, a transaction coordinator and
/// a clock. The scheduler decides how long anything takes that takes time in a real cluster, such as markers and sessions.
package final class SimulatedCluster {
    package struct Place: Hashable, Comparable {
        package let topic: Topic
        package let partition: Int32

        package init(topic: Topic, partition: Int32) {
            self.topic = topic
            self.partition = partition
        }

        /// Sorting makes runs repeatable: the order of a dictionary is not.
        package static func < (first: Place, second: Place) -> Bool {
            (first.partition, first.topic.rawValue) < (second.partition, second.topic.rawValue)
        }
    }

    /// How many partitions stores live in.
    package let partitionCount: Int32
    /// Milliseconds since 1970.
    package var now: Timestamp = 1_700_000_000_000
    /// Whether no broker answers.
    package var isDown = false
    package var group: SimulatedGroup
    package var transactions = SimulatedTransactions()
    /// First copies of requests that were resent, still under way.
    package var lateRequests: [LateRequest] = []
    /// By topic, then by number.
    private var partitions: [[SimulatedPartition]]

    package init(partitionCount: Int32) {
        self.partitionCount = partitionCount
        group = SimulatedGroup(partitionCounts: InputTopic.allCases.map { _ in partitionCount })
        partitions = Topic.allCases.map { _ in (0..<partitionCount).map { _ in SimulatedPartition() } }
    }

    /// The number of a topic's partitions.
    package func count(of topic: Topic) -> Int32 { Int32(partitions[topic.rawValue].count) }

    /// Adds partitions, as an operator would. The group learns of them later.
    package func enlarge(_ topic: Topic, to count: Int32) {
        while self.count(of: topic) < count { partitions[topic.rawValue].append(SimulatedPartition()) }
    }

    /// Makes an input's new partitions known to the group.
    ///
    /// - Returns: whether there were any.
    @discardableResult package func announcePartitions(of topic: InputTopic) -> Bool {
        guard let index = InputTopic.allCases.firstIndex(of: topic),
            group.partitionCounts[index] < count(of: topic.topic)
        else { return false }
        group.setPartitionCount(count(of: topic.topic), ofTopic: index)
        return true
    }

    package subscript(place: Place) -> SimulatedPartition {
        partitions[place.topic.rawValue][Int(place.partition)]
    }

    package subscript(topic: Topic, partition: Int32) -> SimulatedPartition {
        self[Place(topic: topic, partition: partition)]
    }

    /// Writes a record outside any transaction, as any client can; by default with the time of day.
    package func send(
        _ topic: Topic,
        partition: Int32,
        key: [UInt8]?,
        value: [UInt8]?,
        headers: [RecordHeader] = [],
        timestamp: Timestamp? = nil
    ) {
        self[topic, partition].append(
            .init(
                key: key.map(StableBytes.init),
                value: value.map(StableBytes.init),
                headers: headers,
                timestamp: timestamp ?? now,
                transaction: nil
            )
        )
    }

    /// The committed offsets; nil while a transaction on one of them is undecided.
    func stableOffsets(_ places: [Place]) -> [Place: Offset]? {
        guard transactions.undecidedOffsets.isDisjoint(with: places) else { return nil }
        return group.committed(places)
    }

    /// Whether the committed offsets are at the ends of all inputs.
    package var isDrained: Bool {
        InputTopic.allCases.allSatisfy { topic in
            (0..<count(of: topic.topic)).allSatisfy { partition in
                let place = Place(topic: topic.topic, partition: partition)
                return group.committed([place])[place, default: 0] == self[place].end
            }
        }
    }
}
