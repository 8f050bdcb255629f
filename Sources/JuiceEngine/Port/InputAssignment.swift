import JuiceMessages

/// The input partitions that a worker reads, derived from its group's assignment.
///
/// Only the assignment of the orders counts: the owner of a partition's orders also reads its restocks, since a group may assign
/// the two topics differently. Partitions that were added to a topic later hold no stores and follow by remainder: if four
/// partitions hold stores, the owner of 1 also reads 5 and 9, and journals them in 1. All of this follows from one assignment and a
/// number that never changes, so no two workers of a generation read the same partition.
package struct InputAssignment: Sendable, Equatable {
    /// The assigned partitions that hold stores, in order.
    package let partitions: [Int32]
    /// How many partitions hold stores.
    package let partitionCount: Int32
    private let orderCount: Int32
    private let restockCount: Int32

    /// - Parameters:
    ///   - orders: the assigned partitions of the orders topic.
    ///   - partitionCount: how many partitions hold stores.
    ///   - orderCount: how many partitions the orders have.
    ///   - restockCount: how many partitions the restocks have.
    package init(orders: [Int32], partitionCount: Int32, orderCount: Int32, restockCount: Int32) {
        partitions = orders.filter { $0 < partitionCount }.sorted()
        self.partitionCount = partitionCount
        (self.orderCount, self.restockCount) = (orderCount, restockCount)
    }

    /// The input partitions that belong to a partition that holds stores: its own, and those added later.
    package func inputs(of partition: Int32) -> [InputPartition] {
        InputTopic.allCases.flatMap { topic in
            stride(from: partition, to: topic == .orders ? orderCount : restockCount, by: Int(partitionCount)).map {
                InputPartition(topic: topic, partition: $0)
            }
        }
    }
}
