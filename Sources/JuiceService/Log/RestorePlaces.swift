import JuiceEngine
import JuiceMessages
import Kafka

/// The topic partitions that a restore asks the cluster about.
struct RestorePlaces {
    /// The numbers of the partitions to restore.
    let partitions: [Int32]
    /// The input partitions that the worker reads.
    let inputs: [TopicPartition]
    /// The changelogs of partitions that stores live in. Partitions added later have no state.
    let stock: [TopicPartition]
    let results: [TopicPartition]

    init(_ partitions: [Int32], of share: InputShare, partitionCount: Int32, topics: TopicNames) {
        self.partitions = partitions
        let homes = partitions.filter { $0 < partitionCount }
        inputs = InputTopic.allCases.flatMap { topic in
            TopicPartition.list(partitions.filter { share.reads(topic, $0) }, of: topics[topic])
        }
        stock = TopicPartition.list(homes, of: topics.stock)
        results = TopicPartition.list(homes, of: topics.results)
    }

    var changelogs: [TopicPartition] { stock + results }
    var all: [TopicPartition] { inputs + changelogs }
}

extension TopicPartition {
    static func list(_ numbers: some Sequence<Int32>, of topic: String) -> [TopicPartition] {
        numbers.map { TopicPartition(topic: topic, partition: $0) }
    }
}
