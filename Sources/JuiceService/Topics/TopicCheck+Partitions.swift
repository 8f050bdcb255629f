import JuiceMessages

/// Checks whether the topics have the partitions that stores live in, and whether they have more.
///
/// The number of partitions that stores live in decides where each store lives. So it never changes, whether the
/// inputs are enlarged or the stock topic is.
extension TopicCheck {
    func storePartitions(_ topics: [String: Description]) -> Int {
        servedPartitions ?? topics[names.stock]?.partitionCount ?? 0
    }

    /// The stock topic was enlarged, and no claim in the journal says how many partitions it had. This has to be fixed before
    /// anything else.
    func lostNumber(_ topics: [String: Description]) -> Problem? {
        guard let misplaced, let count = topics[names.stock]?.partitionCount else { return nil }
        return Problem(
            fault: "store \(misplaced.store) stands in partition \(misplaced.partition) of \(names.stock), but of"
                + " \(count) partitions it lives in \(misplaced.home): the topic was enlarged, and no claim in"
                + " \(names.results) says how many partitions it had",
            mend: move(partitions: count, guide: "stock-in-the-wrong-partitions"))
    }

    func tooFewPartitions(_ topics: [String: Description]) -> [Problem] {
        let needed = storePartitions(topics)
        return coPartitioned.compactMap { name in
            guard let count = topics[name]?.partitionCount, count < needed else { return nil }
            // A smaller topic is not the one that it was. More partitions would make up for none of its records.
            let isRecord = name == names.stock || name == names.results
            return Problem(
                fault: "topic \(name) has \(count) partitions, but stores live in \(needed)"
                    + (isRecord ? ": it was made anew, and what it held is lost" : ""),
                mend: isRecord
                    ? "what docs/OPERATIONS.md#topics-made-anew says"
                    : "kafka-topics.sh --bootstrap-server \(bootstrapServers) --alter --topic \(name)" + " --partitions \(needed)")
        }
    }

    func enlargement(_ topics: [String: Description]) -> [Problem] {
        let needed = storePartitions(topics)
        let larger = coPartitioned.compactMap { name in
            topics[name].map { (name: name, count: $0.partitionCount) }
        }.filter { $0.count > needed }
        guard let most = larger.map(\.count).max() else { return [] }
        let counts = larger.map { "\($0.name) has \($0.count)" }.joined(separator: ", ")
        return [
            Problem(
                fault: "stores live in \(needed) partitions, but \(counts): commands that come to the others"
                    + " are forwarded, which takes them some milliseconds, and nothing is answered there",
                mend: move(partitions: most, guide: "more-partitions"))
        ]
    }

    private var coPartitioned: [String] { [names.orders, names.restocks, names.results, names.stock] }

    private func move(partitions: Int, guide: String) -> String {
        createCommand(prefix: nextPrefix, partitions: partitions) + " and the move that docs/OPERATIONS.md#\(guide) shows"
    }

    /// The prefix for topics that replace these: `juice2.` after `juice.`, and so on.
    private var nextPrefix: String {
        let stem = prefix.hasSuffix(".") ? prefix.dropLast() : prefix[...]
        let digits = stem.reversed().prefix { $0.isASCII && $0.isNumber }.count
        let number = Int(stem.suffix(digits)) ?? 1
        return "\(stem.dropLast(digits))\(number + 1)\(prefix.hasSuffix(".") ? "." : "")"
    }
}
