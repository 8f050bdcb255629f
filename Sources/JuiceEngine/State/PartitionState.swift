import JuiceMaker

/// What a worker knows of one partition: what its commands have made of it, and how much of that is committed.
///
/// A partition beyond those that stores live in has only its offsets.
package final class PartitionState {
    let partition: Int32
    package var applied: AppliedState
    /// Lacks a topic until an offset of it is committed. The first transaction commits both topics, so a topic without a
    /// committed offset can later only be one whose offset was lost.
    private var committed: InputOffsets
    /// Whether the last commit for this partition is known to be this worker's. Until then the next one commits both topics.
    private var isClaimed = false
    private let start: InputOffsets

    /// The state before anything is restored.
    init(_ point: RestorePoint, menu: Menu, window: DuplicateWindow) {
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

    /// Whether a position is ahead of what is applied.
    func isBefore(_ position: InputPosition) -> Bool {
        applied.offsets[position.topic].map { $0 < position.offset } ?? false
    }

    /// Whether this state was built from exactly the committed offsets, and of the same topics.
    func isCurrent(at point: RestorePoint) -> Bool {
        committed == point.committed && (start[.orders] == nil) == (point.orders == nil)
            && (start[.restocks] == nil) == (point.restocks == nil)
    }

    /// The next record to read of each topic.
    var positions: [InputPosition] {
        InputTopic.allCases.compactMap { topic in
            applied.offsets[topic].map { InputPosition(topic: topic, partition: partition, offset: $0) }
        }
    }

    /// The positions to commit: those that moved since the last commit, or all until the partition is claimed.
    var uncommittedPositions: [InputPosition] {
        isClaimed ? positions.filter { committed[$0.topic] != $0.offset } : positions
    }

    /// Takes a state of before up again. Others may have committed for the partition meanwhile, at the same offsets.
    func resume() { isClaimed = false }

    /// Keeps what was applied.
    ///
    /// - Returns: how many answers were forgotten early for lack of memory.
    func commit(at time: Timestamp) -> Int {
        applied.stores.commit()
        committed = applied.offsets
        isClaimed = true
        return applied.duplicates.commit(at: time)
    }

    /// Reverts what was applied since the last commit.
    func undo() {
        applied.stores.undo()
        applied.duplicates.undo()
        for topic in InputTopic.allCases { applied.offsets[topic] = committed[topic] ?? start[topic] }
    }
}

/// What the commands of one partition have made of it: its stores, its latest answers, and how far they are applied.
///
/// One value, so that a run of commands gains access to it once.
package struct AppliedState {
    package var stores: StoreTable
    package var duplicates: DuplicateMemory
    /// The next record of each topic.
    var offsets: InputOffsets

    /// Brings what a command is about to need into the processor's caches.
    func prefetch(_ command: ReceivedCommand) {
        duplicates.prefetch(command.fingerprint)
        stores.prefetch(command.storeKey)
    }

    /// Marks everything below `next` as applied.
    ///
    /// - Returns: false if it already was, as for a record that is read again.
    mutating func advance(_ topic: InputTopic, to next: Offset) -> Bool {
        guard let applied = offsets[topic], next > applied else { return false }
        offsets[topic] = next
        return true
    }
}

/// An offset for each input topic that has one.
struct InputOffsets: Equatable {
    private var orders: Offset?
    private var restocks: Offset?

    init(orders: Offset?, restocks: Offset?) {
        self.orders = orders
        self.restocks = restocks
    }

    subscript(topic: InputTopic) -> Offset? {
        get { topic == .orders ? orders : restocks }
        set { if topic == .orders { orders = newValue } else { restocks = newValue } }
    }
}

extension RestorePoint {
    fileprivate var committed: InputOffsets {
        InputOffsets(orders: orders?.committed, restocks: restocks?.committed)
    }
}
