import CRdKafka
import JuiceEngine
import JuiceMessages
import Synchronization
import TestSupport
import Testing

@testable import JuiceService
@testable import Kafka

/// What only a real broker can show. Each test creates its own topics.
@Suite(.concurrencyLimited, .onRealBroker)
struct RealBrokerTests {
    // MARK: - Topics

    @Test func topicsAsCreatedPassTheCheck() async throws {
        let cluster = try await TestCluster.real()
        try await onThread {
            let admin = try cluster.makeAdmin()
            let check = TopicCheck(names: cluster.topics, bootstrapServers: cluster.bootstrapServers)
            #expect(try check.findings(admin, reader: nil, timeout: .seconds(10)).problems.isEmpty)
            // Creating again changes nothing and is no error.
            let plan = TopicPlan(names: cluster.topics, partitionCount: 9, replicationFactor: 1)
            #expect(try admin.create(plan.topics, timeout: .seconds(10)).isEmpty)
            #expect(try check.findings(admin, reader: nil, timeout: .seconds(10)).problems.isEmpty)
        }
    }

    @Test func missingTopicsKeepTheServiceFromStarting() async throws {
        var configuration = ServiceConfiguration(
            bootstrapServers: try #require(realBroker), instanceID: "test", topics: TopicNames(prefix: "test-missing."))
        configuration.patience = .zero
        #expect(try await reasonToEnd(configuration)?.contains("juice topics create") == true)
    }

    @Test func aSecondGroupIsRefusedWhileTheFirstRuns() async throws { try await expectSecondGroupRefused(on: .real()) }

    /// Brokers give a static member that comes back its former assignment, whatever it subscribes to.
    @Test func anInstanceThatWasKilledServesOtherTopics() async throws {
        let (former, cluster) = (try await TestCluster.real(), try await TestCluster.real())
        let configuration = cluster.serviceConfiguration()
        try await onThread {
            let member = try Consumer(configuration: configuration.groupConsumer(worker: 0), hooks: quietHooks)
            try member.subscribe(to: former.topics.inputs)
            #expect(try join(member).count == 8)
            member.close()
        }
        try await withRunningService(configuration) { _ in
            try cluster.order("a")
            #expect(try cluster.read(.results, partitionCount: 4, within: .seconds(30)) { !$0.isEmpty }.count == 1)
        }
    }

    @Test func aRehearsalFindsNothingWrongAndLeavesNothing() async throws {
        let cluster = try await TestCluster.real(partitionCount: 1)
        var configuration = cluster.serviceConfiguration()
        configuration.isRehearsal = true
        try await onThread { [configuration] () throws -> Void in
            func examine(_ configuration: ServiceConfiguration) throws -> Examination {
                let watch = BrokerWatch(bootstrapServers: cluster.bootstrapServers, logger: quietLogger)
                let examiner = Examiner(
                    configuration: configuration, admin: try cluster.makeAdmin(), watch: watch, timeout: .seconds(20),
                    logger: quietLogger)
                return examiner.examine()
            }
            func worst(_ configuration: ServiceConfiguration) throws -> Finding.Severity? {
                try examine(configuration).findings(configuration).first?.severity
            }
            var missing = configuration
            missing.topics = TopicNames(prefix: "test-missing.")
            #expect(try worst(missing) == .stopped)
            missing.createsTopics = true
            #expect(try worst(missing) == .notice)
            // The topics have one replica.
            #expect(try worst(configuration) == .notice)
            #expect(try examine(configuration).proof.map(\.proven) == BrokerProof.Property.allCases.map { _ in .now })
            for topic in Topic.allCases { #expect(try cluster.read(topic, partitionCount: 1) { _ in true }.isEmpty) }
            // The beginning of the journal must not expire before the first start.
            for topic in [Topic.results, .stock] {
                let end = try cluster.readEnd(of: topic)
                #expect(end == 0, "\(topic)")
            }
        }
        let log = LogRecorder()
        configuration.isRehearsal = false
        for isFirst in [true, false] {
            let before = log.all.count
            try await withRunningService(configuration, logger: log.makeLogger()) { events in #expect(wait { events.isRestored }) }
            #expect(log.all.dropFirst(before).contains { $0.contains("a new journal, on brokers that have proven") } == isFirst)
        }
    }

    /// Brokers create such a topic for a monitor that starts before the topics are created.
    @Test(arguments: [Topic.stock, .results]) func aTopicThatAMonitorMadeIsNamed(topic: Topic) async throws {
        let cluster = TestCluster(
            bootstrapServers: try #require(realBroker), embedded: nil,
            topics: TopicNames(prefix: "test-\(UInt64.random(in: 0...(.max)))."))
        try await onThread {
            let (admin, name) = (try cluster.makeAdmin(), cluster.topics[topic])
            _ = try admin.create([.init(name: name, partitionCount: 1, replicationFactor: 1)], timeout: .seconds(60))
            let plan = TopicPlan(names: cluster.topics, partitionCount: 4, replicationFactor: 1)
            #expect(try admin.create(plan.topics, timeout: .seconds(60)).count == 4)
        }
        let reason = try await reasonToEnd(cluster.serviceConfiguration())
        #expect(reason?.contains("\(cluster.topics[topic]) has 1 partition, not 4") == true, "\(reason ?? "it started")")
        #expect(reason?.contains("--delete --topic \(cluster.topics[topic]), which is empty") == true)
    }

    /// The orders are enlarged while the service runs; restocks, results and stock before it starts again.
    @Test func storesStayWhereTheyLive() async throws {
        let cluster = try await TestCluster.real(partitionCount: Shop.partitionCount)
        let topics = cluster.topics
        var configuration = cluster.serviceConfiguration()
        configuration.kafkaProperties["topic.metadata.refresh.interval.ms"] = "200"
        try await withRunningService(configuration) { _ in
            try Shop.sendRound(0, to: cluster)
            try Shop.check(cluster.read(.results, partitionCount: Shop.partitionCount) { $0.count >= 24 }, rounds: 1)
            try cluster.enlarge([topics.orders], to: 8)
            try Shop.sendRound(1, to: cluster)
            try Shop.check(cluster.read(.results, partitionCount: Shop.partitionCount) { $0.count >= 48 }, rounds: 2)
        }
        try await onThread { try cluster.enlarge([topics.restocks, topics.results, topics.stock], to: 8) }
        let log = LogRecorder()
        try await withRunningService(configuration, logger: log.makeLogger()) { _ in
            try Shop.sendRound(2, to: cluster)
            try Shop.check(cluster.read(.results, partitionCount: 8) { $0.count >= 72 }, rounds: 3)
        }
        #expect(log.all.contains { $0.contains("stores live in 4 partitions, but") })
    }

    @Test func anEnlargedStockTopicWithoutAClaimIsRefused() async throws {
        let cluster = try await TestCluster.real(partitionCount: Shop.partitionCount)
        try await onThread {
            // As an instance that counts four partitions would write it.
            try cluster.makeProducer().send(
                Shop.stores.map { store in
                    let stock = #"{"store":"\#(store)","revision":1,"stock":{"kiwi":1}}"#
                    return (cluster.topics.stock, Shop.home(of: store), store, Array(stock.utf8))
                })
            let topics = cluster.topics
            try cluster.enlarge([topics.orders, topics.restocks, topics.results, topics.stock], to: 8)
        }
        #expect(try await reasonToEnd(cluster.serviceConfiguration())?.contains("the topic was enlarged") == true)
    }

    // MARK: - Commands

    @Test func clientsWithAnyPartitionerReachTheSameStore() async throws {
        try await serveClientsWithAnyPartitioner(TestCluster.real(partitionCount: 5), workers: 2)
    }

    /// A static member that only closes keeps its partitions for 15 s.
    @Test func leavesTheGroupOnlyIfOthersRemain() async throws {
        let cluster = try await TestCluster.real()
        let one = cluster.serviceConfiguration(instanceID: "one")
        let two = cluster.serviceConfiguration(instanceID: "two", workers: 2)
        let group = { @Sendable () throws in try cluster.makeAdmin().describe(group: one.group, timeout: .seconds(10)) }
        let members = { @Sendable () throws in try group().members.map(\.instanceID) }
        try await withRunningService(one) { events in #expect(wait { events.isRestored }) }
        #expect(try await onThread { try members() } == ["one-0"])
        let mayEnd = Mutex(false)
        async let first: Void = withRunningService(one) { _ in #expect(wait { mayEnd.withLock(\.self) }) }
        try await withRunningService(two) { _ in
            let haveJoined = try wait {
                let group = try group()
                return group.state == "Stable" && group.members.count == 3
            }
            #expect(haveJoined)
        }
        #expect(try await onThread { try members() } == ["one-0"])
        mayEnd.withLock { $0 = true }
        try await first
    }

    @Test func aRepeatIsKnownToAnotherInstanceAfterARestart() async throws {
        let cluster = try await TestCluster.real()
        for (round, instance) in ["one", "one", "two"].enumerated() {
            let answers = try await withRunningService(cluster.serviceConfiguration(instanceID: instance)) { _ in
                try cluster.order("a", juice: "banana", of: "gangnam")
                return try cluster.read(.results, partitionCount: 4) { $0.count > round }.map(\.text)
            }
            #expect(answers.map { $0.contains(#""duplicate":true"#) } == (0...round).map { $0 > 0 })
        }
    }

    /// The service restarts between batches: the stock continues where it was, and no command is answered twice.
    @Test func stateSurvivesRestarts() async throws {
        let cluster = try await TestCluster.real()
        let stores = (0..<8).map { "store-\($0)" }
        for round in 0..<3 {
            try await withRunningService(cluster.serviceConfiguration(workers: 1 + round % 2)) { _ in
                let producer = try cluster.makeProducer()
                for store in stores { try cluster.order("\(round)", juice: "strawberryBanana", of: store, by: producer) }
                let answers = try cluster.read(.results, partitionCount: 4) { $0.count >= 8 * (round + 1) }
                #expect(answers.count == 8 * (round + 1))
                // 10 strawberries are enough for one.
                for store in stores {
                    let mine = answers.filter { $0.key == store }.sorted { $0.offset < $1.offset }
                    #expect(mine.map { $0.text.contains("juice made") } == (0...round).map { $0 == 0 })
                }
            }
        }
    }

    /// A record that arrived compressed may exceed what a broker accepts uncompressed.
    @Test func aLargeCompressedRecordIsADeadLetterAndNoPartitionStops() async throws {
        let cluster = try await TestCluster.real()
        try await withRunningService(cluster.serviceConfiguration()) { _ in
            let producer = try cluster.makeProducer(["compression.type": "gzip", "message.max.bytes": "10000000"])
            let large = [UInt8](repeating: UInt8(ascii: "x"), count: 5_000_000)
            try producer.send(topic: cluster.topics.orders, key: Array("gangnam".utf8), value: large, timeout: .seconds(20))
            try cluster.order("after", of: "gangnam", by: producer)
            let answers = try cluster.read(.results, partitionCount: 4) { !$0.isEmpty }
            #expect(answers.first?.text.contains(#""orderId":"after""#) == true)
            let letters = try cluster.read(.deadLetters, partitionCount: 4) { !$0.isEmpty }
            #expect(letters.first?.value == large)
            #expect(letters.first?.headers.first?.text == "tooLarge")
        }
    }

    // MARK: - Transactions left open by other processes

    /// The broker itself would end the transaction only after a minute.
    @Test func aDeadInstancesTransactionIsEndedByItsSuccessor() async throws {
        let cluster = try await TestCluster.real(partitionCount: 1)
        try await onThread {
            let dead = try OpenTransaction(cluster, id: "dead")
            let claim = JournalClaim(ids: ["dead"], since: 0, group: "g", instance: "i", partitions: 1, next: [:])
            try dead.write(.results, key: nil, JournalNote.claim(claim).bytes)
            try dead.session.commit(timeout: .seconds(20))
            try dead.session.begin()
            let answer = #"{"type":"outOfStock","orderId":"x","store":"gangnam","offset":0}"#
            try dead.write(.results, key: "gangnam", Array(answer.utf8))
        }
        try await withRunningService(cluster.serviceConfiguration(instanceID: "heir")) { events in
            let start = ContinuousClock.now
            wait { events.isRestored }
            #expect(events.isRestored && ContinuousClock.now - start < .seconds(20))
            try cluster.order("a", of: "gangnam")
            let answer = try cluster.read(.results, partitionCount: 1) { !$0.isEmpty }.first?.text
            #expect(answer?.contains(#""offset":0,"#) == true && answer?.contains(#""left":{"kiwi":7}"#) == true)
        }
    }

    /// Committed stock lies beyond another program's undecided record, so the last stable offset is not the end.
    @Test func stockBehindAnUndecidedRecordIsWaitedFor() async throws {
        let cluster = try await TestCluster.real(partitionCount: 1)
        let stranger = try await onThread { () -> OpenTransaction in
            let stranger = try OpenTransaction(cluster, id: "stranger-\(cluster.topics.stock)")
            try stranger.write(.stock, key: "jamsil", Array("{}".utf8))
            try cluster.leaveSomeStock()
            return stranger
        }
        try await withRunningService(cluster.serviceConfiguration(instanceID: "heir")) { events in
            let isNamed = {
                events.all.contains {
                    if case .partitionFailing(0, let fault) = $0 { fault.kind == .transaction(.stock) } else { false }
                }
            }
            #expect(wait { isNamed() })
            try stranger.abort()
            try cluster.order("a", of: "main")
            let answer = try cluster.read(.results, partitionCount: 1) { !$0.isEmpty }.first?.text
            #expect(answer?.contains(#""left":{"kiwi":997}"#) == true)
        }
    }
}

/// An open transaction of another program. Its calls come one after the other, which makes the unchecked `Sendable` safe.
private final class OpenTransaction: @unchecked Sendable {
    let session: TransactionSession

    init(_ cluster: TestCluster, id: String) throws {
        let configuration = KafkaConfiguration(["bootstrap.servers": cluster.bootstrapServers, "transaction.timeout.ms": "60000"])
        session = TransactionSession(
            ids: { _ in [id] }, topics: cluster.topics.all.map { ($0, [:]) }, configuration: configuration,
            hooks: ClientHooks(logger: quietLogger))
        try session.initTransactions(timeout: .seconds(20))
        try session.begin()
    }

    /// Writes a record, before any that follow.
    func write(_ topic: Topic, key: String?, _ value: [UInt8]) throws {
        try Array((key ?? "").utf8).withUnsafeBytes { bytes in
            try value.withUnsafeBytes { value in
                try session.produce(to: topic.rawValue, partition: 0, key: key == nil ? nil : bytes, value: value, headers: [])
            }
        }
        try session.flush(timeout: .seconds(20))
    }

    /// Aborts the transaction by taking its id over.
    func abort() throws {
        session.drop()
        try session.initTransactions(timeout: .seconds(20))
    }
}

extension TestCluster {
    /// Where the first partition of a topic ends, aborted records and markers included.
    fileprivate func readEnd(of topic: Topic) throws -> Offset? {
        let reader = try Consumer(configuration: serviceConfiguration().logEndConsumer, hooks: ClientHooks(logger: quietLogger))
        defer { reader.close() }
        return try reader.endOffsets(of: [topics[topic, 0]], timeout: .seconds(60))[topics[topic, 0]]
    }

    /// Adds partitions, as an operator does by hand.
    fileprivate func enlarge(_ names: [String], to count: Int) throws {
        let admin = try makeAdmin()
        var reason = [CChar](repeating: 0, count: 256)
        var additions = names.map { rd_kafka_NewPartitions_new($0, count, &reason, reason.count) }
        defer { for case let addition? in additions { rd_kafka_NewPartitions_destroy(addition) } }
        let event = try admin.handle.request(RD_KAFKA_ADMIN_OP_CREATEPARTITIONS, timeout: .seconds(60)) { client, options, queue in
            rd_kafka_CreatePartitions(client, &additions, additions.count, options, queue)
        }
        rd_kafka_event_destroy(event)
        let isKnown = {
            let metadata = try? admin.metadata(topics: names, timeout: .seconds(60))
            return names.allSatisfy { metadata?[$0]?.partitionCount == count }
        }
        #expect(wait(until: isKnown))
    }
}
