import Kafka

/// Of each partition of the results topic the offset of the next answer.
package typealias Positions = [TopicPartition: Offset]

/// What a restock bot needs of Kafka, and nothing else. There are two: Kafka, and a simulated log in the tests.
package protocol AnswerLog: AnyObject {
    /// What happened next; waits a moment for something to happen. The answers' bytes stay valid until the next call.
    func poll() throws(KafkaError) -> AnswerPoll
    /// From where to read what the group gave this bot: the committed positions, or the oldest answers where none was
    /// committed, or what was has expired. Nil before the group gave it anything.
    func positions() throws(KafkaError) -> Positions?
    /// Reads these partitions from these positions, and no others.
    func start(at positions: Positions) throws(KafkaError)
    /// Writes refills. Returns only when all are known to be written; after an error some may be, or be later.
    func send(_ refills: [Refill]) throws(KafkaError)
    /// Commits positions, unless the partitions were given to another bot.
    func commit(_ positions: Positions) throws(KafkaError)
    /// Leaves the group and lets everything go. No call follows.
    func leave()
}

package enum AnswerPoll {
    /// The group gave this bot partitions, or took them back. Nothing is read any more.
    case rebalanced
    /// The answers at hand, and the partitions that are read to their ends with them.
    case answers([AnswerRecord], ends: Positions)
}

/// A record of the results topic. The time is when it was written, in milliseconds since 1970.
package typealias AnswerRecord = (
    partition: TopicPartition, offset: Offset, time: Int64, value: UnsafeRawBufferPointer?
)
