import Foundation
import JuiceMessages
import JuiceRestockBot
import JuiceService
import Kafka
import Logging
import Synchronization
import Testing

@testable import juice

private let realBroker = ProcessInfo.processInfo.environment["KAFKA_BOOTSTRAP_SERVERS"]

/// What only a real broker can show of the bot. Each test makes topics of its own there.
@Suite(
    .serialized,
    .timeLimit(.minutes(5)),
    .enabled(if: realBroker != nil, "KAFKA_BOOTSTRAP_SERVERS names no broker to run these on")
)
struct RestockBotRealBrokerTests {
    private static let partitions = 4

    /// Bots come, go and die under load, the service is restarted in between, and in the end the topics are read: no store was
    /// ever sent a refill while another one of it had no answer, each was answered, and was for what was short.
    @Test func eachShortageIsRefilledOnceWhateverDies() async throws {
        let servers = try #require(realBroker)
        try await OnThread.run {
            let site = try BotSite(servers, partitions: Self.partitions)
            let plan = RestockBotPlan(
                rules: try #require(RefillRules(low: 5, target: 30)),
                group: site.topics.orders + "-bots",
                serviceGroup: site.group
            )
            var service = BackgroundService(site.service(), logger: EmbeddedService.quiet)
            let load = try OrderLoad(site.connection)
            let first = RunningBot(site.connection, plan)
            #expect(first.waits(for: 20, Deadline(after: .seconds(60))), "the first bot refills")

            // A second one joins.
            let second = RunningBot(site.connection, plan)
            #expect(second.waits(for: 20, Deadline(after: .seconds(60))), "the second bot has its share")
            // The first freezes and is missed. What it does when it wakes up is to be refused.
            first.freeze()
            // Meanwhile another service answers.
            service.stop()
            service = BackgroundService(site.service(), logger: EmbeddedService.quiet)
            let before = second.refills.count
            #expect(
                second.waits(for: before + 60, Deadline(after: .seconds(90))),
                "the second bot takes over"
            )
            first.thaw()
            let thawed = first.refills.count
            #expect(first.waits(for: thawed + 10, Deadline(after: .seconds(60))), "the first bot is back")
            // Others are stopped until they are missed, wherever they are, perhaps in the middle of a transaction; they wake up
            // and are killed.
            for _ in 0..<4 { try site.stopAndKillABot(plan) }
            try load.stop()
            try first.stop()
            try second.stop()

            // What is left is refilled by one that ends by itself, and nothing is left for another.
            let last = RestockBotPlan(
                rules: plan.rules,
                group: plan.group,
                serviceGroup: plan.serviceGroup,
                onceWithin: .seconds(60)
            )
            try RunningBot(site.connection, last).wait()
            let none = RunningBot(site.connection, last)
            try none.wait()
            #expect(none.refills.isEmpty)
            service.stop()

            let audit = try RefillAudit(site.connection, group: plan.group, low: 5, target: 30)
            #expect(audit.faults == [])
            #expect(audit.refills > 100)
            let shown = first.refills.count + second.refills.count
            #expect(audit.refills >= shown)
            StandardError.write(
                "restock bots: \(audit.refills) refills for \(audit.orders) orders, \(audit.outOfStock) out of stock\n"
            )
        }
    }

    /// No service runs: one refill, however many bots look, and it counts when the service is back.
    @Test func aRefillWithoutAnAnswerIsNotSentAgain() async throws {
        let servers = try #require(realBroker)
        try await OnThread.run {
            let site = try BotSite(servers, partitions: 1)
            let deadline = Deadline(after: .seconds(120))
            let client = TestClient(site.connection, deadline)
            var service = BackgroundService(site.service(), logger: EmbeddedService.quiet)
            #expect(try client.order("banana", quantity: 5, store: "a").isMade)
            service.stop()

            let rules = try #require(RefillRules(low: 5, target: 30))
            func bot(within time: Duration) -> RunningBot {
                let group = site.topics.orders + "-bots"
                return RunningBot(
                    site.connection,
                    RestockBotPlan(
                        rules: rules,
                        group: group,
                        serviceGroup: site.group,
                        onceWithin: time
                    )
                )
            }
            for sent in [1, 0, 0] {
                let one = bot(within: .seconds(12))
                let failure = #expect(throws: Failure.self) { try one.wait() }
                #expect(failure?.message == "1 refills are not answered yet")
                #expect(one.refills.count == sent)
            }
            service = BackgroundService(site.service(), logger: EmbeddedService.quiet)
            let last = bot(within: .seconds(60))
            try last.wait()
            #expect(last.refills.isEmpty)
            #expect(try client.level(of: "banana", in: "a") == 30)
            service.stop()
        }
    }

    /// A bot that lost its partitions and has not heard of it yet can write nothing, however late it tries.
    @Test func whoeverLostItsPartitionsIsRefused() async throws {
        let servers = try #require(realBroker)
        try await OnThread.run {
            let site = try BotSite(servers, partitions: 1)
            let clients = BotClients(
                site.connection,
                .init(
                    rules: try #require(RefillRules(low: 5, target: 30)),
                    group: site.topics.orders + "-bots"
                ),
                logger: EmbeddedService.quiet
            )
            let answers = TopicPartition(topic: site.topics.results, partition: 0)
            let id = RefillID(group: clients.plan.group, partition: 0, position: 0)
            let refill = Refill(id: id, store: "a", entries: [.init(fruit: "kiwi", level: 0, amount: 30)])
            func joined() throws -> BotMembership {
                let membership = try BotMembership(clients)
                let deadline = Deadline(after: .seconds(60))
                while !deadline.isOver {
                    if case .assigned([0]) = try membership.poll(maxRecords: 1, timeout: .milliseconds(100)) {
                        return membership
                    }
                }
                throw Failure(.unavailable, "nothing was assigned")
            }
            func write(_ refills: [Refill], _ writer: RefillWriter, _ membership: BotMembership) -> Bool {
                if case .committed = writer.write(
                    refills,
                    positions: [answers: 0],
                    of: membership,
                    while: { true }
                ) {
                    return true
                }
                return false
            }
            let (first, writer) = (try joined(), RefillWriter(clients))
            #expect(write([], writer, first))
            // It does not poll any more, and another gets its partition.
            let (second, other) = (try joined(), RefillWriter(clients))
            #expect(!write([refill], writer, first))
            #expect(write([refill], other, second))

            let restocks = try TopicReader(
                site.connection,
                topic: site.topics.restocks,
                knowsUndecided: true,
                deadline: Deadline(after: .seconds(30))
            )
            var count = 0
            try restocks.read(restocks.watermarks.mapValues { $0.low..<$0.high }, patience: .seconds(30)) {
                _ in
                count += 1
            }
            #expect(count == 1)
            first.consumer.close()
            second.consumer.close()
        }
    }

    @Test func missingTopicsAreNamed() async throws {
        let servers = try #require(realBroker)
        try await OnThread.run {
            let connection = Connection(
                bootstrapServers: servers,
                topics: TopicNames(prefix: "test-\(UUID().uuidString.prefix(8))."),
                logger: EmbeddedService.quiet
            )
            let rules = try #require(RefillRules(low: 5, target: 30))
            let failure = #expect(throws: Failure.self) {
                try RunningBot(connection, .init(rules: rules)).wait()
            }
            #expect(failure?.status == .configuration)
        }
    }
}

