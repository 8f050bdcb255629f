import JuiceMaker

/// What a worker knows of one partition: its stores, its latest answers, and how far its commands are applied.
///
/// Its undo can be overridden, so that a test can show that leaving any part of it out is found out.
open class PartitionState {
    let partition: Int32
    var stores: StoreTable
    var duplicates: DuplicateMemory
    private var applied: [InputTopic: Offset]
    /// Lacks a topic of which nothing was ever committed. The first transaction commits both, so that later a topic without
    /// a committed offset can only be one whose offset was lost.
    private var committed: [InputTopic: Offset]
    /// Whether the last commit for this partition is known to be this worker's. Until then its next one commits both topics.
    private var isClaimed = false
    private let start: [InputTopic: Offset]

    /// A partition of which nothing is restored yet.
    public required init(_ point: RestorePoint, menu: Menu, window: DuplicateWindow) {
        partition = point.partition
        stores = StoreTable(menu: menu)
        duplicates = DuplicateMemory(window: window)
        start = [.orders: point.orders.start, .restocks: point.restocks.start]
        applied = start
        committed = [.orders: point.orders, .restocks: point.restocks].compactMapValues(\.committed)
    }

    /// Notes that everything below `next` is applied.
    ///
    /// - Returns: false when it was applied before, which a record read again is.
    func advance(_ topic: InputTopic, to next: Offset) -> Bool {
        guard let applied = applied[topic], next > applied else { return false }
        self.applied[topic] = next
        return true
    }

    /// Whether a position is further on than what is applied.
    func isBefore(_ position: InputPosition) -> Bool {
        applied[position.topic].map { $0 < position.offset } ?? false
    }

    /// Whether what is committed is what this state is made of, neither more nor less.
    open func stands(at point: RestorePoint) -> Bool {
        committed == [.orders: point.orders, .restocks: point.restocks].compactMapValues(\.committed)
    }

    /// The next record to read of each topic.
    var positions: [InputPosition] { positions(applied) }

    /// The same, of topics that moved since the last commit.
    var uncommittedPositions: [InputPosition] {
        isClaimed ? positions(applied.filter { committed[$0.key] != $0.value }) : positions
    }

    /// Notes that others may have committed for the partition meanwhile, though nothing else than where it stands.
    func takeUp() { isClaimed = false }

    /// Keeps what was applied.
    func commit(at time: Timestamp) {
        stores.commit()
        duplicates.commit(at: time)
        committed = applied
        isClaimed = true
    }

    /// Takes back what was applied since the last commit.
    func undo() {
        undoStores()
        undoDuplicates()
        applied = start.merging(committed) { _, committed in committed }
    }

    /// Takes back what was changed in the stores.
    open func undoStores() { stores.undo() }

    /// Forgets the answers that were remembered.
    open func undoDuplicates() { duplicates.undo() }

    private func positions(_ offsets: [InputTopic: Offset]) -> [InputPosition] {
        InputTopic.allCases.compactMap { topic in
            offsets[topic].map { InputPosition(topic: topic, partition: partition, offset: $0) }
        }
    }
}
