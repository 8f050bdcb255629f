import CBench
import Foundation
import JuiceDomain
import JuiceMessages
import JuiceService
import Kafka
import Logging

/// A program that a measurement compares. The raw value is its name for people.
enum Contender: String, CaseIterable {
    /// `juice serve`.
    case service
    /// The bare loop by Kafka's own recipe, with records as long as the service's answers: the baseline.
    case bare = "bare loop"
    /// The same without offsets in its transactions: the least that a journal can cost.
    case least = "no offsets"
}

/// Where a measurement takes place: the brokers, the processes under measurement, and topics and files that ``close()`` removes.
///
/// Use it on one thread: its calls block, and the processes end with that thread.
final class Site {
    let cluster: Cluster
    /// The topics that still have to be deleted.
    private(set) var topics: Set<String> = []

    private let options: BrokerOptions
    private let brokers: [String]
    private let admin: Admin
    /// The measured service.
    private let juice: String
    /// This executable, which also runs the bare loops.
    private let bench: String
    private let folder: URL
    /// Of the names of all topics and groups of this run.
    private let prefix: String
    private var children: [Child] = []
    private var fileCount = 0

    private static let timeout = Duration.seconds(30)

    /// Connects to the brokers.
    ///
    /// - Throws: ``BenchError`` if none answers.
    init(_ options: BrokerOptions) throws {
        guard let programs = Bundle.main.executableURL?.deletingLastPathComponent() else {
            throw BenchError("the path of this executable is unknown")
        }
        self.options = options
        juice = options.juice ?? programs.appendingPathComponent("juice").path
        // Of this name also where this code is part of the tests' executable.
        bench = programs.appendingPathComponent("bench").path
        cluster = try options.cluster.cluster
        admin = try Admin(configuration: cluster.configuration([:]), hooks: cluster.hooks)
        do throws(KafkaError) {
            brokers = try admin.metadata(topics: [], timeout: .seconds(10)).brokers
        } catch {
            throw BenchError("no Kafka broker answers at \(cluster.bootstrapServers): \(error.message)", status: 69)
        }
        let name = "bench-" + String(UInt32.random(in: 0...(.max)), radix: 36)
        prefix = "\(options.topicPrefix)\(name)."
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("juice-\(name)")
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    }

    /// A report without figures of a measurement here.
    func report(_ benchmark: String, _ settings: [String: Int]) throws -> Report {
        let child = try Child("juice", juice, ["--version"], log: makePath("log"))
        guard try waitForEnd(of: child) == 0 else { throw child.failure("does not tell its version") }
        let version = child.output.trimmingCharacters(in: .whitespacesAndNewlines)
        return Report(benchmark, on: Machine(brokers: brokers, juice: version), settings)
    }

    /// Ends the processes and removes the topics and files.
    func close() {
        for child in children { child.stop() }
        children = []
        delete(topics)
        try? FileManager.default.removeItem(at: folder)
    }

    /// Repeats `step`, which tells how far something has come, until it has reached `goal`.
    ///
    /// - Parameters:
    ///   - what: what is counted.
    ///   - child: who does it; nil is this process.
    ///   - patience: how long nothing may move.
    /// - Throws: ``Interrupted``, or ``BenchError`` if nothing moves any more.
    func follow(
        _ what: String, of child: Child? = nil, to goal: Int, patience: Duration = timeout, _ step: () throws -> Int
    ) throws {
        var (last, deadline) = (0, ContinuousClock.now + patience)
        while true {
            if process_is_interrupted() { throw Interrupted() }
            let done = try step()
            if done >= goal { return }
            try child?.check()
            if done > last { (last, deadline) = (done, .now + patience) }
            guard .now > deadline else { continue }
            let fault = "makes no progress at \(done) of \(goal) \(what)"
            throw child?.failure(fault) ?? BenchError("the benchmark \(fault)")
        }
    }
}

// MARK: - Topics

extension Site {
    /// Creates the topics of a service.
    ///
    /// - Parameter name: part of each topic's name.
    func makeTopics(_ name: String, partitions: Int) throws -> TopicNames {
        let names = TopicNames(prefix: "\(prefix)\(name).")
        try make(TopicPlan(names: names, partitionCount: partitions, replicationFactor: options.replicationFactor).topics)
        return names
    }

    /// Creates a topic with the broker's default settings.
    func makeTopic(_ name: String, partitions: Int) throws -> String {
        let topic = Admin.NewTopic(
            name: prefix + name, partitionCount: partitions, replicationFactor: options.replicationFactor)
        try make([topic])
        return topic.name
    }

    private func make(_ new: [Admin.NewTopic]) throws {
        topics.formUnion(new.map(\.name))
        _ = try admin.create(new, timeout: Self.timeout)
    }

