import ArgumentParser
import Foundation

/// The root of the command line.
@main
struct Torture: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "torture",
        abstract: "Kills, freezes and crowds the service on a real broker, and audits what it answered.",
        discussion: """
            It makes topics of its own, runs several `juice serve` on them, and sends orders and restocks through \
            clients that place them differently and repeat some. Each round does one bad thing to the service. In the \
            end it reads all topics and holds them against the contract.

            With --network the instances reach the brokers through a proxy in this process, which holds back, cuts, delays \
            and repeats single requests by their kind. Each broker gets a port of the proxy's on 127.0.0.1, and the \
            brokers' answers are rewritten to name those; nothing has to be set up at the brokers. The connections are \
            plain: neither TLS nor SASL.

            Exit status: 0 the contract was kept, 1 it was not, 70 the torture itself failed, 130 interrupted.

            Example:
              torture --bootstrap-servers 127.0.0.1:9092 --rounds 20 \\
                --broker-restart 'systemctl restart kafka'
              torture --bootstrap-servers 127.0.0.1:9092,127.0.0.1:9093 --rounds 20 --network \\
                --network-kinds EndTxn,TxnOffsetCommit
            """
    )

    @Option(help: ArgumentHelp("Where Kafka is: one broker or several, with commas.", valueName: "host:port"))
    var bootstrapServers: String

    @Option(help: "How many bad things to do.")
    var rounds = 100

    @Option(
        help: ArgumentHelp(
            "A shell command that restarts the broker: one more bad thing.",
            valueName: "command"
        )
    )
    var brokerRestart: String?

    @Option(
        help: ArgumentHelp(
            """
            A shell command that stops, kills and starts one broker of several, run as `COMMAND stop ID`, `COMMAND kill ID` \
            and `COMMAND start ID`: two more bad things. The report tells the longest gap in each partition's answers.
            """,
            valueName: "command"
        )
    )
    var brokerCommand: String?

    @Option(help: "How many instances of the service to run.")
    var instances = 3

    @Option(help: "How many clients send commands.")
    var clients = 3

    @Option(help: ArgumentHelp("Commands a second, all clients together.", valueName: "count"))
    var rate = 500.0

    @Option(help: "How many stores there are.")
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
        help: "The same number does the same things, though not at the same moments. (default: by chance)"
    )
    var seed: UInt64?

    @Option(help: ArgumentHelp("The command to run. (default: the one beside this one)", valueName: "path"))
    var juice: String?

    @Flag(help: "Send no repeats and every record to its store's partition, to tell faults apart.")
    var plain = false

    @Flag(
        help: """
            Instead of bad things, the ordinary one: restart each instance in turn, add one more, and tell the longest gaps \
            in the answers. With --broker-command, also stop, kill and start each broker in turn.
            """
    )
    var rolling = false

    @Flag(help: "Lead the instances through a proxy that does bad things to their requests.")
    var network = false

    @Option(
        help: ArgumentHelp(
            "How many of the transactional requests something is done to; of others fewer. More where few are sent.",
            valueName: "percent"
        )
    )
    var networkRate = 5.0

    @Option(
        help: ArgumentHelp(
            "Hold to these kinds of requests, such as EndTxn,TxnOffsetCommit.",
            valueName: "kinds"
        )
    )
    var networkKinds: String?

    @Flag(help: "Leave topics and logs in place.")
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
            throw ValidationError("--network-kinds says what --network does: give both")
        }
        _ = try kinds
        guard session >= 6 else {
            throw ValidationError("--session must be at least 6: brokers allow no shorter one by default")
        }
    }

    func run() throws {
        // A broker that goes away must not end the process.
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

    /// What --network-kinds names; nil for all.
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
            isPlain: plain,
            isRolling: rolling,
            network: network ? NetworkPlan(rate: networkRate, kinds: (try? kinds) ?? nil) : nil,
            keeps: keep
        )
    }
}
