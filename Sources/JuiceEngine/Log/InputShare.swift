/// Which input partitions a worker reads, given its group assignment.
///
/// One worker must read both the orders and the restocks of a partition that stores live in. A group assigns each topic by
/// itself, and alike only if both have the same number of partitions. So the orders decide: the worker that is assigned the
/// orders of such a partition owns it and reads its restocks, too. Partitions beyond hold no state and follow by remainder: if
/// stores live in four partitions, the owner of 1 also reads 5 and 9.
///
/// This depends only on one assignment and a number that never changes. So no two workers of a generation read the same
/// partition, even if they do not know of the same partitions yet.
public struct InputShare: Sendable, Equatable {
    /// The partitions it reads, in order.
    public let partitions: [Int32]
    private let orderCount: Int32
    private let restockCount: Int32

    /// The share of a worker.
    ///
    /// - Parameters:
    ///   - orders: the assigned partitions of the orders.
    ///   - partitionCount: how many partitions stores live in.
    ///   - orderCount: how many partitions the orders have.
    ///   - restockCount: how many partitions the restocks have.
    public init(orders: [Int32], partitionCount: Int32, orderCount: Int32, restockCount: Int32) {
        let owned = Set(orders.filter { $0 < partitionCount })
        partitions = (0..<max(orderCount, restockCount)).filter { owned.contains($0 % partitionCount) }
        (self.orderCount, self.restockCount) = (orderCount, restockCount)
    }

    /// Whether the worker reads a partition of a topic.
    public func reads(_ topic: InputTopic, _ partition: Int32) -> Bool {
        partition < (topic == .orders ? orderCount : restockCount) && partitions.contains(partition)
    }
}
