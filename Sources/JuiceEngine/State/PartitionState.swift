import JuiceMaker

/// What a worker knows of one partition: what its commands have made of it, and how much of that is committed. Of a partition
/// that no store lives in, it is only how far it is read.
///
/// Its undo can be overridden, so that a test can show that leaving any part of it out is found out.
open class PartitionState {
    let partition: Int32
    final var applied: AppliedState
    /// Lacks a topic of which nothing was ever committed. The first transaction commits both, so that later a topic without
    /// a committed offset can only be one whose offset was lost.
    private var committed: InputOffsets
    /// Whether the last commit for this partition is known to be this worker's. Until then its next one commits both topics.
    private var isClaimed = false
    private let start: InputOffsets

    /// A partition of which nothing is restored yet.
    public required init(_ point: RestorePoint, menu: Menu, window: DuplicateWindow) {
        partition = point.partition
        start = InputOffsets(orders: point.orders?.start, restocks: point.restocks?.start)
        committed = point.committed
        applied = AppliedState(
            stores: StoreTable(menu: menu),
            duplicates: DuplicateMemory(window: window),
            offsets: start
        )
        // Growing would copy everything again and again. There are no more stores than records.
        applied.stores.reserveCapacity(Int(min(point.stockEnd, Self.mostReserved)))
    }

    private static let mostReserved: Offset = 1_000_000

    /// Whether a position is further on than what is applied.
    func isBefore(_ position: InputPosition) -> Bool {
        applied.offsets[position.topic].map { $0 < position.offset } ?? false
    }

    /// Whether what is committed is what this state is made of, neither more nor less, and of the same topics.
    open func isCurrent(at point: RestorePoint) -> Bool {
        committed == point.committed && (start[.orders] == nil) == (point.orders == nil)
            && (start[.restocks] == nil) == (point.restocks == nil)
    }

    /// The next record to read of each topic.
    var positions: [InputPosition] {
        InputTopic.allCases.compactMap { topic in
            applied.offsets[topic].map { InputPosition(topic: topic, partition: partition, offset: $0) }
        }
    }

    /// The same, of topics that moved since the last commit.
    var uncommittedPositions: [InputPosition] {
        isClaimed ? positions.filter { committed[$0.topic] != $0.offset } : positions
    }

    /// Notes that others may have committed for the partition meanwhile, though nothing else than where it stands.
    func resume() { isClaimed = false }

    /// Keeps what was applied.
    ///
    /// - Returns: how many answers there was no memory for any more.
    func commit(at time: Timestamp) -> Int {
        applied.stores.commit()
        committed = applied.offsets
        isClaimed = true
        return applied.duplicates.commit(at: time)
    }

    /// Takes back what was applied since the last commit.
    func undo() {
        undoStores()
        undoDuplicates()
        for topic in InputTopic.allCases { applied.offsets[topic] = committed[topic] ?? start[topic] }
    }

    /// Takes back what was changed in the stores.
    open func undoStores() { applied.stores.undo() }

    /// Forgets the answers that were remembered.
    open func undoDuplicates() { applied.duplicates.undo() }
}

extension RestorePoint {
    fileprivate var committed: InputOffsets {
        InputOffsets(orders: orders?.committed, restocks: restocks?.committed)
    }
}

/// The states of a worker's partitions, found by number and always in that order.
struct PartitionTable: Sequence {
    private var slots: [PartitionState?] = []

    init(_ states: [PartitionState] = []) {
        for state in states { self[state.partition] = state }
    }

    subscript(partition: Int32) -> PartitionState? {
        get { slots.indices.contains(Int(partition)) ? slots[Int(partition)] : nil }
        set {
            let missing = Int(partition) + 1 - slots.count
            if missing > 0 { slots.append(contentsOf: repeatElement(nil, count: missing)) }
            slots[Int(partition)] = newValue
        }
    }

    func makeIterator() -> some IteratorProtocol<PartitionState> {
        slots.lazy.compactMap { $0 }.makeIterator()
    }
}

/// Makes partition states and restores them: what all of them have in common.
struct PartitionFactory {
    let menu: Menu
    let window: DuplicateWindow
    let stateType: PartitionState.Type
    let applier: ChangelogApplier

    func makeState(at point: RestorePoint) -> PartitionState {
        stateType.init(point, menu: menu, window: window)
    }
}
