/// Which input partitions a worker reads, by what its group gave it.
///
/// A store's state is in one place only if the orders and the restocks of its partition are read by the same worker. A group
/// shares out each topic by itself, and alike only where both have the same number of partitions. So it is the orders that
/// tell: whoever was given those of a partition that stores live in owns it, and reads what comes there. Partitions beyond
/// hold no state. They go with the others in turn: where stores live in four, the owner of 1 reads 5 and 9, too.
///
/// That follows from one assignment and a number that never changes, so no two workers of a generation read the same, even if
/// they do not know of the same partitions yet.
public struct InputShare: Sendable, Equatable {
    /// The numbers of the partitions that it owns or reads, in order.
    public let partitions: [Int32]
    private let orderCount: Int32
    private let restockCount: Int32

    /// The share of a worker.
    ///
    /// - Parameters:
    ///   - orders: the partitions of the orders that it was given.
    ///   - partitionCount: how many partitions stores live in.
    ///   - orderCount: how many the orders have.
    ///   - restockCount: how many the restocks have.
    public init(orders: [Int32], partitionCount: Int32, orderCount: Int32, restockCount: Int32) {
        let owned = Set(orders.filter { $0 < partitionCount })
        partitions = (0..<max(orderCount, restockCount)).filter { owned.contains($0 % partitionCount) }
        (self.orderCount, self.restockCount) = (orderCount, restockCount)
    }

    /// Whether a topic has a partition, of those that are this worker's.
    public func reads(_ topic: InputTopic, _ partition: Int32) -> Bool {
        partition < (topic == .orders ? orderCount : restockCount) && partitions.contains(partition)
    }
}
