/// A partition that is being restored: how far its changelogs are read, and how far they have to be.
struct PendingPartition {
    let state: PartitionState
    private let point: RestorePoint
    private let window: DuplicateWindow
    /// How many offsets at the end of the results are read.
    private var span: Offset
    private var remaining: Set<ChangelogTopic> = []
    /// The answers read were too few; what remains is to read more of them.
    private var needsMoreAnswers = false
    /// Stores whose latest stock record cannot be restored from, by their keys.
    private var faults: [[UInt8]: (offset: Offset, reason: String)] = [:]

    init(_ point: RestorePoint, state: PartitionState, _ window: DuplicateWindow) {
        self.state = state
        self.point = point
        self.window = window
        // Large transactions, which those have that fill the window by count, leave few markers between the records.
        span = Offset(window.count) + Offset(window.count / 4) + 1
        remaining = Set(ChangelogTopic.allCases.filter { start(of: $0) < end(of: $0) })
    }

    var isComplete: Bool { remaining.isEmpty }

    /// What is wrong with the stock; nil when nothing is.
    var firstFault: PartitionFault? {
        faults.values.min { $0.offset < $1.offset }.map { PartitionFault(.stock, at: $0.offset, $0.reason) }
    }

    /// Takes note of how a stock record was found. A later one of the same store makes an earlier one void.
    mutating func note(_ fault: String?, of record: ChangelogBatch.Record) {
        guard fault != nil || !faults.isEmpty else { return }
        faults[record.key.map { Array($0) } ?? []] = fault.map { (record.offset, $0) }
    }

    /// Whether there is nothing left to do but to read answers from further back.
    var isToBeReopened: Bool { needsMoreAnswers && remaining == [.results] }

    /// Where reading begins, of topics that are to be read.
    var positions: [ChangelogPosition] {
        ChangelogTopic.allCases.filter(remaining.contains).map {
            ChangelogPosition(topic: $0, partition: point.partition, offset: start(of: $0))
        }
    }

    func end(of topic: ChangelogTopic) -> Offset {
        switch topic {
        case .stock: point.stockEnd
        case .results: point.results.upperBound
        }
    }

    private func start(of topic: ChangelogTopic) -> Offset {
        switch topic {
        case .stock: 0
        case .results: max(point.results.lowerBound, point.results.upperBound - span)
        }
    }

    /// What of a run of one topic is to be read. What was written later is not: it is not covered by the committed offsets.
    func wanted(of run: ArraySlice<ChangelogBatch.Record>) -> ArraySlice<ChangelogBatch.Record> {
        guard let topic = run.first?.topic, remaining.contains(topic),
            !(topic == .results && needsMoreAnswers)
        else {
            return []
        }
        let end = end(of: topic)
        return run.prefix { $0.offset < end }
    }

    /// Takes note that a topic is read to its end.
    mutating func reached(_ topic: ChangelogTopic) {
        guard topic == .results, remaining.contains(topic), !needsMoreAnswers else {
            if topic == .stock { remaining.remove(topic) }
            return
        }
        if state.applied.duplicates.count < window.count, start(of: .results) > point.results.lowerBound {
            needsMoreAnswers = true
        } else {
            remaining.remove(topic)
        }
    }

    /// Begins with the answers anew, from twice as far back.
    mutating func reopen() {
        span *= 2
        needsMoreAnswers = false
        state.applied.duplicates = DuplicateMemory(window: window)
    }
}
