import JuiceEngine
import JuiceMessages
import Kafka

/// A store whose stock is not in its home partition.
struct MisplacedStore: Equatable {
    let store: String
    let partition: Int32
    let home: Int32
}

/// How many partitions stores live in. The number decides where each store lives, so it must never change, whatever is done to the
/// topics. The consumer sees past undecided transactions, and has no assignment afterwards.
extension Consumer {
    /// The number by the claims in the journal, nil without a claim; and the last claim of each partition, undecided ones included.
    ///
    /// - Throws: ``KafkaError``, also if claims differ in the number of partitions: the stores would be split in two.
    func claims(
        in journal: ClusterMetadata.Topic, timeout: Duration
    ) throws(KafkaError) -> (partitions: Int32?, owners: [JournalOwners.LastClaim]) {
        let logs = try logs(of: journal, timeout: timeout)
        var unread = logs
        var counts: Set<Int32> = []
        var owners: [TopicPartition: JournalOwners.LastClaim] = [:]
        /// The claims that position notes name.
        var claims: [TopicPartition: Range<Offset>] = [:]
        // There is a position note in so many offsets, unless transactions were large.
        for span in [4_096, 65_536, Int.max] where !unread.isEmpty {
            try read(unread.mapValues { $0.suffix(span) }, timeout: timeout) { partition, record in
                // An answer has its store for a key.
                guard record.key == nil, let note = record.value.flatMap(JournalNote.init) else { return true }
                switch note {
                case .claim(let claim):
                    counts.insert(claim.partitions)
                    owners[partition] = .init(claim, at: record.offset, record.timestamp)
                    (unread[partition], claims[partition]) = (nil, nil)
                case .position(let note) where unread[partition] != nil:
                    (unread[partition], owners[partition]) = (nil, .init(of: note))
                    claims[partition] = note.claim..<note.claim + 1
                default: break
                }
                return true
            }
            unread = unread.filter { $0.value.count > span }
        }
        // A claim that has expired says nothing.
        let kept = claims.filter { partition, claim in logs[partition]?.overlaps(claim) ?? false }
        try read(kept, timeout: timeout) { partition, record in
            if case .claim(let claim) = record.value.flatMap(JournalNote.init) {
                counts.insert(claim.partitions)
                owners[partition] = .init(claim, at: record.offset, record.timestamp)
            }
            return true
        }
        guard counts.count <= 1 else {
            let listed = counts.sorted().map(String.init).joined(separator: " and of ")
            throw KafkaError(
                code: .invalidPartitions,
                message:
                    "stores were served as those of \(listed) partitions: their stock may be in two places. Copy it to topics with"
                    + " another prefix, as docs/OPERATIONS.md#stock-in-the-wrong-partitions shows")
        }
        return (counts.first, Array(owners.values))
    }

    /// The first store found in the wrong partition of the stock topic: the topic was enlarged since its record was written.
    func misplacedStore(in stock: ClusterMetadata.Topic, timeout: Duration) throws(KafkaError) -> MisplacedStore? {
        // An enlargement moves at least every other store, so that nearly any shows in a hundred records of a partition.
        let samples = try logs(of: stock, timeout: timeout).mapValues { $0.prefix(100) }
        var found: MisplacedStore?
        try read(samples, timeout: timeout) { _, record in
            // A tombstone is no store's stock.
            guard found == nil, let key = record.key, record.value != nil else { return found == nil }
            let home = Murmur2.partition(of: key, count: Int32(clamping: stock.partitionCount))
            guard home != record.partition else { return true }
            found = MisplacedStore(store: String(decoding: key, as: UTF8.self), partition: record.partition, home: home)
            return false
        }
        return found
    }

    private func logs(of topic: ClusterMetadata.Topic, timeout: Duration) throws(KafkaError) -> [TopicPartition: Range<Offset>] {
        let partitions = topic.partitions.map { TopicPartition(topic: topic.name, partition: $0.number) }
        return try watermarks(of: partitions, timeout: timeout).filter { !$0.value.isEmpty }
    }
}
