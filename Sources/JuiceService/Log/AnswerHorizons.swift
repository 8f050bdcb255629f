import JuiceEngine
import Kafka

/// Finds out from when on the answers of some partitions are needed, by the timestamps of a few records of each partition: the
/// last answers, the last commands already read and the first command not yet read.
struct AnswerHorizons {
    private enum Place {
        case answers
        /// Commands; those from the offset `next` on have not been read.
        case commands(InputTopic, next: Offset, end: Offset)
    }

    private let consumer: Consumer
    private var horizons: [Int32: AnswerHorizon]
    private var places: [TopicPartition: Place] = [:]
    private var starts: [TopicPartition: Offset] = [:]

    /// - Parameter consumer: reads uncommitted records, so that it sees the true ends.
    init(of partitions: [Int32], now: Timestamp, consumer: Consumer) {
        self.consumer = consumer
        horizons = Dictionary(uniqueKeysWithValues: partitions.map { ($0, AnswerHorizon(now: now)) })
    }

    /// Adds the last answers of a partition to what ``read(timeout:)`` looks at.
    mutating func lookAtAnswers(_ partition: TopicPartition, in log: Watermarks) {
        look(partition, at: .answers, before: log.high, in: log)
    }

    /// Adds the commands around a position to what ``read(timeout:)`` looks at.
    mutating func lookAtCommands(_ topic: InputTopic, _ partition: TopicPartition, next: Offset, in log: Watermarks) {
        look(partition, at: .commands(topic, next: next, end: log.high), before: next, in: log)
    }

    private mutating func look(_ partition: TopicPartition, at place: Place, before offset: Offset, in log: Watermarks) {
        let start = max(log.low, offset - AnswerHorizon.lookBack)
        guard start < log.high else { return }
        places[partition] = place
        starts[partition] = start
    }

    /// Reads the records, and returns the horizon of each partition.
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
                    if inspect(record, of: partition) { pending.remove(partition) }
                case .endOfPartition(let partition, _): pending.remove(partition)
                // What cannot be read says nothing of the time.
                case .failure(let partition?, let error) where error.code.isDamage: pending.remove(partition)
                case .failure(_, let error) where error.remedy == .retry: continue
                case .failure(_, let error): throw error
                }
            }
        }
        return horizons
    }

    /// - Returns: whether the partition needs no further polls. The end of a partition is reported late, only after a fetch has
    ///   waited there.
    private mutating func inspect(_ record: ConsumedRecord, of partition: TopicPartition) -> Bool {
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
        case nil: return false
        }
    }
}