    /// Writes `count` records, and returns once all are acknowledged.
    ///
    /// - Parameters:
    ///   - partition: nil is the one that owns the key's store.
    ///   - record: makes the record of a number; called once for each, in order.
    func fill(
        _ topic: String, partition: Int32? = nil, count: Int, _ record: (Int) -> (key: [UInt8], value: [UInt8])
    ) throws {
        let producer = try cluster.producer([
            "message.timeout.ms": "300000", "linger.ms": "50", "queue.buffering.max.messages": "200000",
            "queue.buffering.max.kbytes": "100000",
        ])
        var (next, written) = (0, 0)
        var failure: KafkaError?
        // The record for which there was no room in the producer's queue.
        var left: (key: [UInt8], value: [UInt8])?
        try follow("records of \(topic)", to: count) {
            var isFull = false
            for _ in 0..<4096 where next < count && !isFull {
                let (key, value) = left ?? record(next)
                do throws(KafkaError) {
                    try producer.produce(topic: topic, partition: partition, key: key, value: value) { result in
                        if case .failure(let error) = result { failure = error }
                        written += 1
                    }
                    (left, next) = (nil, next + 1)
                } catch {
                    guard error.code == .queueFull else { throw error }
                    (left, isFull) = ((key, value), true)
                }
            }
            producer.poll(timeout: isFull || next == count ? .milliseconds(20) : .zero)
            if let failure { throw failure }
            return written
        }
    }

    /// Deletes topics. The broker then also drops the committed offsets and the groups.
    func delete(_ names: some Sequence<String>) {
        let names = names.sorted()
        guard !names.isEmpty else { return }
        do throws(KafkaError) {
            try admin.delete(topics: names, timeout: Self.timeout)
            topics.subtract(names)
        } catch { note("bench: topics are left behind, \(names[0]) among them: \(error.message)") }
    }
}

// MARK: - Processes

extension Site {
    /// Starts a contender, in a group of its own.
    ///
    /// - Parameters:
    ///   - topics: those of a service, whose orders it reads.
    ///   - output: where it writes. The service writes to its own topics.
    ///   - answerBytes: the size of each value that a bare loop writes.
    ///   - initialStock: of each fruit in each store of a service.
    func start(
        _ contender: Contender, on topics: TopicNames, output: String, answerBytes: Int, initialStock: Int
    ) throws -> Child {
        if contender == .service { return try startService(topics, group: output, initialStock: initialStock) }
        return try start(
            "the bare loop", bench,
            [
                "bare-copy", "--input", topics.orders, "--output", output, "--group", output, "--answer-bytes", "\(answerBytes)",
            ] + (contender == .bare ? [] : ["--no-offsets"]), readyFile: makePath("ready"))
    }

    /// Starts `juice serve`.
    ///
    /// - Parameter initialStock: of each fruit; nil keeps the menu's.
    func startService(_ topics: TopicNames, group: String, initialStock: Int? = nil) throws -> Child {
        var arguments = [
            "serve", "--topic-prefix", String(topics.orders.dropLast("orders".count)), "--group", group, "--instance-id", "bench",
        ]
        if let initialStock, initialStock != Menu.standard.fruits.first?.initialStock {
            let path = makePath("menu.json")
            var menu = OutputBuffer()
            MenuFile.encode(try Menu.standard { _ in initialStock }, into: &menu)
            try Data(menu.bytes).write(to: URL(fileURLWithPath: path))
            arguments += ["--menu", path]
        }
        return try start("the service", juice, arguments, readyFile: makePath("ready"))
    }

    /// Starts the bare read of a topic.
    func startRead(of topic: String, partitions: Int) throws -> Child {
        try start("the bare read", bench, ["bare-read", "--topic", topic, "--partitions", "\(partitions)"])
    }

    private func start(_ name: String, _ executable: String, _ arguments: [String], readyFile: String? = nil) throws -> Child {
        let child = try Child(
            name, executable, arguments + options.cluster.arguments + (readyFile.map { ["--ready-file", $0] } ?? []),
            readyFile: readyFile, log: makePath("log"))
        children.append(child)
        return child
    }

    /// Waits until a process has reported to be ready.
    func waitUntilReady(_ child: Child, patience: Duration = timeout) throws {
        try follow("starts", of: child, to: 1, patience: patience) {
            usleep(1_000)
            return child.isReady ? 1 : 0
        }
    }

    /// Waits until a process ends, and tells its exit status, or the negated signal that killed it.
    func waitForEnd(of child: Child, patience: Duration = timeout) throws -> Int32? {
        try follow("ends", of: child, to: 1, patience: patience) {
            usleep(1_000)
            return child.end() == nil ? 0 : 1
        }
        return child.end()
    }

    /// Ends a process.
    func stop(_ child: Child) {
        child.stop()
        children.removeAll { $0 === child }
    }

    /// A new path in the site's folder.
    private func makePath(_ kind: String) -> String {
        fileCount += 1
        return folder.appendingPathComponent("\(fileCount).\(kind)").path
    }
}
