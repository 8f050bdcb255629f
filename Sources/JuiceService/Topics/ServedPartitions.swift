import JuiceMessages
import Kafka

/// How many partitions stores live in, by the claims in the journal.
struct ServedPartitions {
    /// A position note stands in so many offsets, unless transactions were large.
    private static let spans: [Offset] = [4_096, 65_536, .max]

    /// - Parameters:
    ///   - results: the name of the topic.
    ///   - partitionCount: how many partitions it has.
    ///   - consumer: sees past undecided transactions; it has no assignment afterwards.
    /// - Returns: nil if no claim says so.
    /// - Throws: ``KafkaError``, also if claims differ: the stores would be split in two.
    static func count(
        in results: String,
        partitionCount: Int32,
        _ consumer: Consumer,
        timeout: Duration
    ) throws(KafkaError) -> Int32? {
        let partitions = (0..<partitionCount).map { TopicPartition(topic: results, partition: $0) }
        var logs = try consumer.watermarks(of: partitions, timeout: timeout).filter {
            $0.value.low < $0.value.high
        }
        var counts: Set<Int32> = []
        var places: [TopicPartition: Offset] = [:]
        for span in spans where !logs.isEmpty {
            let ranges = logs.mapValues { max($0.low, $0.high - min(span, $0.high))..<$0.high }
            try consumer.read(ranges, timeout: timeout) { record in
                // An answer has its store for a key.
                guard record.key == nil else { return true }
                let partition = TopicPartition(topic: record.topic, partition: record.partition)
                switch record.value.flatMap(JournalNote.init) {
                case .claim(let claim):
                    counts.insert(claim.partitions)
                    logs[partition] = nil
                    places[partition] = nil
                case .position(let note) where logs[partition] != nil:
                    places[partition] = note.claim
                    logs[partition] = nil
                default: break
                }
                return true
            }
            logs = logs.filter { $0.value.high - min(span, $0.value.high) > $0.value.low }
        }
        let claims = try consumer.watermarks(of: Array(places.keys), timeout: timeout)
        try consumer.read(
            places.filter { claims[$0]?.low ?? .max <= $1 }.mapValues { $0..<$0 + 1 },
            timeout: timeout
        ) { record in
            if case .claim(let claim) = record.value.flatMap(JournalNote.init) {
                counts.insert(claim.partitions)
            }
            return true
        }
        guard counts.count <= 1 else {
            let listed = counts.sorted().map(String.init).joined(separator: " and of ")
            throw KafkaError(
                code: .invalidPartitions,
                message: "stores were served as those of \(listed) partitions: their stock may be in two places."
                    + " docs/OPERATIONS.md#stock-in-the-wrong-partitions says what to do")
        }
        return counts.first
    }
}
