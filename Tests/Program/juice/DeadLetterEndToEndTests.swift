import FaultyNetwork
import Foundation
import JuiceMessages
import JuiceService
import Kafka
import TestSupport
import Testing

@testable import juice

/// The service writes a dead letter, which is listed, corrected and resent.
@Suite(.serialized, .concurrencyLimited, .timeLimit(.minutes(10)))
struct DeadLetterEndToEndTests {
    @Test func aDeadLetterIsListedCorrectedAndSentOnce() async throws {
        try await EmbeddedService.run { try Self.correctsALetter($0) }
    }

    static func correctsALetter(_ clients: KafkaClients) throws {
        let deadline = Deadline(after: .seconds(60))
        let trace = RecordHeader(name: "traceparent", value: "00-ab")
        let garbage = Array("garbage".utf8)
        try clients.write(garbage, key: "강남", to: .orders, headers: [trace])
        let letter = try #require(try letters(clients, atLeast: 1, deadline).first)
        #expect(letter.code == "notJSON")
        #expect(letter.value == garbage)
        #expect(letter.senderHeaders == [trace])
        #expect(letter.source.topic == clients.topics.orders)

        let path = FileManager.default.temporaryDirectory.path + "/value-\(UUID())"
        let order = OutgoingCommand.order(id: "corrected", store: "강남", juice: "kiwi")
        #expect(FileManager.default.createFile(atPath: path, contents: Data(order.value + Array("\n".utf8))))
        defer { try? FileManager.default.removeItem(atPath: path) }
        let position = letter.position.text
        func resend(_ arguments: String...) throws -> [String] { try Self.resend(clients, arguments) }
        let answers = try clients.newAnswers()
        #expect(try resend(position, "--value", path) == ["\(position) sent to \(clients.topics.orders) partition 0"])
        #expect(try answers.answer(to: order, deadline: deadline)?.answer.isMade == true)
        #expect(try resend(position, "--value", path) == ["\(position) was sent before"])
        #expect(try resend("--all").isEmpty)

        let after = try letters(clients, atLeast: 1, deadline)
        #expect(after.map(\.position) == [letter.position])
        #expect(after.map(\.isResent) == [true])
        #expect(throws: Failure.self) { try resend("0@999") }
        #expect(throws: Failure.self) { try resend("0@999", position) }
    }

    /// Each run sends the oldest letters that are left.
    @Test func aReplayGoesOnInParts() async throws {
        let (letters, headers) = (["a", "b", "c"].map { (key: String?.none, value: $0) }, DeadLetterTests.letter(nil).headers)
        try await EmbeddedBroker.run([.deadLetters: letters], letterHeaders: headers) { _, clients throws in
            func replay() throws -> [String] {
                try Self.resend(clients, ["--all", "--unchecked", "--at-most", "2", "--yes"]).map { String($0.prefix(8)) }
            }
            #expect(try replay() == ["0@0 sent", "0@1 sent"])
            #expect(try replay() == ["0@2 sent"])
            #expect(try replay().isEmpty)
        }
    }

    /// After a lost connection a late request may commit half a batch, and initialising the transactional id again could fence a
    /// sender that started meanwhile.
    @Test func aSenderThatLostItsConnectionSendsNoMore() async throws {
        try await EmbeddedBroker.run { broker, clients in
            let sender = try DeadLetterSender(clients)
            func send(_ offset: Offset) throws(KafkaError) {
                let record = DeadLetterResend.Record(
                    letter: RecordPosition(partition: 0, offset: offset), topic: .orders, partition: 0, key: nil, value: [],
                    headers: nil)
                try sender.send([record], deadline: Deadline(after: .seconds(30)))
            }
            broker.fail(next: .endTransaction, with: [.transport])
            try send(0)
            let error = #expect(throws: KafkaError.self) { try send(1) }
            #expect(error?.code == .timedOut)
            let orders = try TopicReader(clients, topic: clients.topics.orders, waitsForTransactions: true)
            // Not by offsets: newer embedded brokers also write markers.
            var sent = 0
            try orders.readAll { _ in sent += 1 }
            #expect(sent == 1)
        }
    }

    /// The lines of the outcomes.
    @discardableResult
    static func resend(_ clients: KafkaClients, _ arguments: [String]) throws -> [String] {
        var outcomes: [String] = []
        _ = try DeadLetterResend.parse(arguments).resend(clients) { outcomes.append($0) }
        return outcomes
    }

    /// The dead letters, once there are this many.
    static func letters(_ clients: KafkaClients, atLeast count: Int, _ deadline: Deadline) throws -> [DeadLetter] {
        while true {
            let found = try DeadLetterReader(clients).last(1000) { _ in true }
            if found.count >= count || deadline.isOver { return found }
        }
    }
}

/// Tests of resending that need a real broker.
@Suite(.serialized, .timeLimit(.minutes(3)), .onRealBroker) struct DeadLetterRealBrokerTests {
    @Test func aDeadLetterIsListedCorrectedAndSentOnce() async throws {
        let servers = try #require(realBroker)
        try await onThread {
            let site = try BrokerSite(servers, partitions: 4)
            let service = BackgroundGroup.service(site.service(), logger: .quiet)
            defer { service.stop() }
            try DeadLetterEndToEndTests.correctsALetter(site.clients)
        }
    }

    /// Of several concurrent senders one dies before its commit; in the end each letter was sent once.
    @Test func concurrentSendersSendEachLetterOnce() async throws {
        let servers = try #require(realBroker)
        let site = try await onThread { try BrokerSite(servers, partitions: 3) }
        let count = 250
        try await onThread {
            let service = BackgroundGroup.service(site.service(), logger: .quiet)
            defer { service.stop() }
            let producer = try site.clients.producer(timeout: .seconds(30))
            for number in 0..<count {
                try producer.produce(
                    topic: site.topics.orders, key: Array("store-\(number % 7)".utf8), value: Array("garbage \(number)".utf8)
                ) { _ in }
            }
            producer.poll(timeout: .seconds(1))
            let found = try DeadLetterEndToEndTests.letters(site.clients, atLeast: count, Deadline(after: .seconds(60)))
            #expect(found.count == count)
            // This one is never committed.
            let dead = try DeadLetterSender(site.clients)
            let command = try DeadLetterResend.parse(["--all", "--unchecked"])
            try dead.begin(found.prefix(5).map { try command.record(for: $0, value: nil, site.topics, partitionCount: 3) })
        }
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            for _ in 0..<4 { tasks.addTask { try await onThread { try resendAll(site.clients) } } }
            try await tasks.waitForAll()
        }
        try await onThread {
            let orders = try TopicReader(site.clients, topic: site.topics.orders, waitsForTransactions: true)
            var sent: [String: Int] = [:]
            try orders.readAll { record in
                if let from = DeadLetter(record).header(HeaderName.resentFrom) { sent[from, default: 0] += 1 }
            }
            #expect(sent.count == count)
            #expect(sent.values.allSatisfy { $0 == 1 })
        }
    }

    /// Sends all letters again. A fenced sender tries again, as its message says.
    private func resendAll(_ clients: KafkaClients) throws {
        let deadline = Deadline(after: .seconds(90))
        while !deadline.isOver {
            do {
                try DeadLetterEndToEndTests.resend(clients, ["--all", "--unchecked", "--yes"])
                return
            } catch { #expect((error as? Failure)?.status == .unavailable, "\(error)") }
        }
    }
}
