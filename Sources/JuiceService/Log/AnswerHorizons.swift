import JuiceEngine
import Kafka

/// Finds out how far back the answers of some partitions are wanted, from the times of a few records of each: the last
/// answers, the last commands that are read, and the first that is not.
struct AnswerHorizons {
    private enum Place {
        case answers
        /// Commands from the offset `next` on are not read.
        case commands(InputTopic, next: Offset, end: Offset)
    }

    private let consumer: Consumer
    private var horizons: [Int32: AnswerHorizon]
    private var places: [TopicPartition: Place] = [:]
    private var starts: [TopicPartition: Offset] = [:]

    /// - Parameter consumer: reads what is at the ends, decided or not.
    init(of partitions: [Int32], now: Timestamp, consumer: Consumer) {
        self.consumer = consumer
        horizons = Dictionary(uniqueKeysWithValues: partitions.map { ($0, AnswerHorizon(now: now)) })
    }

    /// Looks at the answers before the end.
    mutating func lookAtAnswers(_ partition: TopicPartition, in log: Watermarks) {
        look(partition, at: .answers, before: log.high, in: log)
    }

    /// Looks at the commands around the committed offset.
    mutating func lookAtCommands(
        _ topic: InputTopic,
        _ partition: TopicPartition,
        committed: Offset?,
        in log: Watermarks
    ) {
        let next = committed ?? log.low
        look(partition, at: .commands(topic, next: next, end: log.high), before: next, in: log)
    }

    private mutating func look(
        _ partition: TopicPartition,
        at place: Place,
        before offset: Offset,
        in log: Watermarks
    ) {
        let start = max(log.low, offset - AnswerHorizon.lookBack)
        guard start < log.high else { return }
        places[partition] = place
        starts[partition] = start
    }

    /// Reads what is to be looked at.
    mutating func read(timeout: Duration) throws(KafkaError) -> [Int32: AnswerHorizon] {
        guard !starts.isEmpty else { return horizons }
        let deadline = ContinuousClock.now + timeout
        var pending = Set(starts.keys)
        try consumer.assign(starts)
        defer { try? consumer.assign([:]) }
        while let partition = pending.first {
            guard ContinuousClock.now < deadline else {
                throw KafkaError(code: .timedOut, message: "\(partition): no records", isRetriable: true)
            }
            for element in try consumer.poll(maxRecords: 10_000, timeout: .milliseconds(10)) {
                switch element {
                case .record(let record):
                    let partition = TopicPartition(topic: record.topic, partition: record.partition)
                    if note(record, of: partition) { pending.remove(partition) }
                case .endOfPartition(let partition, _):
                    pending.remove(partition)
                case .failure(_, let error) where error.remedy == .retry:
                    continue
                case .failure(_, let error):
                    throw error
                }
            }
        }
        return horizons
    }

    /// - Returns: whether this is all that there is to look at in the partition, apart from what came with it. The end is
    ///   told only after a fetch has waited there.
    private mutating func note(_ record: ConsumedRecord, of partition: TopicPartition) -> Bool {
        switch places[partition] {
        case .answers:
            horizons[partition.partition]?.addAnswer(at: record.timestamp)
            return true
        case .commands(let topic, let next, let end):
            guard record.offset < next else {
                horizons[partition.partition]?.addUnread(topic, at: record.timestamp)
                return true
            }
            horizons[partition.partition]?.addRead(topic, at: record.timestamp)
            return next >= end
        case nil:
            return false
        }
    }
}
