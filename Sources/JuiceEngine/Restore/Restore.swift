/// Rebuilds the partitions of one assignment from the changelogs: a state machine without access to the log.
///
/// The stock is read whole, the answers as far back as repeats may ask for them, or up to the number that the memory holds.
/// Markers and aborted records take offsets too, so how many answers a range has is known only after reading it. If there were
/// too few, reading begins again further back.
struct Restore {
    /// What to do next.
    enum Action: Equatable {
        /// Ask the log for the restore points of these partitions.
        case findRestorePoints([Int32])
        /// Open the changelogs at these positions.
        case openChangelog([ChangelogPosition])
        /// Read the next records of the changelogs.
        case readChangelog
        /// All states are complete.
        case finish
    }

    /// A partition that must not be read on, and why.
    struct Refusal: Equatable {
        let partition: Int32
        let fault: PartitionFault
    }

    private let partitions: [Int32]
    private let applier: ChangelogApplier
    /// States that stay valid as long as no other worker commits for their partitions: those of before and those restored.
    private(set) var kept: PartitionTable
    private var restored: [PartitionState] = []
    /// Partitions with a stock record that cannot be restored from.
    private var faulty: [Refusal] = []
    private var pending: [Int32: PendingPartition] = [:]
    /// Partitions with an input without a committed offset.
    private var uncommitted: Set<Int32> = []
    private var hasPoints = false
    private var isOpen = false
    private(set) var recordCount = 0

    /// - Parameter kept: states of before, used again if nothing was committed since.
    init(partitions: [Int32], kept: PartitionTable = PartitionTable(), applier: ChangelogApplier) {
        self.partitions = partitions
        self.applier = applier
        self.kept = kept
    }

    var action: Action {
        if !hasPoints { return .findRestorePoints(partitions) }
        if pending.isEmpty { return .finish }
        if isOpen { return .readChangelog }
        return .openChangelog(partitions.compactMap { pending[$0] }.flatMap(\.positions))
    }

    /// The restored states and the partitions that must not be read, once `action` is ``Action/finish``.
    ///
    /// Stock without committed offsets means that the offsets were lost or belong to another group. Beginning with the oldest
    /// command would carry out again what the stock already contains.
    func finished() -> (states: [PartitionState], refusals: [Refusal]) {
        let isLost = { (state: PartitionState) in
            uncommitted.contains(state.partition) && state.applied.stores.count > 0
        }
        let refusals = restored.filter(isLost).map {
            Refusal(
                partition: $0.partition,
                fault: PartitionFault(
                    .offsets(nil),
                    "its stock is there but the group has no committed offset for orders or restocks: the offsets"
                        + " expired or were deleted, or the group is another one than before"
                )
            )
        }
        return (restored.filter { !isLost($0) }, refusals + faulty)
    }

    /// The log returned the restore points.
    ///
    /// - Returns: the partitions with a committed offset outside the log. Reading them would silently skip commands.
    mutating func found(_ points: [RestorePoint]) -> [Refusal] {
        hasPoints = true
        var refusals: [Refusal] = []
        for point in points {
            let inputs = [(InputTopic.orders, point.orders), (.restocks, point.restocks)]
                .compactMap { topic, input in input.map { (topic, $0) } }
            if let fault = inputs.lazy.compactMap({ Self.fault(topic: $0, $1) }).first {
                refusals.append(Refusal(partition: point.partition, fault: fault))
                continue
            }
            if let state = kept[point.partition], state.isCurrent(at: point) {
                state.resume()
                restored.append(state)
                continue
            }
            kept[point.partition] = nil
            if inputs.contains(where: { $0.1.committed == nil }) { uncommitted.insert(point.partition) }
            let partition = PendingPartition(point, state: applier.emptyState(at: point), applier.window)
            pending[point.partition] = partition
            settle(partition)
        }
        return refusals
    }

    /// The log opened the changelogs.
    mutating func opened() { isOpen = true }

    /// Applies records of the changelogs.
    ///
    /// - Parameter now: the time of day. Answers with a later timestamp count as of now: their writer's clock was ahead.
    /// - Throws: ``LogError`` for stock in the wrong partition, since then no state can be trusted.
    mutating func read(_ batch: ChangelogBatch, now: Timestamp) throws(LogError) {
        var rest = batch.records[...]
        // Records come in runs of one topic partition.
        while let first = rest.first {
            let run = rest.prefix { $0.partition == first.partition && $0.topic == first.topic }
            rest = rest[run.endIndex...]
            guard var partition = pending[first.partition] else { continue }
            let wanted = partition.wanted(of: run)
            try applier.apply(wanted, to: partition.state, now: now) { partition.setFault($1, of: $0) }
            pending[first.partition] = partition
            recordCount += wanted.count
            if let last = wanted.last, last.offset + 1 == partition.end(of: last.topic) {
                reached(last.topic, last.partition)
            }
        }
        for end in batch.ends {
            guard let partition = pending[end.partition], end.offset >= partition.end(of: end.topic) else {
                continue
            }
            reached(end.topic, end.partition)
        }
        guard pending.values.allSatisfy(\.isToBeReopened) else { return }
        for number in pending.keys { pending[number]?.reopen() }
        isOpen = false
    }

    private mutating func reached(_ topic: ChangelogTopic, _ number: Int32) {
        guard var partition = pending[number] else { return }
        partition.reached(topic)
        pending[number] = partition
        settle(partition)
    }

    private mutating func settle(_ partition: PendingPartition) {
        guard partition.isComplete else { return }
        pending[partition.state.partition] = nil
        if let fault = partition.firstFault {
            faulty.append(Refusal(partition: partition.state.partition, fault: fault))
            return
        }
        kept[partition.state.partition] = partition.state
        restored.append(partition.state)
    }

    private static func fault(topic: InputTopic, _ input: RestorePoint.Input) -> PartitionFault? {
        guard let committed = input.committed else { return nil }
        let reason: String
        if committed < input.log.lowerBound {
            reason =
                "\(topic): offsets \(committed) to \(input.log.lowerBound - 1) expired before they were read"
        } else if committed > input.log.upperBound {
            reason =
                "\(topic): committed offset \(committed) is past the log's end \(input.log.upperBound);"
                + " was the topic made anew?"
        } else {
            return nil
        }
        return PartitionFault(.offsets(topic), at: committed, reason)
    }
}
