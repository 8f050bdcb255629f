/// Which input partitions a worker reads, given its group assignment.
///
/// One worker must read both the orders and the restocks of a partition that stores live in. A group assigns each topic by
/// itself, and alike only if both have the same number of partitions. So the orders decide: the worker that is assigned the
/// orders of such a partition owns it and reads its restocks, too. Partitions beyond hold no state and follow by remainder: if
/// stores live in four partitions, the owner of 1 also reads 5 and 9, and notes in the journal of 1 what became of them.
///
/// This depends only on one assignment and a number that never changes. So no two workers of a generation read the same
/// partition, even if they do not know of the same partitions yet.
public struct InputShare: Sendable, Equatable {
    /// The partitions that stores live in, in order.
    public let partitions: [Int32]
    /// How many partitions stores live in.
    public let partitionCount: Int32
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
        partitions = orders.filter { $0 < partitionCount }.sorted()
        self.partitionCount = partitionCount
        (self.orderCount, self.restockCount) = (orderCount, restockCount)
    }

    /// The input partitions that are read with one that stores live in.
    public func inputs(of partition: Int32) -> [InputPartition] {
        InputTopic.allCases.flatMap { topic in
            stride(from: partition, to: topic == .orders ? orderCount : restockCount, by: Int(partitionCount)).map {
                InputPartition(topic: topic, partition: $0)
            }
        }
    }
}
