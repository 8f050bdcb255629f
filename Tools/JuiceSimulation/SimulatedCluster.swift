import JuiceEngine
import JuiceMessages

/// A Kafka cluster in memory, single-threaded and deterministic: partitions, a consumer group, a transaction
/// coordinator, and a clock. Everything that takes time in a real one, such as markers and sessions, takes it at the
/// scheduler's pleasure.
package final class SimulatedCluster {
    package struct Place: Hashable, Comparable {
        package let topic: Topic
        package let partition: Int32

        package init(topic: Topic, partition: Int32) {
            self.topic = topic
            self.partition = partition
        }

        /// The same order in every run, which that of a dictionary is not.
        package static func < (first: Place, second: Place) -> Bool {
            (first.partition, first.topic.rawValue) < (second.partition, second.topic.rawValue)
        }
    }

    /// How many partitions stores live in.
    package let partitionCount: Int32
    /// Milliseconds since 1970.
    package var now: Timestamp = 1_700_000_000_000
    /// Whether no broker answers at present.
    package var isDown = false
    package var group: SimulatedGroup
    package var transactions = SimulatedTransactions()
    /// Requests that were sent twice, and of which the first copy has not arrived yet.
    package var lateRequests: [LateRequest] = []
    /// By topic, then by number.
    private var partitions: [[SimulatedPartition]]

    package init(partitionCount: Int32) {
        self.partitionCount = partitionCount
        group = SimulatedGroup(partitionCounts: InputTopic.allCases.map { _ in partitionCount })
        partitions = Topic.allCases.map { _ in (0..<partitionCount).map { _ in SimulatedPartition() } }
    }

    /// How many partitions a topic has.
    package func count(of topic: Topic) -> Int32 { Int32(partitions[topic.rawValue].count) }

    /// Adds partitions, as an operator can. The group hears of them later.
    package func enlarge(_ topic: Topic, to count: Int32) {
        while self.count(of: topic) < count { partitions[topic.rawValue].append(SimulatedPartition()) }
    }

    /// Lets the group hear of an input's new partitions.
    ///
    /// - Returns: whether there were any.
    @discardableResult package func tellGroup(of topic: InputTopic) -> Bool {
        guard let index = InputTopic.allCases.firstIndex(of: topic),
            group.partitionCounts[index] < count(of: topic.topic)
        else { return false }
        group.note(count(of: topic.topic), ofTopic: index)
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
        headers: [Header] = [],
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

    /// Committed offsets, unless a transaction is undecided about one of them.
    func stableOffsets(_ places: [Place]) -> [Place: Offset]? {
        guard transactions.undecidedOffsets.isDisjoint(with: places) else { return nil }
        return group.committed(places)
    }

    /// Whether every committed record is processed, and the offsets committed up to the logs' very ends.
    package var isDrained: Bool {
        InputTopic.allCases.allSatisfy { topic in
            (0..<count(of: topic.topic)).allSatisfy { partition in
                let place = Place(topic: topic.topic, partition: partition)
                return group.committed([place])[place, default: 0] == self[place].end
            }
        }
    }
}
