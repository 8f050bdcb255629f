import Foundation
import JuiceClient
import JuiceMaker
import JuiceMessages
import JuiceService
import Kafka

/// The environment of a measurement: a broker, the processes under measurement, and topics and a folder that ``close()`` removes.
///
/// Use it on one thread: its calls block, and the processes end with that thread.
package final class BenchSite {
    static let idleTimeout = Duration.seconds(30)

    let connection: Connection
    let machine: BenchMachine
    /// Receives the progress.
    let onProgress: (BenchProgress) -> Void
    /// The prefix of the names of all topics and groups of this run.
    let prefix: String

    private let admin: Admin
    private let executable: String
    private let folder: URL
    private let replicationFactor: Int?
    /// The settings file for the service.
    private let configFile: String?
    private let isInterrupted: () -> Bool
    /// The topics that still have to be deleted.
    private(set) var topicNames: Set<String> = []
    private var children: [BenchChild] = []
    private var fileCount = 0

    /// Connects to the broker.
    ///
    /// - Parameters:
    ///   - topicPrefix: the prefix of the created topics; the site appends a random name.
    ///   - replicationFactor: of these topics; nil leaves it to the broker.
    ///   - configFile: the settings file for the service under test.
    ///   - executable: the `juice` to measure; nil is this executable.
    ///   - onProgress: receives the progress.
    ///   - isInterrupted: whether the user wants to end the measurement.
    /// - Throws: `Failure` if no broker answers, or only an embedded one.
    package init(
        _ connection: Connection, topicPrefix: String = TopicNames.standardPrefix, replicationFactor: Int? = nil,
        configFile: String? = nil, executable: String? = nil, onProgress: @escaping (BenchProgress) -> Void,
        isInterrupted: @escaping () -> Bool
    ) throws(Failure) {
        self.connection = connection
        if case .embedded = connection.origin {
            throw Failure(
                .unavailable, "the broker at \(connection.bootstrapServers) is an embedded one, on which measurements mean nothing",
                hint: "set --bootstrap-servers to a real broker")
        }
        guard let executable = executable ?? Bundle.main.executablePath else {
            throw Failure(.software, "the path of this executable is unknown")
        }
        self.executable = executable
        self.onProgress = onProgress
        self.isInterrupted = isInterrupted
        self.configFile = configFile
        self.replicationFactor = replicationFactor
        let name = "bench-" + String(UInt32.random(in: 0...(.max)), radix: 36)
        prefix = topicPrefix + name + "."

        folder = FileManager.default.temporaryDirectory.appendingPathComponent("juice-\(name)")
        do {
            try FileManager.default.createDirectory(
                at: folder,
                withIntermediateDirectories: false,
                attributes: [.posixPermissions: 0o700]
            )
        } catch {
            throw Failure(.software, "the folder \(folder.path) cannot be created")
        }
        do throws(Failure) {
            admin = try connection.admin(reachedWithin: .seconds(10))
        } catch {
            try? FileManager.default.removeItem(at: folder)
            throw error
        }
        machine = BenchMachine(brokers: (try? admin.metadata(topics: [], timeout: .seconds(5)).brokers) ?? [])
    }

    /// Ends the processes and removes the topics, logs and other files.
    package func close() {
        for child in children { child.stop() }
        children = []
        delete(topics: topicNames)
        try? FileManager.default.removeItem(at: folder)
    }

    /// Throws if the user wants to end the measurement.
    func checkInterruption() throws(Interrupted) {
        if isInterrupted() { throw Interrupted() }
    }
}

// MARK: - Topics

extension BenchSite {
    /// Creates the topics of a service.
    ///
    /// - Parameter name: the name of the set of topics; part of each topic's name.
    func makeServiceTopics(_ name: String, partitions: Int) throws(Failure) -> TopicNames {
        let names = TopicNames(prefix: prefix + name + ".")
        let plan = TopicPlan(names: names, partitionCount: partitions, replicationFactor: replicationFactor)
        try make(plan.topics)
        return names
    }

