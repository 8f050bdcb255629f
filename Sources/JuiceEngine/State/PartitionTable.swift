/// The states of a worker's partitions, found by number and iterated in that order.
package struct PartitionTable: Sequence {
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

    package func makeIterator() -> some IteratorProtocol<PartitionState> {
        slots.lazy.compactMap { $0 }.makeIterator()
    }

    /// Whether it has none.
    var isEmpty: Bool { slots.allSatisfy { $0 == nil } }
}
