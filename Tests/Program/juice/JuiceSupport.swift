import Dispatch
import Foundation
import JuiceDomain
import JuiceMessages
import JuiceService
import Kafka
import Logging
import Synchronization
import TestSupport
import Testing

@testable import juice

/// The failure that a user would be shown for an error of a command.
func failure(_ error: (any Error)?) -> Failure? {
    guard let error, !(error is Failure) else { return error as? Failure }
    return Failure.Status(rawValue: JuiceCommand.exitCode(for: error).rawValue).map {
        Failure($0, JuiceCommand.message(for: error))
    }
}

extension KafkaClients {
    /// Clients that wait for up to a minute, without a log.
    static func patient(_ servers: String, properties: [String: String] = [:], timeout: Duration = .seconds(60)) -> KafkaClients {
        KafkaClients(
            bootstrapServers: servers, capabilities: .embedded, properties: properties, timeout: timeout,
            logger: EmbeddedService.quiet)
    }

    /// The same with another log.
    func logging(to logger: Logger) -> KafkaClients {
        KafkaClients(
            bootstrapServers: bootstrapServers, capabilities: capabilities, topics: topics, properties: properties,
            timeout: timeout, logger: logger)
    }
}

extension TopicReader {
    /// Reads everything up to the ends in ``watermarks``, in order within each partition.
    func readAll(_ body: (ConsumedRecord) throws(Failure) -> Void) throws(Failure) { try read(watermarks, body) }
}

extension BackgroundGroup {
    /// Runs the service in the background.
    static func service(_ configuration: ServiceConfiguration, logger: Logger) -> BackgroundGroup {
        BackgroundGroup([OrderService(configuration: configuration, logger: logger)])
    }
}

/// Runs an embedded broker with the service during a body.
enum EmbeddedService {
    static var quiet: Logger { Logger.lines(level: .critical) { _ in } }

    static func run(
        partitions: Int = 4, runFiles: RunFiles? = nil, _ body: @escaping @Sendable (KafkaClients) throws -> Void
    ) async throws {
        try await onThread {
            let embedded = try EmbeddedKafka(topics: TopicNames(), partitions: partitions, runFiles: runFiles, logger: quiet)
            defer { embedded.stop() }
            let service = BackgroundGroup.service(
                ServiceConfiguration(bootstrapServers: embedded.bootstrapServers, instanceID: "test", capabilities: .embedded),
                logger: quiet)
            defer { service.stop() }
            try body(.patient(embedded.bootstrapServers))
        }
    }
}

/// A bot on a thread of its own.
final class RunningBot: Sendable {
    let log = LogLines()
    private let end = StopSignal()
    private let failure = Mutex<(any Error)?>(nil)
    private let hasEnded = DispatchSemaphore(value: 0)

    init(_ clients: KafkaClients, _ plan: RestockBotPlan) {
        Thread { [self] in
            do {
                try plan.run(clients.logging(to: log.logger)) { [self] in end.isRequested }
            } catch { failure.withLock { $0 = error } }
            hasEnded.signal()
        }.start()
    }

    /// Stops the bot, waits until it has ended, and throws its error if it failed.
    func stop() throws {
        end.request()
        try wait()
    }

    func wait() throws {
        hasEnded.wait()
        if let error = failure.withLock({ $0 }) { throw error }
    }

    /// Whether it has sent this many refills before the deadline.
    func waits(for count: Int, _ deadline: Deadline) -> Bool {
        while log.refills.count < count, !deadline.isOver { log.waitForFirst(within: deadline.remaining) }
        return log.refills.count >= count
    }
}

/// Sends commands and reads their answers and the stock.
struct TestClient {
    let clients: KafkaClients
    let deadline: Deadline

    init(_ clients: KafkaClients, _ deadline: Deadline) { (self.clients, self.deadline) = (clients, deadline) }

    func order(_ juice: String, quantity: Int = 1, store: String) throws -> Answer {
        try answer(.order(id: UUID().uuidString, store: store, juice: juice, quantity: quantity))
    }

    /// Sends a command and waits for its answer.
    func answer(_ command: OutgoingCommand) throws -> Answer {
        let answers = try clients.newAnswers()
        #expect(try clients.send(command, deadline: deadline).delivery.offset != nil)
        return try #require(try answers.answer(to: command, deadline: deadline)).answer
    }

    /// The levels of the stores' fruits, or of one store's.
    func stock(of store: String? = nil) throws -> [String: [String: Int]] {
        let reader = try StockReader(clients, store: store)
        return Dictionary(
            uniqueKeysWithValues: reader.latest.map { entry in
                (entry.record.store, Dictionary(uniqueKeysWithValues: entry.record.stock.map { ($0.fruit, $0.amount) }))
            })
    }

    func level(of fruit: String, in store: String) throws -> Int? { try stock(of: store)[store]?[fruit] }

    /// Whether a fruit has this level before the deadline.
    func waits(for level: Int, of fruit: String, in store: String) throws -> Bool {
        while try self.level(of: fruit, in: store) != level { if deadline.isOver { return false } }
        return true
    }
}

extension Answer {
    /// The answer in a record, as the service writes it.
    init(json: String) throws { self = try Array(json.utf8).withUnsafeBytes { try AnswerDecoder().decode($0) } }

    var isMade: Bool {
        if case .juiceMade = outcome { true } else { false }
    }
}

/// Keeps log lines, without their time and level.
final class LogLines: Sendable {
    private let lines = Mutex<[String]>([])
    private let arrivals = DispatchSemaphore(value: 0)

    var all: [String] { lines.withLock { $0 } }

    /// The ids of the refills that a bot has sent.
    var refills: [String] { all.compactMap { $0.firstMatch(of: /^refill .*id=(\S+)/).map { String($0.1) } } }

    func waitForFirst(within timeout: Duration) {
        _ = arrivals.wait(timeout: .now() + timeout / .seconds(1))
    }

    var logger: Logger {
        Logger.lines(level: .notice) { [self] line in
            lines.withLock { $0.append(line.split(separator: " ", maxSplits: 2).last.map(String.init) ?? "") }
            arrivals.signal()
        }
    }
}
