import Foundation
import JuiceDomain
import JuiceMessages
import Kafka
import MessageSamples

/// Where a measurement takes place: the brokers, and topics and files that ``close()`` removes.
///
/// Use it on one thread: its calls block, and the processes that it starts end with that thread.
final class Site {
    let cluster: BenchCluster
    /// The topics that still have to be deleted.
    private(set) var topics: Set<String> = []

    private let options: BrokerOptions
    private let brokers: [String]
    private let admin: Admin
    /// The path of the measured service.
    private let juice: String
    private let folder: URL
    /// The prefix of all topic and group names of this run.
    private let prefix: String
    private var fileCount = 0

    /// How long to wait for brokers and processes.
    static let patience = Duration.seconds(30)

    /// Connects to the brokers. Throws ``ToolError`` if none answers.
    init(_ options: BrokerOptions) throws {
        self.options = options
        juice = options.juice ?? product("juice")
        cluster = try BenchCluster(options.cluster)
        admin = try Admin(configuration: cluster.configuration(), hooks: .silent)
        do throws(KafkaError) {
            brokers = try admin.metadata(topics: [], timeout: .seconds(10)).brokers.map(\.address)
        } catch {
            throw ToolError("no Kafka broker answers at \(cluster.bootstrapServers): \(error.message)", status: 69)
        }
        let name = "bench-" + String(UInt32.random(in: 0...(.max)), radix: 36)
        prefix = "\(options.topicPrefix)\(name)."
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("juice-\(name)")
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    }

    /// Removes the topics and files.
    func close() {
        delete(topics)
        try? FileManager.default.removeItem(at: folder)
    }

    /// An empty report on a measurement at this site.
    func report(_ benchmark: String, _ settings: [String: Int]) throws -> Report {
        let version = try runJuice(["--version"]).trimmingCharacters(in: .whitespacesAndNewlines)
        return Report(benchmark, on: Machine(brokers: brokers, juice: version), settings)
    }

    private func runJuice(_ arguments: [String]) throws -> String {
        let (status, output) = try Child.run(juice, arguments)
        guard status == 0 else { throw ToolError("juice \(arguments.joined(separator: " ")) fails:\n\(output)") }
        return output
    }

    /// A new path in the site's folder.
    private func makePath(_ kind: String) -> String {
        fileCount += 1
        return folder.appendingPathComponent("\(fileCount).\(kind)").path
    }

    // MARK: Topics

    /// Creates the topics of a service, with `name` in their prefix.
    func makeTopics(_ name: String, partitions: Int) throws -> TopicNames {
        let names = TopicNames(prefix: "\(prefix)\(name).")
        topics.formUnion(names.all)
        let replication = options.replicationFactor.map { ["--replication-factor", "\($0)"] } ?? []
        _ = try runJuice(
            ["topics", "create", "--topic-prefix", names.prefix, "--partitions", "\(partitions)"] + replication
                + options.cluster.arguments)
        return names
    }

    /// Creates a topic with the broker's default settings.
    func makeTopic(_ name: String, partitions: Int) throws -> String {
        topics.insert(prefix + name)
        let topic = Admin.NewTopic(name: prefix + name, partitionCount: partitions, replicationFactor: options.replicationFactor)
        _ = try admin.create([topic], timeout: Self.patience)
        return topic.name
    }

    /// Deletes topics. The broker then also drops the committed offsets and the groups.
    func delete(_ names: some Sequence<String>) {
        let names = names.sorted()
        guard !names.isEmpty else { return }
        do throws(KafkaError) {
            try admin.delete(topics: names, timeout: Self.patience)
            topics.subtract(names)
        } catch { note("bench: topics are left behind, \(names[0]) among them: \(error.message)") }
    }

