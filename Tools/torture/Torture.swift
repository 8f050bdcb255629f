import ArgumentParser
import Foundation

/// The root of the command line.
@main
struct Torture: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "torture",
        abstract: "Kills, freezes and rescales the service on a real broker, and audits its answers.",
        discussion: """
            It creates its own topics, runs several `juice serve` on them, and sends orders and restocks through \
            clients with different partitioners, some of them repeatedly. Each round disturbs the service once. At \
            the end it reads all topics and checks them against the contract.

            With --network the instances reach the brokers through a proxy in this process, which holds back, drops, \
            delays and replays single requests by their kind. Each broker gets a listener on 127.0.0.1, and responses \
            are rewritten to name the listeners; the brokers need no configuration. The connections use neither TLS \
            nor SASL.

            Exit status: 0 the contract was kept, 1 it was violated, 70 the torture itself failed, 130 interrupted.

            Example:
              torture --bootstrap-servers 127.0.0.1:9092 --rounds 20 \\
                --broker-restart 'systemctl restart kafka'
              torture --bootstrap-servers 127.0.0.1:9092,127.0.0.1:9093 --rounds 20 --network \\
                --network-kinds EndTxn,TxnOffsetCommit
            """
    )

    @Option(help: ArgumentHelp("The Kafka brokers, separated by commas.", valueName: "host:port"))
    var bootstrapServers: String

    @Option(help: "The number of rounds.")
    var rounds = 100

    @Option(
        help: ArgumentHelp(
            "A shell command that restarts the broker: a further disturbance.",
            valueName: "command"
        )
    )
    var brokerRestart: String?

    @Option(
        help: ArgumentHelp(
            """
            A shell command that stops, kills and starts one of several brokers, run as `COMMAND stop ID`, `COMMAND kill ID` \
            and `COMMAND start ID`: two further disturbances. The report has the longest gaps in the partitions' answers.
            """,
            valueName: "command"
        )
    )
    var brokerCommand: String?

    @Option(help: "The number of instances of the service.")
    var instances = 3

    @Option(help: "The number of clients that send commands.")
    var clients = 3

    @Option(help: ArgumentHelp("Commands per second of all clients together.", valueName: "count"))
    var rate = 500.0

    @Option(help: "The number of stores.")
    var stores = 40

    @Option(help: "Partitions of each topic.")
    var partitions = 8

    @Option(help: ArgumentHelp("The instances' session timeout.", valueName: "seconds"))
    var session = 15.0

    @Option(help: ArgumentHelp("The instances' --duplicate-window. (default: theirs)", valueName: "seconds"))
    var duplicateWindow: Int?

    @Option(help: ArgumentHelp("The instances' --duplicate-ids. (default: theirs)", valueName: "count"))
    var duplicateIds: Int?

    @Option(
        help: "The seed of all random choices; the timing still varies. (default: random)"
    )
    var seed: UInt64?

    @Option(
        help: ArgumentHelp("The `juice` to run. (default: the one beside this executable)", valueName: "path")
    )
    var juice: String?

    @Option(
        help: ArgumentHelp(
            """
            With --rolling: the `juice` of an earlier version. The instances begin with it, are upgraded one after the \
            other, and downgraded again beside one that is not.
            """,
            valueName: "path"
        )
    )
    var juiceBefore: String?

    @Flag(help: "Send no repeats, and every record to its store's partition, to isolate faults.")
    var plain = false

    @Flag(
        help: """
            Run a rolling restart instead: restart each instance in turn, add one, and report the longest gaps in the \
            answers. With --broker-command, also stop, kill and start each broker in turn.
            """
    )
    var rolling = false

    @Flag(help: "Put a proxy in front of the brokers that injects faults into the instances' requests.")
    var network = false

    @Option(
        help: ArgumentHelp(
            "The share of transactional requests that get a fault; frequent and other requests get fewer.",
            valueName: "percent"
        )
    )
    var networkRate = 5.0

    @Option(
        help: ArgumentHelp(
            "Inject faults only into these kinds of requests, such as EndTxn,TxnOffsetCommit.",
            valueName: "kinds"
        )
    )
    var networkKinds: String?

    @Flag(help: "Keep the topics and logs.")
    var keep = false

    func validate() throws {
        for (name, value) in [
            ("--rounds", rounds), ("--instances", instances), ("--clients", clients), ("--stores", stores),
            ("--partitions", partitions),
        ] where value < 1 {
            throw ValidationError("\(name) must be at least 1")
        }
        guard rate > 0 else { throw ValidationError("--rate must be above 0") }
        guard (0...100).contains(networkRate) else {
            throw ValidationError("--network-rate must be from 0 to 100")
        }
        guard network || networkKinds == nil else {
            throw ValidationError("--network-kinds requires --network")
        }
        guard rolling || juiceBefore == nil else {
            throw ValidationError("--juice-before requires --rolling")
        }
        _ = try kinds
        guard session >= 6 else {
            throw ValidationError("--session must be at least 6: brokers allow no shorter one by default")
        }
    }

    func run() throws {
        // A broker that closes its connection must not end the process.
        signal(SIGPIPE, SIG_IGN)
        Interruption.install()
        do {
            let verdict = try TortureRun(plan: plan).run()
            throw ExitCode(verdict ? 0 : 1)
        } catch is Interrupted {
            Console.line("torture: interrupted")
            throw ExitCode(130)
        } catch let error as TortureError {
            Console.line("torture: \(error.description)")
            throw ExitCode(70)
        }
    }

    /// The kinds in --network-kinds; nil is all.
    private var kinds: Set<ApiKey>? {
        get throws {
            guard let networkKinds else { return nil }
            let known = ApiKey.transactional.union(ApiKey.session)
            let keys = try networkKinds.split(separator: ",").map { name in
                guard let key = ApiKey(name: String(name)), known.contains(key) else {
                    let names = known.map(\.description).sorted().joined(separator: ", ")
                    throw ValidationError("--network-kinds: there is no \(name); known are \(names)")
                }
                return key
            }
            return Set(keys)
        }
    }

    private var plan: Plan {
        let beside = URL(fileURLWithPath: CommandLine.arguments.first ?? "").deletingLastPathComponent()
        return Plan(
            bootstrapServers: bootstrapServers,
            rounds: rounds,
            brokerRestart: brokerRestart,
            brokerCommand: brokerCommand,
            instances: instances,
            clients: clients,
            rate: rate,
            stores: stores,
            partitions: partitions,
            session: .milliseconds(Int(session * 1_000)),
            duplicateWindow: duplicateWindow,
            duplicateIDs: duplicateIds,
            seed: seed ?? UInt64.random(in: 0..<1_000_000),
            juice: juice.map { URL(fileURLWithPath: $0) } ?? beside.appendingPathComponent("juice"),
            juiceBefore: juiceBefore.map { URL(fileURLWithPath: $0) },
            isPlain: plain,
            isRolling: rolling,
            network: network ? NetworkPlan(rate: networkRate, kinds: (try? kinds) ?? nil) : nil,
            keeps: keep
        )
    }
}
