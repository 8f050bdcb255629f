import JuiceMessages

/// Reads parts of the changelogs to their ends, one call on the log at a time.
struct ChangelogReading {
    /// A part of one partition's changelog.
    struct Part {
        let topic: ChangelogTopic
        let partition: Int32
        /// What is still to be read.
        var offsets: Range<Offset>
        /// Whether to stop at the end of what is committed now, even before the end of `offsets`.
        var endsEarly = false
        /// Whether to return what was fetched from beyond `offsets`, too.
        var includesMore = false
    }

    /// The parts that are not read to their ends.
    private(set) var unread: [Part]
    private let isolation: Isolation
    /// Whether to end with a call that stops reading. Otherwise the log goes on to fetch later records.
    private let closes: Bool
    private var isOpen = false
    /// When something was read last.
    private var readAt: Timestamp?

    /// How long reading may find nothing, in milliseconds: a topic that was recreated meanwhile may never grow to the old end.
    private let longestWait: Timestamp

    init(_ parts: [Part] = [], isolation: Isolation = .committed, closes: Bool = false, longestWait: Timestamp = 30_000) {
        unread = parts.filter { !$0.offsets.isEmpty }
        (self.isolation, self.closes, self.longestWait) = (isolation, closes, longestWait)
    }

    var isDone: Bool { unread.isEmpty && !(closes && isOpen) }

    /// How many offsets are still to be read, markers and gaps included.
    var remaining: Offset { unread.reduce(0) { $0 + $1.offsets.upperBound - $1.offsets.lowerBound } }

    /// Another reading is about to use the log. This one then goes on where it is.
    mutating func interrupt() { isOpen = false }

    /// Makes the next call on the log, unless all is read.
    ///
    /// - Parameter body: gets the records in order, in runs of one partition.
    /// - Returns: where a part ends early because its bytes are damaged, and the reason.
    /// - Throws: ``LogError`` of the log, or if nothing was read for long.
    mutating func step(
        on log: some KafkaReadPort, _ body: (ArraySlice<ChangelogBatch.Record>) -> Void
    ) throws(LogError) -> [ChangelogPosition: String] {
        guard !isDone else { return [:] }
        guard isOpen, !unread.isEmpty else {
            let positions = unread.map {
                ChangelogPosition(topic: $0.topic, partition: $0.partition, offset: $0.offsets.lowerBound)
            }
            try log.openChangelog(positions, isolation: isolation)
            isOpen.toggle()
            return [:]
        }
        let batch = try log.readChangelog()
        let now = log.uptime
        if !batch.records.isEmpty || readAt == nil { readAt = now }
        if let readAt, now - readAt > longestWait {
            // Or the logs end before that now, which the next takeover finds out.
            let places = unread.map { "\($0.topic) [\($0.partition)] before offset \($0.offsets.upperBound)" }
            throw LogError(
                .startOver, "brokers have sent nothing of \(places.joined(separator: ", ")) for \(longestWait / 1000) s")
        }
        var rest = batch.records[...]
        while let first = rest.first {
            let run = rest.prefix { $0.partition == first.partition && $0.topic == first.topic }
            rest = rest[run.endIndex...]
            guard let index = index(of: first.topic, first.partition) else { continue }
            let part = unread[index]
            let end = part.offsets.upperBound
            let next = (run.last?.offset ?? first.offset) + 1
            if next < end { unread[index].offsets = next..<end } else { unread.remove(at: index) }
            body(part.includesMore ? run : run.prefix { $0.offset < end })
        }
        for end in batch.ends {
            guard let index = index(of: end.topic, end.partition) else { continue }
            if unread[index].endsEarly || end.offset >= unread[index].offsets.upperBound { unread.remove(at: index) }
        }
        return batch.damages.filter { damage in
            guard let index = index(of: damage.key.topic, damage.key.partition) else { return false }
            unread.remove(at: index)
            return true
        }
    }

    private func index(of topic: ChangelogTopic, _ partition: Int32) -> Int? {
        unread.firstIndex { $0.topic == topic && $0.partition == partition }
    }
}
