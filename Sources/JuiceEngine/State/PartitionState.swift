import JuiceMaker

/// What a worker knows of one partition: its stores and how far its commands are applied.
final class PartitionState {
    let partition: Int32
    var stores: StoreTable
    private var applied: [InputTopic: Offset]
    /// Lacks a topic of which nothing was ever committed. The first transaction then commits both, so that later a topic
    /// without a committed offset can only be one whose offset was lost.
    private var committed: [InputTopic: Offset]
    private let start: [InputTopic: Offset]

    init(partition: Int32, stores: StoreTable, orders: RestorePoint.Input, restocks: RestorePoint.Input) {
        self.partition = partition
        self.stores = stores
        start = [.orders: orders.start, .restocks: restocks.start]
        applied = start
        committed = [.orders: orders, .restocks: restocks].compactMapValues(\.committed)
    }

    /// Notes that the record at `offset` is applied.
    ///
    /// - Returns: false when it was applied before, which a record read again is.
    func advance(_ topic: InputTopic, past offset: Offset) -> Bool {
        guard let next = applied[topic], offset >= next else { return false }
        applied[topic] = offset + 1
        return true
    }

    /// The next record to read of each topic.
    var positions: [InputPosition] { Self.positions(applied, of: partition) }

    /// The same, of topics that moved since the last commit.
    var uncommittedPositions: [InputPosition] {
        Self.positions(applied.filter { committed[$0.key] != $0.value }, of: partition)
    }

    /// Keeps what was applied.
    func commit() {
        stores.commit()
        committed = applied
    }

    /// Takes back what was applied since the last commit.
    func undo() {
        stores.undo()
        applied = start.merging(committed) { _, committed in committed }
    }

    private static func positions(_ offsets: [InputTopic: Offset], of partition: Int32) -> [InputPosition] {
        InputTopic.allCases.compactMap { topic in
            offsets[topic].map { InputPosition(topic: topic, partition: partition, offset: $0) }
        }
    }
}
