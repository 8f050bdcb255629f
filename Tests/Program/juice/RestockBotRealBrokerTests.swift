import Foundation
import JuiceMessages
import JuiceService
import Kafka
import Logging
import Synchronization
import TestSupport
import Testing

@testable import juice
@testable import simulate

/// Tests of the bot that need a real broker. Each test creates its own topics.
@Suite(.serialized, .timeLimit(.minutes(5)), .onRealBroker) struct RestockBotRealBrokerTests {
    private static let partitions = 4

    /// Bots join, leave and die under load, and the service is restarted meanwhile. Only the bots restock. So no level is ever
    /// beyond the target, unless a refill was made twice, and at the end none is at LOW or below.
    @Test func eachShortageIsRefilledOnceWhateverDies() async throws {
        let servers = try #require(realBroker)
        try await onThread {
            let site = try BotSite(servers, partitions: Self.partitions)
            let plan = RestockBotPlan(group: site.topics.orders + "-bots")
            var service = BackgroundGroup.service(site.service(), logger: EmbeddedService.quiet)
            let load = try OrderLoad(site.clients)
            let first = RunningBot(site.clients, plan)
            #expect(first.waits(for: 20, Deadline(after: .seconds(60))), "the first bot refills")

            // While no service answers, a second bot takes over, and sends again what is not answered.
            let second = RunningBot(site.clients, plan)
            #expect(second.waits(for: 20, Deadline(after: .seconds(60))), "the second bot has its share")
            service.stop()
            let (count, deadline) = (second.log.all.count, Deadline(after: .seconds(60)))
            try first.stop()
            func takesOver() -> Bool { second.log.all.dropFirst(count).contains { $0.hasPrefix("watching") } }
            while !takesOver(), !deadline.isOver { second.log.waitForFirst(within: deadline.remaining) }
            #expect(takesOver())
            service = BackgroundGroup.service(site.service(), logger: EmbeddedService.quiet)
            // Others are frozen until they lose their partitions. Then they wake up, and are killed.
            for _ in 0..<4 { try site.stopAndKillABot(plan) }
            try load.stop()
            try second.stop()

            // Another bot refills the rest.
            let last = RunningBot(site.clients, plan)
            let client = TestClient(site.clients, Deadline(after: .seconds(60)))
            func isShort() throws -> Bool { try client.stock().values.contains { $0.values.contains { $0 <= plan.low } } }
            while try isShort(), !client.deadline.isOver {}
            #expect(try !isShort())
            try last.stop()
            service.stop()

            let answers = try site.answers()
            let refills = answers.filter { $0.command == .restock && !$0.isDuplicate }
            for case .restocked(let left) in refills.map(\.outcome) {
                #expect(left.allSatisfy { $0.amount <= plan.target }, "\(left)")
            }
            #expect(refills.count > 100)
            #expect(Set(refills.map(\.id)).count == refills.count)
            let copies = answers.count { $0.command == .restock && $0.isDuplicate }
            StandardError.write("restock bots: \(refills.count) refills, \(copies) sent once more\n")
        }
    }

    /// Without a service each bot sends the same refill, which is applied once when the service is back.
    @Test func aRefillWithoutAnAnswerCountsOnceHoweverOftenItIsSent() async throws {
        let servers = try #require(realBroker)
        try await onThread {
            let site = try BotSite(servers, partitions: 1)
            let deadline = Deadline(after: .seconds(120))
            let client = TestClient(site.clients, deadline)
            var service = BackgroundGroup.service(site.service(), logger: EmbeddedService.quiet)
            #expect(try client.order("banana", quantity: 5, store: "a").isMade)
            service.stop()

            let plan = RestockBotPlan(group: site.topics.orders + "-bots")
            for _ in 0..<3 {
                let bot = RunningBot(site.clients, plan)
                #expect(bot.waits(for: 1, Deadline(after: .seconds(30))))
                try bot.stop()
                #expect(bot.log.refills.count == 1)
            }
            service = BackgroundGroup.service(site.service(), logger: EmbeddedService.quiet)
            let last = RunningBot(site.clients, plan)
            #expect(try client.waits(for: 30, of: "banana", in: "a"))
            try last.stop()
            // The stock may be written after the answer; an instance that stops writes what is due.
            service.stop()
            #expect(try client.level(of: "banana", in: "a") == 30)
        }
    }

    @Test func missingTopicsAreNamed() async throws {
        let servers = try #require(realBroker)
        try await onThread {
            let clients = KafkaClients(
                bootstrapServers: servers, topics: TopicNames(prefix: "test-\(UUID().uuidString.prefix(8))."),
                logger: EmbeddedService.quiet)
            let failure = #expect(throws: Failure.self) { try RunningBot(clients, RestockBotPlan()).wait() }
            #expect(failure?.status == .configuration)
        }
    }
}

