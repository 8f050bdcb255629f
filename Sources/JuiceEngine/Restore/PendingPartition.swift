/// A partition that is being restored: what of its changelogs is still to be read.
struct PendingPartition {
    let state: PartitionState
    private let point: RestorePoint
    private let window: DuplicateWindow
    /// How many offsets at the end of the results to read.
    private var span: Offset
    private var remaining: Set<ChangelogTopic> = []
    /// Whether the answers read were too few, so that reading must begin again further back.
    private var needsMoreAnswers = false
    /// Stores whose latest stock record cannot be restored from, by their keys.
    private var faults: [[UInt8]: (offset: Offset, reason: String)] = [:]

    init(_ point: RestorePoint, state: PartitionState, _ window: DuplicateWindow) {
        self.state = state
        self.point = point
        self.window = window
        // A window that is full by count has large transactions, which leave few markers between the records.
        span = Offset(window.count) + Offset(window.count / 4) + 1
        remaining = Set(ChangelogTopic.allCases.filter { start(of: $0) < end(of: $0) })
    }

    var isComplete: Bool { remaining.isEmpty }

    /// What is wrong with the stock; nil if nothing is.
    var firstFault: PartitionFault? {
        faults.values.min { $0.offset < $1.offset }.map { PartitionFault(.stock, at: $0.offset, $0.reason) }
    }

    /// Sets what is wrong with a store's stock record; nil if nothing is. A later record of the store replaces an earlier one.
    mutating func setFault(_ fault: String?, of record: ChangelogBatch.Record) {
        guard fault != nil || !faults.isEmpty else { return }
        faults[record.key.map { Array($0) } ?? []] = fault.map { (record.offset, $0) }
    }

    /// Whether all that is left is to read answers from further back.
    var isToBeReopened: Bool { needsMoreAnswers && remaining == [.results] }

    /// Where to begin in the topics that are still to be read.
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

    /// The records of a run that are to be applied. Those beyond the end are not covered by the committed offsets.
    func wanted(of run: ArraySlice<ChangelogBatch.Record>) -> ArraySlice<ChangelogBatch.Record> {
        guard let topic = run.first?.topic, remaining.contains(topic),
            !(topic == .results && needsMoreAnswers)
        else {
            return []
        }
        let end = end(of: topic)
        return run.prefix { $0.offset < end }
    }

    /// A topic is read to its end.
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

    /// Begins again with the answers, from twice as far back.
    mutating func reopen() {
        span *= 2
        needsMoreAnswers = false
        state.applied.duplicates = DuplicateMemory(window: window)
    }
}
