import Kafka

/// The metadata of every offset that a worker commits: its transactional ids, and the number of partitions stores live in.
struct CommitMetadata: Hashable {
    /// The worker's name, with which its transactional ids begin.
    let owner: String
    /// The ends of its transactional ids: a producer's index and, once that producer has moved on, a generation.
    let suffixes: [String]
    let partitionCount: Int32

    /// Metadata without suffixes was written by an earlier version, whose workers had two producers.
    private static let suffixesOfTwo = ["0", "1"]

    init(owner: String, transactionalIDs: [String], partitionCount: Int32) {
        self.owner = owner
        suffixes = transactionalIDs.map { String($0.dropFirst(owner.count + 1)) }
        self.partitionCount = partitionCount
    }

    /// Parses the text; nil if it is not such metadata.
    init?(_ text: String) {
        guard let space = text.lastIndex(of: " "), let count = Int32(text[text.index(after: space)...]) else {
            return nil
        }
        let parts = text[..<space].split(separator: "#", omittingEmptySubsequences: false)
        partitionCount = count
        // A worker's name may contain "#", too, but suffixes consist of digits, commas and slashes only.
        if let last = parts.last, parts.count > 1, last.allSatisfy({ $0.isNumber || $0 == "," || $0 == "/" })
        {
            owner = parts.dropLast().joined(separator: "#")
            suffixes = last.split(separator: ",").map(String.init)
        } else {
            owner = String(text[..<space])
            suffixes = Self.suffixesOfTwo
        }
    }

    var transactionalIDs: [String] { suffixes.map { "\(owner)/\($0)" } }

    /// The ids that its producers move on to next, possibly before any metadata names them.
    var nextTransactionalIDs: [String] {
        suffixes.map { suffix in
            let parts = suffix.split(separator: "/")
            return TransactionalProducer.transactionalID(
                "\(owner)/\(parts.first ?? "")",
                generation: (parts.dropFirst().first.flatMap { Int($0) } ?? 0) &+ 1
            )
        }
    }

    var text: String { "\(owner)#\(suffixes.joined(separator: ",")) \(partitionCount)" }
}

/// The metadata of the last committed offset of some input partitions.
struct CommittedMetadata {
    let byPartition: [TopicPartition: CommitMetadata]
    /// The number of partitions stores live in; nil if no metadata says so.
    let partitionCount: Int32?

    /// Looks the metadata up.
    ///
    /// - Parameter consumer: a consumer with the group's id that sees past undecided transactions.
    /// - Throws: ``KafkaError``, also if the partition counts differ: the stores would be split in two.
    init(
        of partitions: [TopicPartition],
        from consumer: Consumer,
        timeout: Duration
    ) throws(KafkaError) {
        byPartition = try consumer.committedMetadata(partitions, timeout: timeout)
            .compactMapValues { CommitMetadata($0) }
        let counts = Set(byPartition.values.map(\.partitionCount))
        guard counts.count <= 1 else {
            let listed = counts.sorted().map(String.init).joined(separator: " and of ")
            throw KafkaError(
                code: .invalidPartitions,
                message:
                    "stores were served as those of \(listed) partitions: their stock may be in two places."
                    + " docs/OPERATIONS.md#stock-in-the-wrong-partitions says what to do"
            )
        }
        partitionCount = counts.first
    }
}
