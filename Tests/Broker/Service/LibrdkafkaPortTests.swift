import FaultyNetwork
import JuiceEngine
import JuiceMessages
import Kafka
import Logging
import Synchronization
import TestSupport
import Testing

@testable import JuiceService

/// A worker's port to Kafka, and its parts.
@Suite(.concurrencyLimited) struct LibrdkafkaPortTests {
    /// A port for one partition, by default not a member of the group.
    private static func makeLog(
        _ configuration: ServiceConfiguration, isMember: Bool = false, logger: Logger
    ) throws -> LibrdkafkaPort {
        try LibrdkafkaPort(
            configuration: configuration, worker: 0, storePartitions: 1,
            assignment: isMember ? nil : InputAssignment(orders: [0], partitionCount: 1, orderCount: 1, restockCount: 1),
            watch: BrokerWatch(bootstrapServers: configuration.bootstrapServers, logger: quietLogger), logger: logger)
    }

    private static func makeReader(_ configuration: ServiceConfiguration, _ hooks: ClientHooks) throws -> LogReader {
        try LogReader(
            configuration: configuration, timeout: AdaptiveTimeout(shortest: .seconds(60), longest: .seconds(60)),
            watch: BrokerWatch(bootstrapServers: configuration.bootstrapServers, logger: quietLogger), hooks: hooks)
    }

    /// Two processes of the same name have the same ids. A worker may have initialized its next set before the other process
    /// claimed with it. Fencing the other process then fences that set as well.
    @Test func aSetThatIsFencedIsNotUsed() async throws {
        let cluster = try await TestCluster.embedded()
        try await onThread {
            let recorder = LogRecorder()
            var configuration = cluster.serviceConfiguration()
            configuration.kafkaProperties["debug"] = "eos"
            let log = try Self.makeLog(configuration, isMember: true, logger: recorder.makeLogger(level: .debug))
            let count = configuration.transactionalIDs(worker: 0, set: 0).count
            let isPrepared = try wait {
                _ = try log.poll(maxRecords: 1, wait: .never)
                return recorder.all.count { $0.contains("-> ReadyNotAcked") } == count
            }
            #expect(isPrepared)
            let ids = (0..<ServiceConfiguration.producerSets).flatMap { configuration.transactionalIDs(worker: 0, set: $0) }
            #expect(wait { (try? log.fence(Set(ids)))?.isEmpty == true })
            // The set that is ready would need no broker.
            cluster.broker.takeDown()
            let error = #expect(throws: LogError.self) { try log.initTransactions() }
            #expect(error?.remedy == .retry)
        }
    }

    /// An anchor and `juice doctor` ask without being members.
    @Test func groupOffsetsAreAskedForAgainOnceACoordinatorHasMoved() async throws {
        let cluster = try await TestCluster.embedded()
        try await onThread {
            let log = try Self.makeLog(cluster.serviceConfiguration(), logger: quietLogger)
            cluster.broker.fail(next: .offsetFetch, with: [.notCoordinator, .coordinatorLoadInProgress])
            #expect(wait { (try? log.groupOffsets(of: [InputPartition(topic: .orders, partition: 0)])) == [:] })
            #expect(cluster.broker.pendingFailures(of: .offsetFetch) == 0)
        }
    }

    /// Every topic counts, even one that is rarely written to.
    @Test func aTopicThatIsGoneIsNoticed() async throws {
        let cluster = try await TestCluster.embedded()
        try await onThread {
            var configuration = cluster.serviceConfiguration()
            configuration.callTimeout = .seconds(60)
            let log = try Self.makeLog(configuration, logger: quietLogger)
            func read() throws(LogError) -> [PartitionExtents] { try log.extents(of: [0]).extents }
            #expect(wait { (try? read().count) == 1 })
            for name in cluster.topics.all {
                cluster.broker.setError(.unknownTopicOrPartition, ofTopic: name)
                let error = #expect(throws: LogError.self) { try read() }
                #expect(error?.remedy == .retry)
                #expect(error?.message.contains(name) == true)
                cluster.broker.setError(nil, ofTopic: name)
                #expect(wait { (try? read().count) == 1 })
            }
        }
    }

    // MARK: - Errors

    @Test(arguments: [
        (KafkaError.Code.messageTooLarge, LogError.Subject.call), (.transport, .connection), (.timedOut, .call), (.fenced, .call),
        // The service ends with the status for bad configuration.
        (.invalidSessionTimeout, .setting), (.invalidTransactionTimeout, .setting), (.invalidArgument, .setting),
    ])
    func errorsNameTheirSubject(code: KafkaError.Code, subject: LogError.Subject) {
        #expect(LogError(KafkaError(code: code, requiresAbort: true)).subject == subject)
    }

    @Test func aRefusalNamesTopicPartitionAndSetting() {
        let topics = TopicNames(prefix: "juice.")
        var error = KafkaError(code: .messageTooLarge, requiresAbort: true)
        #expect(LogError(error, topics: topics).subject == .call, "it is unknown whose record it was")
        error.place = TopicPartition(topic: "juice.stock", partition: 3)
        let refusal = LogError(error, topics: topics)
        #expect(refusal.subject == .record(.stock, partition: 3))
        #expect(refusal.message.hasSuffix("(MSG_SIZE_TOO_LARGE); the topic's max.message.bytes is less"))
    }

