import ArgumentParser
import FaultyNetwork
import Foundation
import Kafka

/// The options of a run, and values derived from them.
struct Plan: ParsableArguments, Sendable {
    @Option(help: ArgumentHelp("The Kafka brokers, separated by commas.", valueName: "host:port")) var bootstrapServers: String
    @Option(help: "The number of rounds.") var rounds = 100
    @Option(help: ArgumentHelp("A shell command that restarts the broker.", valueName: "command")) var brokerRestart: String?

    @Option(
        help: ArgumentHelp(
            """
            A shell command that stops, kills and starts one of several brokers, run as `COMMAND stop ID`, `COMMAND kill ID` \
            and `COMMAND start ID`: two further disturbances. The report has the longest gaps in the partitions' answers.
            """, valueName: "command"))
    var brokerCommand: String?

    @Option(help: "The number of instances of the service.") var instances = 3
    @Option(help: "The number of clients that send commands.") var clients = 3
    @Option(help: ArgumentHelp("Commands per second of all clients together.", valueName: "count")) var rate = 500.0
    @Option(help: "The number of stores.") var stores = 40
    @Option(help: "Partitions of each topic.") var partitions = 8

    @Option(name: .customLong("session"), help: ArgumentHelp("The instances' session timeout.", valueName: "seconds"))
    var sessionSeconds = 15.0

    @Option(help: ArgumentHelp("The instances' --duplicate-window. (default: theirs)", valueName: "seconds"))
    var duplicateWindow: Int?

    @Option(help: ArgumentHelp("The instances' --duplicate-ids. (default: theirs)", valueName: "count")) var duplicateIds: Int?

    @Option(name: .customLong("seed"), help: "The seed of all random choices; the timing still varies. (default: random)")
    var givenSeed: UInt64?

    @Option(
        name: .customLong("juice"),
        help: ArgumentHelp("The `juice` to run. (default: the one beside this executable)", valueName: "path"))
    var juicePath: String?

    @Flag(
        help: """
            Run a rolling restart instead: restart each instance in turn, add one, and report the longest gaps in the \
            answers. With --broker-command, also stop, kill and start each broker in turn.
            """
    )
    var rolling = false

    @Flag(
        help: """
            At the end recreate the topics of orders and restocks under the running instances. Every partition must stop, \
            and go on after `juice anchor`. Then start a second group on the same topics: the first must end, and name it.
            """
    )
    var recreateTopics = false

    @Flag(help: "Put a proxy in front of the brokers that injects faults into the instances' requests.") var network = false

    @Option(
        help: ArgumentHelp(
            "The share of transactional requests that get a fault; frequent and other requests get fewer.", valueName: "percent"))
    var networkRate = 5.0

    @Option(
        help: ArgumentHelp("Inject faults only into these kinds of requests, such as EndTxn,Produce.", valueName: "kinds"),
        transform: kinds)
    var networkKinds: Set<ApiKey>?

    @Flag(help: "Keep the topics and logs.") var keep = false

    func validate() throws {
        for (name, value) in [
            ("--rounds", rounds), ("--instances", instances), ("--clients", clients), ("--stores", stores),
            ("--partitions", partitions),
        ] where value < 1 { throw ValidationError("\(name) must be at least 1") }
        guard rate > 0 else { throw ValidationError("--rate must be above 0") }
        guard (0...100).contains(networkRate) else { throw ValidationError("--network-rate must be from 0 to 100") }
        guard network || networkKinds == nil else { throw ValidationError("--network-kinds requires --network") }
        guard !recreateTopics || partitions >= 2 * (instances + 1) else {
            throw ValidationError("--recreate-topics requires a partition for each worker: raise --partitions")
        }
        guard sessionSeconds >= 6 else {
            throw ValidationError("--session must be at least 6: brokers allow no shorter one by default")
        }
    }

    private static func kinds(_ names: String) throws -> Set<ApiKey> {
        let known = Dictionary(uniqueKeysWithValues: FaultyNetwork.kinds.map { ($0.name.lowercased(), $0) })
        return Set(
            try names.split(separator: ",").map { name in
                if let kind = known[name.lowercased()] { return kind }
                throw ValidationError("there is no \(name); known are \(known.values.map(\.name).sorted().joined(separator: ", "))")
            })
    }
}

// MARK: - What follows

extension Plan {
    private static let randomSeed = UInt64.random(in: 0..<1_000_000)
    private static let number = UInt32.random(in: 1_000..<1_000_000)

    var seed: UInt64 { givenSeed ?? Self.randomSeed }

    /// The prefix of the names of this run's topics, group and folder.
    var prefix: String { "juice-torture-\(Self.number)." }

    var group: String { prefix + "group" }

    var session: Duration { .seconds(sessionSeconds) }

    /// The folder of the logs.
    var folder: URL { FileManager.default.temporaryDirectory.appendingPathComponent(String(prefix.dropLast())) }

    var juice: String { juicePath ?? product("juice") }

    /// Long enough for the session and then a transaction of a dead instance to time out.
    var recoveryTimeout: Duration { session + .seconds(50) }

    /// How long an instance may take to end on SIGTERM.
    var stopTimeout: Duration { network ? recoveryTimeout : .seconds(20) }

    /// The duplicate window, for the service and the audit.
    var windowArguments: [String] {
        (duplicateWindow.map { ["--duplicate-window", "\($0)s"] } ?? [])
            + (duplicateIds.map { ["--duplicate-ids", "\($0)"] } ?? [])
    }

    func topic(_ name: String) -> String { prefix + name }

    var allPartitions: Range<Int32> { 0..<Int32(partitions) }

    func partitions(of topic: String) -> [TopicPartition] {
        allPartitions.map { TopicPartition(topic: self.topic(topic), partition: $0) }
    }

    /// The configuration that all clients of this process share.
    var client: KafkaConfiguration {
        KafkaConfiguration([
            "bootstrap.servers": bootstrapServers, "client.id": "torture",
            // The run measures the service, not how fast these clients find a new leader.
            "reconnect.backoff.max.ms": "250", "topic.metadata.refresh.fast.interval.ms": "50",
        ])
    }

    /// The configuration of a consumer that reads committed records from the start.
    var reader: KafkaConfiguration {
        client.merging([
            "group.id": group, "isolation.level": "read_committed", "enable.auto.commit": "false",
            "enable.partition.eof": "true", "auto.offset.reset": "error", "fetch.wait.max.ms": "50",
            "fetch.error.backoff.ms": "50",
        ])
    }
}
