import JuiceMaker
import JuiceMessages

/// Rebuilds the partitions of one assignment from the changelog: a state machine that is told what was read.
struct Restore {
    /// What to do next.
    enum Action: Equatable {
        /// Ask the log where the partitions stand.
        case findRestorePoints([Int32])
        /// Open the changelog of these partitions.
        case openChangelog([Int32])
        /// Read on.
        case readChangelog
        /// All states are complete.
        case finish
    }

    /// A partition that must not be read on, and why.
    struct Refusal: Equatable {
        let partition: Int32
        let reason: String
    }

    private let menu: Menu
    private let restorer: StockRestorer
    private let partitions: [Int32]
    private var states: [Int32: PartitionState] = [:]
    /// How far the changelog must be read, of partitions not there yet.
    private var ends: [Int32: Offset] = [:]
    /// Partitions of which not every input has a committed offset.
    private var uncommitted: Set<Int32> = []
    private var hasPoints = false
    private var isOpen = false
    private(set) var recordCount = 0

    init(partitions: [Int32], menu: Menu) {
        self.partitions = partitions
        self.menu = menu
        restorer = StockRestorer(menu: menu)
    }

    var action: Action {
        if !hasPoints { return .findRestorePoints(partitions) }
        if ends.isEmpty { return .finish }
        return isOpen ? .readChangelog : .openChangelog(ends.keys.sorted())
    }

    /// The restored states, once `action` says that they are complete, and the partitions that must not be read on.
    ///
    /// Stock without committed offsets means that the offsets are lost, or belong to another group: to begin with the
    /// oldest command would carry out again what the stock holds already.
    func finished() -> (states: [PartitionState], refusals: [Refusal]) {
        let all = states.values.sorted { $0.partition < $1.partition }
        let isLost = { (state: PartitionState) in
            uncommitted.contains(state.partition) && state.stores.count > 0
        }
        let refusals = all.filter(isLost).map {
            Refusal(
                partition: $0.partition,
                reason:
                    "its stock is there but the group has no committed offset for orders or restocks: the offsets"
                    + " expired or were deleted, or the group is another one than before"
            )
        }
        return (all.filter { !isLost($0) }, refusals)
    }

    /// Takes note of where the partitions stand.
    ///
    /// - Returns: the partitions whose committed offset is outside the log. Reading such a one on would skip
    ///   commands in silence.
    mutating func found(_ points: [RestorePoint]) -> [Refusal] {
        hasPoints = true
        var refusals: [Refusal] = []
        for point in points {
            let inputs = [(InputTopic.orders, point.orders), (.restocks, point.restocks)]
            if let reason = inputs.lazy.compactMap({ Self.refusal(topic: $0, $1) }).first {
                refusals.append(Refusal(partition: point.partition, reason: reason))
                continue
            }
            states[point.partition] = PartitionState(
                partition: point.partition,
                stores: StoreTable(menu: menu),
                orders: point.orders,
                restocks: point.restocks
            )
            if inputs.contains(where: { $0.1.committed == nil }) { uncommitted.insert(point.partition) }
            if point.changelogEnd > 0 { ends[point.partition] = point.changelogEnd }
        }
        return refusals
    }

    /// Takes note that the changelog is open.
    mutating func opened() { isOpen = true }

    /// Applies a piece of the changelog.
    ///
    /// - Throws: ``ChangelogFault`` for a record that is none: state would be lost by going on.
    mutating func read(_ batch: ChangelogBatch) throws(ChangelogFault) {
        for record in batch.records {
            guard let state = states[record.partition] else { continue }
            try apply(record, to: state)
            recordCount += 1
            reached(record.partition, record.offset + 1)
        }
        for end in batch.ends { reached(end.partition, end.next) }
    }

    private mutating func reached(_ partition: Int32, _ next: Offset) {
        if let end = ends[partition], next >= end { ends[partition] = nil }
    }

    private func apply(_ record: ChangelogBatch.Record, to state: PartitionState) throws(ChangelogFault) {
        guard let key = record.key else { throw ChangelogFault(record, "it has no key") }
        // A tombstone is nothing this service writes: somebody reset the store to the menu's initial stock.
        guard let value = record.value else {
            state.stores.restore(BorrowedText(key), FruitStore(menu: menu), revision: 0)
            return
        }
        do throws(MalformedMessage) {
            let restored = try restorer.restore(value)
            state.stores.restore(BorrowedText(key), restored.levels, revision: restored.revision)
        } catch {
            throw ChangelogFault(record, error.description)
        }
    }

    private static func refusal(topic: InputTopic, _ input: RestorePoint.Input) -> String? {
        guard let committed = input.committed else { return nil }
        if committed < input.log.lowerBound {
            return
                "\(topic): offsets \(committed) to \(input.log.lowerBound - 1) expired before they were read"
        }
        if committed > input.log.upperBound {
            return "\(topic): committed offset \(committed) is past the log's end \(input.log.upperBound);"
                + " was the topic made anew?"
        }
        return nil
    }
}

/// A changelog record that cannot be restored from.
struct ChangelogFault: Error {
    let message: String

    init(_ record: ChangelogBatch.Record, _ reason: String) {
        message = "stock record at partition \(record.partition), offset \(record.offset): \(reason)"
    }
}