/// Topics of their own on a real broker.
struct BotSite: Sendable {
    let topics: TopicNames
    let connection: Connection
    var group: String { topics.orders + "-service" }

    init(_ servers: String, partitions: Int) throws {
        topics = TopicNames(prefix: "test-\(UUID().uuidString.prefix(8)).")
        connection = Connection(
            bootstrapServers: servers,
            topics: topics,
            // A bot that dies or freezes is soon missed.
            properties: ["session.timeout.ms": "6000", "max.poll.interval.ms": "6000"],
            logger: EmbeddedService.quiet
        )
        let plan = TopicPlan(names: topics, partitionCount: partitions, replicationFactor: 1)
        _ = try connection.admin().create(plan.topics, timeout: .seconds(30))
    }

    /// The same instance at every call, as one that is restarted.
    func service() -> ServiceConfiguration {
        ServiceConfiguration(
            bootstrapServers: connection.bootstrapServers,
            group: group,
            instanceID: "service",
            topics: topics
        )
    }

    /// Starts a bot as a process of its own, and stops it some time after its first refill for longer than its session lasts.
    /// When it has refilled again, it is killed.
    func stopAndKillABot(_ plan: RestockBotPlan) throws {
        // The test runner is built beside it.
        let juice = try #require(Bundle.main.executableURL).deletingLastPathComponent()
            .appendingPathComponent("juice")
        let bot = Process()
        bot.executableURL = juice
        bot.arguments =
            [
                "restock-bot", "--bootstrap-servers", connection.bootstrapServers, "--topic-prefix",
                String(topics.orders.dropLast("orders".count)), "--group", plan.serviceGroup, "--bot-group",
                plan.group, "--json", "--log-level", "error",
            ]
            + connection.properties.sorted { $0.key < $1.key }.flatMap {
                ["--kafka-property", "\($0.key)=\($0.value)"]
            }
        let output = Pipe()
        bot.standardOutput = output
        try bot.run()
        // Its end closes the pipe, so this ends also where it sends nothing.
        func readSome() {
            for _ in 0..<Int.random(in: 1...10) { _ = output.fileHandleForReading.availableData }
        }
        readSome()
        #expect(bot.isRunning)
        kill(bot.processIdentifier, SIGSTOP)
        Thread.sleep(forTimeInterval: 9)
        kill(bot.processIdentifier, SIGCONT)
        readSome()
        #expect(bot.isRunning)
        kill(bot.processIdentifier, SIGKILL)
        bot.waitUntilExit()
    }
}

/// Orders for some stores, as many as go, on a thread of its own.
final class OrderLoad: Sendable {
    private let isEnded = Atomic(false)
    private let end = DispatchSemaphore(value: 0)
    private let failure = Mutex<(any Error)?>(nil)

    init(_ connection: Connection, stores: Int = 40) throws {
        Thread { [self] in
            do {
                let producer = try connection.producer(timeout: .seconds(30))
                var traffic = Traffic(
                    stores: (0..<stores).map { "store-\($0)" },
                    menu: .standard,
                    seed: 7
                )
                while !isEnded.load(ordering: .relaxed) {
                    let order = traffic.next()
                    try producer.produce(
                        topic: connection.topics.orders,
                        key: Array(order.store.utf8),
                        value: OutgoingCommand.order(
                            id: order.id,
                            store: order.store,
                            juice: order.juice,
                            quantity: order.quantity
                        )
                        .value
                    ) { _ in }
                    producer.poll(timeout: .milliseconds(5))
                }
                producer.poll(timeout: .seconds(1))
            } catch {
                failure.withLock { $0 = error }
            }
            end.signal()
        }
        .start()
    }

    func stop() throws {
        isEnded.store(true, ordering: .relaxed)
        end.wait()
        if let error = failure.withLock({ $0 }) { throw error }
    }
}
