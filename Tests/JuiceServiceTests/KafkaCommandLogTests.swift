import BrokerFaults
import JuiceEngine
import Kafka
import TestSupport
import Testing

@testable import JuiceService

@Suite(.concurrencyLimited) struct KafkaCommandLogTests {
    /// Two processes of the same name have the same ids. The next set may have been asked for before the other one claimed with it,
    /// and fencing the other one then fences that set as well.
    @Test func aSetThatIsFencedIsNotUsed() async throws {
        let cluster = try await TestCluster.single()
        try await onThread {
            let recorder = LogRecorder()
            var configuration = cluster.serviceConfiguration()
            configuration.kafkaProperties["debug"] = "eos"
            let log = try KafkaCommandLog(
                configuration: configuration, worker: 0,
                topics: .init(partitionCount: 1, inputPartitions: 1, deadLetterPartitions: 1, noteInterval: .max, brokers: []),
                share: InputShare(orders: [0], partitionCount: 1, orderCount: 1, restockCount: 1),
                watch: BrokerWatch(bootstrapServers: cluster.bootstrapServers, logger: quietLogger), metrics: nil,
                logger: recorder.makeLogger(level: .debug))
            try wait {
                _ = try log.poll(maxRecords: 1, wait: .never)
                return recorder.all.count { $0.contains("-> ReadyNotAcked") } == 3
            }
            let ids = (0..<ServiceConfiguration.producerSets).flatMap { configuration.transactionalIDs(worker: 0, set: $0) }
            wait { (try? log.fence(Set(ids))) != nil }
            // The set that is ready would need no broker.
            cluster.broker?.takeDown()
            let error = #expect(throws: LogError.self) { try log.initTransactions() }
            #expect(error?.remedy == .retry)
        }
    }
}