    // MARK: - Reading

    private static let journal = ChangelogPosition(topic: .results, partition: 0, offset: 0)

    /// A worker polls for rebalances before each step of a takeover. Journal records that this poll took would be missing.
    @Test(arguments: [Isolation.committed, .uncommitted])
    func servingTheReadersClientsTakesNothingAway(isolation: Isolation) async throws {
        let cluster = try await TestCluster.embedded { try $0.leaveSomeStock() }
        try await onThread {
            let recorder = LogRecorder()
            var configuration = cluster.serviceConfiguration()
            configuration.kafkaProperties["debug"] = "fetch"
            let reader = try Self.makeReader(configuration, ClientHooks(logger: recorder.makeLogger(level: .debug)))
            try reader.openChangelog([Self.journal], isolation: isolation)
            // Both records have arrived once the one after them is requested.
            #expect(wait { recorder.all.contains { $0.contains("juice.results [0] at offset 2") } })
            for _ in 0..<3 { reader.serve() }
            var (offsets, ends): ([Int64], [Int64]) = ([], [])
            try wait {
                let batch = try reader.readChangelog()
                offsets += batch.records.map(\.offset)
                ends += batch.ends.map(\.offset)
                return !ends.isEmpty
            }
            #expect(offsets == [0, 1])
            #expect(ends == [2])
        }
    }

    /// A look at one partition does not hide from another that its leader has changed.
    @Test func aNewLeaderIsSeenForEachPartition() async throws {
        let cluster = try await TestCluster.embedded(brokerCount: 2, partitionCount: 2)
        try await onThread {
            let orders = [Int32(0), 1].map { InputPartition(topic: .orders, partition: $0) }
            func lead(_ broker: Int32) { for input in orders { cluster.broker.setLeader(broker, of: cluster.topics[input]) } }
            let reader = try Self.makeReader(cluster.serviceConfiguration(), ClientHooks(logger: quietLogger))
            reader.assignment = InputAssignment(orders: [0, 1], partitionCount: 2, orderCount: 2, restockCount: 2)
            func led(_ partitions: [Int32]) throws -> [Set<InputPartition>] {
                try reader.extents(of: partitions).extents.map(\.withNewLeader)
            }
            lead(1)
            #expect(try led([0, 1]) == [[], []])
            lead(2)
            #expect(try led([0]) == [[orders[0]]])
            #expect(try led([1]) == [[orders[1]]])
            #expect(try led([0, 1]) == [[], []])
        }
    }

    /// The damaged records are the last ones of their log.
    @Test func damageIsMeasuredAndSkipped() async throws {
        let cluster = try await TestCluster.embedded { cluster in
            for id in ["a", "b", "c"] { try cluster.order(id) }
            for damage in [nil, EmbeddedBroker.Damage.bit, .bit] {
                try cluster.broker.append("{}", damaged: damage, to: cluster.topics[.restocks, 0])
            }
        }
        try await onThread {
            var configuration = cluster.serviceConfiguration()
            configuration.kafkaProperties = ["check.crcs": "true"]
            let reader = try Self.makeReader(configuration, ClientHooks(logger: quietLogger))
            let (orders, restocks) = (
                InputPartition(topic: .orders, partition: 0), InputPartition(topic: .restocks, partition: 0)
            )
            let (records, damaged) = try reader.readBack([orders: 1..<2, restocks: 0..<3])
            #expect(records.map(\.offset) == [1])
            #expect(records.first?.value.map { String(decoding: $0, as: UTF8.self) } == #"{"orderId":"b","juice":"kiwi"}"#)
            #expect(damaged == [restocks])
            let last = reader.uncommitted.lastDamaged(of: cluster.topics[restocks], from: 1, timeout: .seconds(60))
            #expect(last == 2)
        }
    }
}

/// How long lookups wait.
@Suite struct AdaptiveTimeoutTests {
    @Test(arguments: [(0, [2, 4, 8, 8]), (1, [2, 2, 2, 2])])
    func itGrowsLessWhereABrokerMayBeDead(closedConnections: Int, seconds: [Int]) {
        var timeout = AdaptiveTimeout()
        let grown = seconds.map { _ in
            timeout.timedOut(closedConnections: closedConnections)
            return timeout.current
        }
        #expect(grown == seconds.map { .seconds($0) })
    }

    /// A slow broker that died must not be waited for as long as a slow one. Only connections lost since the last answer count.
    @Test(arguments: [(0, 2), (1, 8)]) func aLossSinceTheLastAnswerShortensIt(before: Int, seconds: Int) {
        var timeout = AdaptiveTimeout()
        timeout.answered(after: .zero, closedConnections: before)
        for _ in 0..<3 { timeout.timedOut(closedConnections: before) }
        timeout.timedOut(closedConnections: 1)
        #expect(timeout.current == .seconds(seconds))
    }

    /// Otherwise a broker that is always slow would time out every other time.
    @Test(arguments: [(1, 2), (1.1, 2.2), (3, 6), (5, 8), (0.01, 1)])
    func itStaysTwiceAsLongAsTheLastAnswerTook(seconds: Double, next: Double) {
        var timeout = AdaptiveTimeout()
        for _ in 0..<3 { timeout.timedOut() }
        for _ in 0..<2 { timeout.answered(after: .seconds(seconds)) }
        #expect(timeout.current == .seconds(next))
    }
}