    /// Writes `count` records, each made from its number, and waits until all are acknowledged. Without a given partition, a record
    /// goes to the one that owns its store.
    func fill(_ topic: String, partition: Int32? = nil, count: Int, _ record: (Int) -> (key: [UInt8], value: [UInt8])) throws {
        let producer = try cluster.producer([
            "message.timeout.ms": "300000", "linger.ms": "50", "queue.buffering.max.messages": "200000",
            "queue.buffering.max.kbytes": "100000",
        ])
        var next = 0
        var written = 0
        var failure: KafkaError?
        // The record that did not fit into the producer's queue.
        var left: (key: [UInt8], value: [UInt8])?
        try follow("records of \(topic)", to: count) {
            var isFull = false
            for _ in 0..<4096 where next < count && !isFull {
                let (key, value) = left ?? record(next)
                do throws(KafkaError) {
                    try producer.produce(topic: topic, partition: partition, key: key, value: value) { result in
                        switch result {
                        case .success: written += 1
                        case .failure(let error): failure = error
                        }
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

    // MARK: Processes

    /// Starts a contender, in a group of its own, on the orders of these topics. A bare loop writes values of `answerBytes` to the
    /// output, a peer its answers; the service writes to its own topics, and has these options. The stores of both begin with the
    /// initial stock of each fruit.
    func start(
        _ contender: Contender, on topics: TopicNames, output: String, answerBytes: Int, initialStock: Int,
        serving options: [String] = []
    ) throws -> Child {
        let place = ["--input", topics.orders, "--output", output, "--group", output]
        func startLoop(_ options: [String] = []) throws -> Child {
            let arguments = ["bench", "bare-copy"] + place + ["--answer-bytes", "\(answerBytes)"] + options
            return try start("the bare loop", product("lab"), arguments)
        }
        return switch contender {
        case .service: try startService(topics, group: output, initialStock: initialStock, options)
        case .bare: try startLoop()
        case .least: try startLoop(["--no-offsets"])
        case .peer(let name, let command):
            // The shell becomes the program: the processor time of its children would not count.
            try start(
                name, "/bin/sh",
                ["-c", "exec \(command) \"$@\"", name] + place + ["--menu", try makeMenu(initialStock: initialStock)])
        }
    }

    /// Makes sure that a contender's answers to generated orders are right, or throws ``ToolError``. The loops in C do not answer.
    func judge(_ contender: Contender, _ results: String, orders: Int, stores: Int, initialStock: Int) throws {
        guard contender == .service || contender.isPeer else { return }
        let judge = try Judge(contender.name, orders: orders, stores: stores, initialStock: initialStock)
        try judge.judge(results, on: cluster)
    }

    /// Starts `juice serve`, with the menu's initial stock of each fruit or another.
    func startService(_ topics: TopicNames, group: String, initialStock: Int? = nil, _ options: [String] = []) throws -> Child {
        var arguments = ["serve", "--topic-prefix", topics.prefix, "--group", group, "--instance-id", "bench"] + options
        if let initialStock, initialStock != Fruit.defaultInitialStock {
            arguments += ["--menu", try makeMenu(initialStock: initialStock)]
        }
        return try start("the service", juice, arguments)
    }

    /// A file with the standard menu, and another initial stock of each fruit.
    private func makeMenu(initialStock: Int) throws -> String {
        let path = makePath("menu.json")
        var menu = OutputBuffer()
        MenuFile.encode(try Menu.standard { _ in initialStock }, into: &menu)
        try Data(menu.bytes).write(to: URL(fileURLWithPath: path))
        return path
    }

    /// Starts the bare read of a topic.
    func startRead(of topic: String, partitions: Int) throws -> Child {
        try start("the bare read", product("lab"), ["bench", "bare-read", "--topic", topic, "--partitions", "\(partitions)"])
    }

    private func start(_ name: String, _ executable: String, _ arguments: [String]) throws -> Child {
        try Child(name, executable, arguments + options.cluster.arguments, log: makePath("log"))
    }
}

extension TopicNames {
    fileprivate var prefix: String { String(orders.dropLast("orders".count)) }
}

extension Child {
    /// Waits until a contender has logged that it reads its partitions.
    func waitUntilReady(patience: Duration = Site.patience) throws {
        let isInTime = try wait(for: patience, every: .milliseconds(1)) {
            try check()
            return output.contains("ready: ")
        }
        if !isInTime { throw failure("does not get ready") }
    }
}

/// Repeats `step`, which returns the progress of a child or of this process, until it reaches `goal`. Throws ``ToolError`` if there
/// is no more progress.
func follow(_ what: String, of child: Child? = nil, to goal: Int, _ step: () throws -> Int) throws {
    var (last, deadline) = (0, ContinuousClock.now + Site.patience)
    while true {
        try checkInterruption()
        let done = try step()
        if done >= goal { return }
        try child?.check()
        if done > last { (last, deadline) = (done, .now + Site.patience) }
        guard .now > deadline else { continue }
        let fault = "makes no progress at \(done) of \(goal) \(what)"
        throw child?.failure(fault) ?? ToolError("the benchmark \(fault)")
    }
}
