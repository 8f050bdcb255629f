import Testing

@testable import Kafka

@Suite struct ClusterMetadataTests {
    /// As Kafka's `TransactionStateManager.partitionFor`. Java's hash of the last id has no absolute value.
    @Test(arguments: [("abc", 96354 % 50), ("juice-maker/shop-1/0/3/1", 47), ("polygenelubricants", 0)])
    func theCoordinatorOfATransactionIsALeader(id: String, partition: Int32) {
        var metadata = ClusterMetadata()
        #expect(metadata.transactionCoordinator(of: id) == nil)
        var topic = ClusterMetadata.Topic(name: ClusterMetadata.transactionState)
        topic.partitions = (0..<50).map { .init(number: $0, leader: $0 + 100, replicas: [], inSyncReplicas: []) }
        metadata.topics = [topic]
        #expect(metadata.transactionCoordinator(of: id) == partition + 100)
    }
}
