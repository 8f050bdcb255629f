import JuiceMessages
import Kafka

/// Finds out how many partitions stores live in. The number decides where each store lives, so it must never change, whatever is
/// done to the topics.
struct StorePartitions {
    /// Sees past undecided transactions. It has no assignment afterwards.
    let reader: Consumer
    /// How long to wait for each answer.
    let timeout: Duration

    /// There is a position note in this many offsets, unless transactions were large.
    private static let spans: [Int] = [4_096, 65_536, .max]

    /// The number by the claims in the journal; nil without a claim.
    ///
    /// - Throws: ``KafkaError``, also if claims differ: the stores would be split in two.
    func claimed(in results: String, partitionCount: Int) throws(KafkaError) -> Int32? {
        let logs = try extents(of: results, partitionCount)
        var unread = logs
        var counts: Set<Int32> = []
        /// The claims that position notes name.
        var claims: [TopicPartition: Range<Offset>] = [:]
        for span in Self.spans where !unread.isEmpty {
            try reader.read(unread.mapValues { $0.suffix(span) }, timeout: timeout) { partition, record in
                // An answer has its store for a key.
                guard record.key == nil, let note = record.value.flatMap(JournalNote.init) else { return true }
                switch note {
                case .claim(let claim):
                    counts.insert(claim.partitions)
                    (unread[partition], claims[partition]) = (nil, nil)
                case .position(let note) where unread[partition] != nil:
                    unread[partition] = nil
                    claims[partition] = note.claim..<note.claim + 1
                default: break
                }
                return true
            }
            unread = unread.filter { $0.value.count > span }
        }
        // A claim that has expired says nothing.
        let kept = claims.filter { partition, claim in logs[partition]?.overlaps(claim) ?? false }
        try reader.read(kept, timeout: timeout) { _, record in
            if case .claim(let claim) = record.value.flatMap(JournalNote.init) { counts.insert(claim.partitions) }
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

    /// A store whose stock is not in its home partition.
    struct MisplacedStore: Equatable {
        let store: String
        let partition: Int32
        let home: Int32
    }

    /// How many records of each partition to look at. An enlargement moves at least every other store, so that nearly any shows in
    /// a hundred.
    private static let sampleSize = 100

    /// The first store found in the wrong partition of the stock topic: the topic was enlarged since its record was written.
    func misplaced(in stock: String, partitionCount: Int) throws(KafkaError) -> MisplacedStore? {
        let samples = try extents(of: stock, partitionCount).mapValues { $0.prefix(Self.sampleSize) }
        var found: MisplacedStore?
        try reader.read(samples, timeout: timeout) { _, record in
            // A tombstone is no store's stock.
            guard found == nil, let key = record.key, record.value != nil else { return found == nil }
            let home = Murmur2.partition(of: key, count: Int32(clamping: partitionCount))
            guard home != record.partition else { return true }
            found = MisplacedStore(store: String(decoding: key, as: UTF8.self), partition: record.partition, home: home)
            return false
        }
        return found
    }

    private func extents(of topic: String, _ partitionCount: Int) throws(KafkaError) -> [TopicPartition: Range<Offset>] {
        let partitions = (0..<Int32(clamping: partitionCount)).map { TopicPartition(topic: topic, partition: $0) }
        return try reader.watermarks(of: partitions, timeout: timeout).filter { !$0.value.isEmpty }
    }
}
