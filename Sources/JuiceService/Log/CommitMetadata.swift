import Kafka

/// What is noted beside every committed offset, where Kafka has room for some text: under which transactional ids whoever
/// committed it writes, and of how many partitions.
struct CommitMetadata: Hashable {
    /// The worker: what its transactional ids begin with.
    let owner: String
    /// How its transactional ids end: the index of the producer and, once an id was left behind, a generation.
    let suffixes: [String]
    let partitionCount: Int32

    private static let firstSuffixes = ServiceConfiguration.producerIndices.map(String.init)

    /// - Parameter transactionalIDs: nil is the worker's first ones.
    init(owner: String, transactionalIDs: [String]? = nil, partitionCount: Int32) {
        self.owner = owner
        suffixes = transactionalIDs?.map { String($0.dropFirst(owner.count + 1)) } ?? Self.firstSuffixes
        self.partitionCount = partitionCount
    }

    /// Nil for what is no such note.
    init?(_ text: String) {
        guard let space = text.lastIndex(of: " "), let count = Int32(text[text.index(after: space)...]) else {
            return nil
        }
        let parts = text[..<space].split(separator: "#", omittingEmptySubsequences: false)
        partitionCount = count
        // A worker's name may have the character, too; what comes after the last is only ever digits, commas and slashes.
        if let last = parts.last, parts.count > 1, last.allSatisfy({ $0.isNumber || $0 == "," || $0 == "/" })
        {
            owner = parts.dropLast().joined(separator: "#")
            suffixes = last.split(separator: ",").map(String.init)
        } else {
            owner = String(text[..<space])
            suffixes = Self.firstSuffixes
        }
    }

    var transactionalIDs: [String] { suffixes.map { "\(owner)/\($0)" } }

    /// Under which ids its producers go on when they leave these behind, before any note says so.
    var nextTransactionalIDs: [String] {
        suffixes.map { suffix in
            let parts = suffix.split(separator: "/")
            return TransactionalProducer.transactionalID(
                "\(owner)/\(parts.first ?? "")",
                generation: (parts.dropFirst().first.flatMap { Int($0) } ?? 0) &+ 1
            )
        }
    }

    var text: String {
        suffixes == Self.firstSuffixes
            ? "\(owner) \(partitionCount)" : "\(owner)#\(suffixes.joined(separator: ",")) \(partitionCount)"
    }
}

/// Who committed last for each of some input partitions, also while a transaction is undecided about them.
struct CommittedMetadata {
    let byPartition: [TopicPartition: CommitMetadata]
    /// Of how many partitions they served the stores; nil where nobody said so.
    let partitionCount: Int32?

    /// Asks for them.
    ///
    /// - Parameter consumer: can ask for the group's offsets, and sees past undecided transactions.
    /// - Throws: ``KafkaError``, also when they counted different partitions: the stores would be split in two.
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
