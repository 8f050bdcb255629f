import Synchronization

/// Audits the topics partition by partition, at most as many at a time as the caller has threads.
///
/// ```swift
/// let session = AuditSession(source, by: rules)
/// for partition in 0..<session.partitionCount { try session.audit(partition) }
/// let audit = try session.finish()
/// ```
public final class AuditSession: Sendable {
    private struct State {
        var list = FaultList()
        var counts = AuditCounts()
        var starts: [AuditStart] = []
        var deadLetters: [DeadLetterAudit] = []
        var unanswered: [UnansweredCommand] = []
    }

    private let source: any AuditSource
    private let rules: AuditRules
    private let forwards = ForwardAudit()
    private let state = Mutex(State())

    /// An audit that has not begun.
    ///
    /// - Parameters:
    ///   - source: where the records are read.
    ///   - rules: the service's settings.
    public init(_ source: some AuditSource, by rules: AuditRules) {
        (self.source, self.rules) = (source, rules)
    }

    /// How many partitions must be audited: as many as the topic with the most has.
    public var partitionCount: Int {
        let topics: [AuditTopic] = [.orders, .restocks, .results, .stock, .deadLetters]
        return topics.reduce(rules.partitionCount) { max($0, source.partitionCount(of: $1)) }
    }

    /// Audits one partition of all topics. Several may be audited at the same time.
    ///
    /// - Parameter partition: the partition, once.
    /// - Throws: what the source throws.
    public func audit(_ partition: Int) throws {
        let result = try PartitionAudit(source, partition: partition, rules, forwards).run()
        state.withLock { state in
            state.list.add(result.list)
            state.counts.add(result.counts)
            state.deadLetters.append(result.deadLetters)
            state.unanswered += result.unanswered
            if let start = result.start { state.starts.append(start) }
        }
    }

    /// The verdict, once all partitions are audited: it needs what several of them left.
    ///
    /// - Returns: the verdict.
    /// - Throws: what the source throws.
    public func finish() throws -> Audit {
        var state = state.withLock { $0 }
        var deadLetters = DeadLetterAudit(RecordCursor(source, .deadLetters, .max), partition: 0, rules)
        deadLetters.collect(state.deadLetters)
        for command in state.unanswered.sorted(by: { $0.place < $1.place })
        where !deadLetters.takeUnanswerable(command.place, command.letter) {
            let place = command.place
            state.list.add(.missing, place.topic, place.partition, place.offset, command.problem)
        }
        let (faults, forwarded) = try forwards.finish(source, &deadLetters)
        deadLetters.reportRest { source.bounds(of: $0.topic, partition: $0.partition) }
        state.list.add(faults)
        state.list.add(deadLetters.list)
        state.counts.records -= forwarded
        state.counts.forwarded = forwarded
        state.counts.deadLetters = deadLetters.count
        return Audit(state.list, state.counts, state.starts.sorted { $0.partition < $1.partition })
    }
}

/// Records that are all in memory.
final class RecordArrays: AuditSource {
    private let topics: AuditTopics
    private let read = Mutex<Set<Place>>([])

    init(_ topics: AuditTopics) { self.topics = topics }

    func partitionCount(of topic: AuditTopic) -> Int { topics[topic].count }

    func bounds(of topic: AuditTopic, partition: Int) -> AuditBounds { AuditBounds() }

    func nextRecords(of topic: AuditTopic, partition: Int) -> [AuditRecord] {
        let place = Place(topic: topic, partition: partition, offset: 0)
        let isFirst = read.withLock { $0.insert(place).inserted }
        return isFirst ? topics[topic][partition] : []
    }

    func record(of topic: AuditTopic, partition: Int, offset: Int64) -> AuditRecord? {
        let records = topics[topic][partition]
        var (low, high) = (0, records.count)
        while low < high {
            let middle = (low + high) / 2
            if records[middle].offset < offset { low = middle + 1 } else { high = middle }
        }
        return low < records.count && records[low].offset == offset ? records[low] : nil
    }
}
