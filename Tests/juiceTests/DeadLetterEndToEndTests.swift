import BrokerFaults
import Foundation
import JuiceMessages
import JuiceService
import Kafka
import TestSupport
import Testing

@testable import juice

private let realBroker = ProcessInfo.processInfo.environment["KAFKA_BOOTSTRAP_SERVERS"]

/// The service puts a record aside, and it is listed, corrected and resent.
@Suite(.serialized, .concurrencyLimited, .timeLimit(.minutes(10)))
struct DeadLetterEndToEndTests {
    @Test func aDeadLetterIsListedCorrectedAndSentOnce() async throws {
        try await EmbeddedService.run { try Self.correctsALetter($0) }
    }

    static func correctsALetter(_ connection: Connection) throws {
        let deadline = Deadline(after: .seconds(60))
        let trace = RecordHeader(name: "traceparent", value: "00-ab")
        let garbage = Array("garbage".utf8)
        try connection.producer(timeout: .seconds(30)).send(
            topic: connection.topics.orders, key: Array("강남".utf8), value: garbage, headers: [trace], timeout: .seconds(30))
        let letter = try #require(try letters(connection, atLeast: 1, deadline).letters.first)
        #expect(letter.code == "notJSON")
        #expect(letter.value == garbage)
        #expect(letter.sendersHeaders == [trace])
        #expect(letter.source.topic == connection.topics.orders)

        let order = try writeFile(#"{"orderId":"corrected","juice":"kiwi"}"# + "\n")
        defer { try? FileManager.default.removeItem(atPath: order) }
        let settings = try given(["value": order])
        let corrected = try ResendChoice([letter.position.text], settings)
        let waiter = try AnswerWaiter(connection, deadline: deadline)
        let first = try resend(connection, corrected)
        #expect(first.map(\.isResent) == [true])
        let answer = try waiter.answer(to: .order, id: "corrected", store: "강남", deadline: deadline)
        #expect(answer?.answer.isMade == true)
        let again = try resend(connection, corrected)
        #expect(again.first?.text == "\(letter.position.text) was sent before")
        let all = try resend(connection, ResendChoice([], given(["all": "true"])))
        #expect(all.isEmpty)

        let after = try letters(connection, atLeast: 1, deadline)
        #expect(after.letters.map(\.position) == [letter.position])
        #expect(after.resent == [letter.position])
        let pending = try DeadLetterReader(connection, deadline: deadline).last(10, idleTimeout: .seconds(10)) {
            !$1 && !$0.code.isEmpty
        }
        #expect(pending.letters.isEmpty)
        let none = try ResendChoice(["0@999"], given())
        #expect(throws: Failure.self) { try resend(connection, none) }
    }

    /// After a slow commit the sender would initialise its transactional id again, and fence a sender that started meanwhile.
    @Test func whoeverMayHaveBeenFencedReadsTheNotesFirst() async throws {
        try await onThread {
            let broker = try EmbeddedBroker(logger: EmbeddedService.quiet)
            let topics = TopicNames()
            for topic in topics.all { try broker.createTopic(topic, partitionCount: 1) }
            let connection = Connection(bootstrapServers: broker.bootstrapServers, logger: EmbeddedService.quiet)
            let sender = try DeadLetterSender(connection, deadline: Deadline(after: .seconds(30)))
            func send(_ offset: Offset) throws(DeadLetterSender.SendError) {
                let record = ResendPlan.Record(topic: topics.orders, partition: 0, key: nil, value: [], headers: [])
                let item = DeadLetterSender.Item(letter: LetterPosition(partition: 0, offset: offset), record: record)
                try sender.send([item], deadline: Deadline(after: .seconds(30)))
            }
            broker.fail(next: .endTransaction, with: [.transport])
            try send(0)
            let error = #expect(throws: DeadLetterSender.SendError.self) { try send(1) }
            guard case .lost = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            let orders = try TopicReader(
                connection, topic: topics.orders, upTo: .highWatermark, deadline: Deadline(after: .seconds(30)))
            // Not by offsets: newer embedded brokers also write markers.
            var sent = 0
            try orders.readAll(idleTimeout: .seconds(10)) { _ in sent += 1 }
            #expect(sent == 1)
        }
    }

    static func resend(_ connection: Connection, _ choice: ResendChoice) throws -> [Resend.Outcome] {
        try Resend(connection: connection, chosen: choice, timeout: .seconds(30)).run { _ in }
    }

    /// The dead letters, once there are this many.
    static func letters(_ connection: Connection, atLeast count: Int, _ deadline: Deadline) throws -> DeadLetterReader.Letters {
        while true {
            let found = try DeadLetterReader(connection, deadline: deadline).last(1000, idleTimeout: .seconds(10)) { _, _ in true }
            if found.letters.count >= count || deadline.isOver { return found }
        }
    }

    private static func writeFile(_ text: String) throws -> String {
        let path = FileManager.default.temporaryDirectory.path + "/value-\(UUID().uuidString)"
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        return path
    }
}

/// Tests of resending that need a real broker.
@Suite(
    .serialized, .timeLimit(.minutes(3)), .enabled(if: realBroker != nil, "KAFKA_BOOTSTRAP_SERVERS names no broker to run these on")
) struct DeadLetterRealBrokerTests {
    @Test func aDeadLetterIsListedCorrectedAndSentOnce() async throws {
        let servers = try #require(realBroker)
        try await onThread {
            let site = try BotSite(servers, partitions: 4)
            let service = BackgroundGroup.service(site.service(), logger: EmbeddedService.quiet)
            defer { service.stop() }
            try DeadLetterEndToEndTests.correctsALetter(site.connection)
        }
    }

    /// Of several concurrent senders one dies before its commit; in the end each letter was sent once.
    @Test func whoeverRunsItEachLetterIsSentOnce() async throws {
        let servers = try #require(realBroker)
        let site = try await onThread { try BotSite(servers, partitions: 3) }
        let count = 250
        try await onThread {
            let service = BackgroundGroup.service(site.service(), logger: EmbeddedService.quiet)
            defer { service.stop() }
            let producer = try site.connection.producer(timeout: .seconds(30))
            for number in 0..<count {
                try producer.produce(
                    topic: site.topics.orders, key: Array("store-\(number % 7)".utf8), value: Array("garbage \(number)".utf8)
                ) { _ in }
            }
            producer.poll(timeout: .seconds(1))
            let found = try DeadLetterEndToEndTests.letters(site.connection, atLeast: count, Deadline(after: .seconds(60)))
            #expect(found.letters.count == count)
            // This one is never committed.
            let dead = try DeadLetterSender(site.connection, deadline: Deadline(after: .seconds(30)))
            let plan = ResendPlan(topics: site.topics, partitionCount: 3, isUnchecked: true)
            try dead.begin(found.letters.prefix(5).map { .init(letter: $0.position, record: try plan.record(for: $0)) })
        }
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            for _ in 0..<4 {
                tasks.addTask { try await onThread { try resendAll(site.connection) } }
            }
            try await tasks.waitForAll()
        }
        try await onThread {
            let orders = try TopicReader(
                site.connection, topic: site.topics.orders, upTo: .highWatermark, deadline: Deadline(after: .seconds(30)))
            var sent: [String: Int] = [:]
            try orders.read(orders.watermarks.mapValues { $0.low..<$0.high }, idleTimeout: .seconds(30)) { record in
                let letter = DeadLetter(record)
                guard let from = letter.header(HeaderName.resentFrom) else { return }
                sent[from, default: 0] += 1
            }
            #expect(sent.count == count)
            #expect(sent.values.allSatisfy { $0 == 1 })
        }
    }

    /// Sends all letters again. A fenced sender tries again, as its message says.
    private func resendAll(_ connection: Connection) throws {
        let choice = try ResendChoice([], given(["all": "true"]))
        let deadline = Deadline(after: .seconds(90))
        while !deadline.isOver {
            do throws(Failure) {
                _ = try Resend(connection: connection, chosen: choice, isUnchecked: true, timeout: .seconds(30)).run { _ in }
                return
            } catch { #expect(error.status == .unavailable, "\(error)") }
        }
    }
}
