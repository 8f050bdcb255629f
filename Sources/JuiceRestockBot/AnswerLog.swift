import Kafka

/// The offset of the next answer in each partition of the results topic.
package typealias Positions = [TopicPartition: Offset]

/// What a restock bot needs of Kafka, and nothing else. Tests run the same bot on a simulated log.
package protocol AnswerLog: AnyObject {
    /// Waits a moment for answers or a rebalance. The bytes of the answers stay valid until the next call.
    func poll() throws(KafkaError) -> AnswerPoll
    /// Where to begin in the assigned partitions: at the committed positions or, where none is committed or it has expired,
    /// at the oldest answers. Nil before the first assignment.
    func positions() throws(KafkaError) -> Positions?
    /// Reads these partitions from these positions, and no others.
    func start(at positions: Positions) throws(KafkaError)
    /// Writes refills. Returns once all are acknowledged; after an error, some may be written all the same, even later.
    func send(_ refills: [Refill]) throws(KafkaError)
    /// Commits positions. Fails if the partitions belong to another bot by now.
    func commit(_ positions: Positions) throws(KafkaError)
    /// Leaves the group and closes all clients. No call follows.
    func leave()
}

/// What a poll returned.
package enum AnswerPoll {
    /// The group assigned or revoked partitions. Nothing is read until ``AnswerLog/start(at:)``.
    case rebalanced
    /// The answers at hand, and the partitions that are now read to their ends.
    case answers([AnswerRecord], ends: Positions)
}

/// A record of the results topic. The time is when it was written, in milliseconds since 1970.
package typealias AnswerRecord = (partition: TopicPartition, offset: Offset, time: Int64, value: UnsafeRawBufferPointer?)
