import JuiceEngine
import JuiceMessages
import Kafka

/// The number of partitions that hold stores. It decides where each store lives, so it must never change, whatever happens to the
/// topics. The consumer must see past undecided transactions, and has no assignment afterwards.
extension Consumer {
    /// The number that the journal's claims name, nil without a claim; and each partition's last claim, undecided ones included.
    ///
    /// - Throws: ``KafkaError``, with ``KafkaError/Code/invalidPartitions`` if claims differ in the number.
    func claims(
        in journal: ClusterMetadata.Topic, timeout: Duration
    ) throws(KafkaError) -> (partitions: Int32?, owners: [JournalOwners.LastClaim]) {
        let logs = try logs(of: journal, timeout: timeout)
        var unread = logs
        var counts: Set<Int32> = []
        var owners: [TopicPartition: JournalOwners.LastClaim] = [:]
        /// The offsets of the claims that position notes name.
        var claims: [TopicPartition: Range<Offset>] = [:]
        // This many offsets contain a position note, unless transactions were large.
        for span in [4_096, 65_536, Int.max] where !unread.isEmpty {
            try read(unread.mapValues { $0.suffix(span) }, timeout: timeout) { partition, record in
                // Answers have their store as the key, notes have no key.
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
        // Leave out claims that have expired.
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
            throw Self.split("stores were served as those of \(listed) partitions: their stock may be in two places")
        }
        return (counts.first, Array(owners.values))
    }

    /// For a journal without claims: checks that no store is in the wrong partition of the stock topic, as it is if the topic was
    /// enlarged after the store's record was written.
    ///
    /// - Throws: ``KafkaError``, with ``KafkaError/Code/invalidPartitions`` if a store is in the wrong partition.
    func checkHomes(in stock: ClusterMetadata.Topic, timeout: Duration) throws(KafkaError) {
        // An enlargement moves at least every other store, so a hundred records of a partition reveal nearly any enlargement.
        let samples = try logs(of: stock, timeout: timeout).mapValues { $0.prefix(100) }
        var fault: KafkaError?
        try read(samples, timeout: timeout) { place, record in
            // A tombstone holds no stock.
            guard fault == nil, let key = record.key, record.value != nil else { return fault == nil }
            let home = Murmur2.partition(of: key, count: Int32(clamping: stock.partitionCount))
            guard home != place.partition else { return true }
            fault = Self.split(
                "store \(String(decoding: key, as: UTF8.self)) is in \(place), but of \(stock.partitionCount) partitions it belongs"
                    + " to \(home): the topic was enlarged, and no claim in the journal says how many partitions it had")
            return false
        }
        if let fault { throw fault }
    }

    private static func split(_ fault: String) -> KafkaError {
        KafkaError(
            code: .invalidPartitions, message: fault + ". See docs/OPERATIONS.md#stock-in-the-wrong-partitions")
    }

    private func logs(of topic: ClusterMetadata.Topic, timeout: Duration) throws(KafkaError) -> [TopicPartition: Range<Offset>] {
        try watermarks(of: topic.places, timeout: timeout).filter { !$0.value.isEmpty }
    }
}