    /// Creates one topic with the broker's default settings.
    func makeTopic(_ name: String, partitions: Int) throws(Failure) -> String {
        let topic = Admin.NewTopic(name: prefix + name, partitionCount: partitions, replicationFactor: replicationFactor)
        try make([topic])
        return topic.name
    }

    private func make(_ new: [Admin.NewTopic]) throws(Failure) {
        topicNames.formUnion(new.map(\.name))
        _ = try connection.ask { () throws(KafkaError) in try admin.create(new, timeout: .seconds(30)) }
    }

    /// Deletes topics. The broker then also drops the committed offsets and the groups.
    func delete(topics names: some Sequence<String>) {
        let names = names.sorted()
        guard !names.isEmpty else { return }
        do throws(KafkaError) {
            try admin.delete(topics: names, timeout: .seconds(30))
            topicNames.subtract(names)
        } catch { onProgress(.warning("topics are left behind, \(names[0]) among them: \(error.message)")) }
    }
}

// MARK: - Processes

extension BenchSite {
    /// Starts `juice serve` on these topics.
    ///
    /// - Parameter initialStock: of each fruit; nil keeps the menu's.
    func startService(_ topics: TopicNames, group: String, initialStock: Int? = nil) throws(Failure) -> BenchChild {
        let prefix = String(topics.orders.dropLast("orders".count))
        return try start(
            "the service",
            ["serve", "--topic-prefix", prefix, "--group", group, "--instance-id", "bench"] + (try menu(initialStock))
                + (configFile.map { ["--config", $0] } ?? []), readyFile: makePath("ready"))
    }

    private func menu(_ initialStock: Int?) throws(Failure) -> [String] {
        guard let initialStock, initialStock != Menu.standard.fruits.first?.initialStock else { return [] }
        return ["--menu", try BenchMenu.write(initialStock: initialStock, to: makePath("json"))]
    }

    /// Starts the bare loop from one topic to another.
    ///
    /// - Parameters:
    ///   - answerSize: the size of each written value, in bytes.
    ///   - sendsOffsets: whether each transaction sends the group's offsets, as Kafka's own recipe asks.
    func startBareLoop(
        from input: String,
        to output: String,
        group: String,
        answerSize: Int,
        sendsOffsets: Bool
    ) throws(Failure) -> BenchChild {
        try start(
            "the bare loop",
            [
                "bench", "bare-copy", "--input", input, "--output", output, "--group", group,
                "--answer-size", "\(answerSize)",
            ] + (sendsOffsets ? [] : ["--no-offsets"]),
            readyFile: makePath("ready")
        )
    }

    /// Starts the bare read of a topic.
    func startRead(of topic: String, partitions: Int) throws(Failure) -> BenchChild {
        try start("the bare read", ["bench", "bare-read", "--topic", topic, "--partitions", "\(partitions)"])
    }

    private func start(_ name: String, _ arguments: [String], readyFile: String? = nil) throws(Failure) -> BenchChild {
        let child = try BenchChild(
            name, executable: executable,
            arguments: arguments + ["--bootstrap-servers", connection.bootstrapServers]
                + (readyFile.map { ["--ready-file", $0] } ?? []), readyFile: readyFile, log: makePath("log"))
        children.append(child)
        return child
    }

    /// Ends a process.
    func stop(_ child: BenchChild) {
        child.stop()
        children.removeAll { $0 === child }
    }

    /// A new path in the site's folder.
    func makePath(_ kind: String) -> String {
        fileCount += 1
        return folder.appendingPathComponent("\(fileCount).\(kind)").path
    }

    /// Waits until a process has reported to be ready.
    func waitUntilReady(_ child: BenchChild, timeout: Duration = idleTimeout) throws {
        let deadline = Deadline(after: timeout)
        while !child.isReady {
            try checkInterruption()
            try child.check()
            if deadline.isOver { throw child.failure("is not ready after \(timeout.inSeconds)") }
            Pause.briefly()
        }
    }
}