/// Topics for one test on a real broker.
struct BotSite: Sendable {
    let topics: TopicNames
    let clients: KafkaClients
    var group: String { topics.orders + "-service" }

    init(_ servers: String, partitions: Int) throws {
        topics = TopicNames(prefix: "test-\(UUID().uuidString.prefix(8)).")
        clients = KafkaClients(
            bootstrapServers: servers, topics: topics,
            // A dead or frozen bot loses its partitions soon.
            properties: ["session.timeout.ms": "6000", "max.poll.interval.ms": "6000"], logger: EmbeddedService.quiet)
        let plan = TopicPlan(names: topics, partitionCount: partitions, replicationFactor: 1)
        _ = try clients.admin().create(plan.topics, timeout: .seconds(30))
    }

    /// All answers, in order within each partition.
    func answers() throws -> [Answer] {
        let (reader, decoder) = (try TopicReader(clients, topic: topics.results), AnswerDecoder())
        var answers: [Answer] = []
        try reader.readAll { record in
            if let value = record.value, let answer = try? decoder.decode(value) { answers.append(answer) }
        }
        return answers
    }

    /// The same instance at every call, like a restarted one.
    func service() -> ServiceConfiguration {
        ServiceConfiguration(bootstrapServers: clients.bootstrapServers, group: group, instanceID: "service", topics: topics)
    }

    /// Starts a bot in a process of its own, and freezes it some time after its first refill for longer than its session
    /// timeout. After another refill it is killed.
    func stopAndKillABot(_ plan: RestockBotPlan) throws {
        // `juice` is built beside the test runner.
        let juice = try #require(Bundle.main.executableURL).deletingLastPathComponent().appendingPathComponent("juice")
        let bot = Process()
        bot.executableURL = juice
        bot.arguments =
            [
                "restock-bot", "--bootstrap-servers", clients.bootstrapServers, "--topic-prefix",
                String(topics.orders.dropLast("orders".count)), "--bot-group",
                plan.group,
            ]
            + clients.properties.sorted { $0.key < $1.key }.flatMap {
                ["--kafka-property", "\($0.key)=\($0.value)"]
            }
        let output = Pipe()
        bot.standardError = output
        try bot.run()
        // Reads until it sends refills. The end of the process closes the pipe, so this ends even without output.
        func readSome() {
            var data = Data([0])
            while !data.isEmpty, data.range(of: Data(" refill ".utf8)) == nil { data = output.fileHandleForReading.availableData }
            for _ in 0..<Int.random(in: 0...10) { _ = output.fileHandleForReading.availableData }
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

/// Sends orders for some stores as fast as possible, on a thread of its own.
final class OrderLoad: Sendable {
    private let isEnded = Atomic(false)
    private let end = DispatchSemaphore(value: 0)
    private let failure = Mutex<(any Error)?>(nil)

    init(_ clients: KafkaClients, stores: Int = 40) throws {
        Thread { [self] in
            do {
                let producer = try clients.producer(timeout: .seconds(30))
                var traffic = Traffic(stores: (0..<stores).map { "store-\($0)" }, menu: .standard, seed: 7)
                while !isEnded.load(ordering: .relaxed) {
                    // A cancel would raise levels beyond the target.
                    for order in traffic.next() where order.kind == .order {
                        try producer.produce(topic: clients.topics.orders, key: Array(order.store.utf8), value: order.value) { _ in
                        }
                    }
                    producer.poll(timeout: .milliseconds(5))
                }
                producer.poll(timeout: .seconds(1))
            } catch { failure.withLock { $0 = error } }
            end.signal()
        }.start()
    }

    func stop() throws {
        isEnded.store(true, ordering: .relaxed)
        end.wait()
        if let error = failure.withLock({ $0 }) { throw error }
    }
}
