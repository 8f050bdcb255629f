import ArgumentParser
import CLab
import FaultyNetwork
import Foundation
import JuiceDomain

/// The command line.
struct Torture: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "torture", abstract: "Kills, freezes and rescales the service on a real broker, and audits its answers.",
        discussion: """
            It creates its own topics, runs several `juice serve` on them, and sends orders and restocks through \
            clients with different partitioners, some of them repeatedly. Each round disturbs the service once. Some \
            delete the consumer group or reset its offsets, while its members are dead or frozen. At the end it reads \
            all topics and checks them against the contract.

            With --network the instances reach the brokers through a proxy in this process, which holds back, drops, \
            delays and replays single requests by their kind. Each broker gets a listener on 127.0.0.1, and responses \
            are rewritten to name the listeners; the brokers need no configuration. The connections use neither TLS \
            nor SASL.

            Exit status: 0 the contract was kept, 1 it was violated, 70 the torture itself failed, 130 interrupted.

            Example:
              lab torture --bootstrap-servers 127.0.0.1:9092 --rounds 20 --recreate-topics \\
                --broker-restart 'systemctl restart kafka'
              lab torture --bootstrap-servers 127.0.0.1:9092,127.0.0.1:9093 --rounds 20 --network \\
                --network-kinds EndTxn,Produce
            """
    )

    @OptionGroup var plan: Plan

    func run() throws {
        process_catch_signals()
        let cluster = try Cluster(plan: plan)
        var isSound = false
        defer {
            if isSound || process_is_interrupted(), !plan.keep {
                cluster.deleteTopics()
                try? FileManager.default.removeItem(at: plan.folder)
            }
        }
        try FileManager.default.createDirectory(at: plan.folder, withIntermediateDirectories: true)
        Console.line("torture: seed \(plan.seed), topics \(plan.prefix)*, logs in \(plan.folder.path)")
        isSound = try torture(cluster)
        if isSound { return }
        Console.line("The topics \(plan.prefix)* and the logs in \(plan.folder.path) are kept.")
        throw ExitCode.failure
    }

    /// Runs everything and prints the report. Returns whether the contract was kept and the service answered again after each
    /// round.
    private func torture(_ cluster: Cluster) throws -> Bool {
        var network: FaultyNetwork?
        if plan.network {
            let random = SeededGenerator(seed: plan.seed &* 13 &+ 5)
            network = FaultyNetwork(rate: plan.networkRate, kinds: try plan.faultyKinds, random: random)
        }
        let brokers = try cluster.brokers()
        guard let servers = network.map({ $0.listen(inFrontOf: brokers) }) ?? plan.bootstrapServers else {
            throw ToolError("no proxy for \(brokers): it is no list of host:port, or no port is free")
        }
        let fleet = Fleet(plan: plan, bootstrapServers: servers, cluster: cluster, network: network)
        defer { fleet.killAll() }
        try cluster.createTopics()
        for _ in 0..<plan.instances { try fleet.add().start() }
        guard try wait(for: plan.recoveryTimeout, until: { fleet.instances.allSatisfy(\.isReady) }) else {
            throw ToolError("the instances do not get ready; their logs are in \(plan.folder.path)")
        }
        let bed = TestBed(
            plan: plan, cluster: cluster, fleet: fleet, watch: AnswerWatch(plan: plan), load: Load(plan: plan), network: network)
        defer { bed.watch.stop() }
        guard try bed.awaitAnswers(madeAfter: 0).all != nil else {
            throw ToolError("not every partition answers; the logs are in \(plan.folder.path)")
        }
        network?.resumeFaults()
        let summary = try plan.rolling ? RollingRestart(bed).run() : Rounds(bed).run()
        network?.pauseFaults()
        try bed.finish()
        let isSound = try bed.judge(summary, as: plan.rolling ? "rolling restart" : "torture: \(plan.rounds.counted("round"))")
        return try (!plan.recreateTopics || RecreatedTopics(bed).run()) && isSound
    }
}

/// The parts of a torture run, and its problems other than violations of the contract.
final class TestBed {
    let plan: Plan
    let cluster: Cluster
    let fleet: Fleet
    let watch: AnswerWatch
    let load: Load
    /// The proxy between instances and brokers, if there is one.
    let network: FaultyNetwork?
    private(set) var problems: [String] = []
    /// The beginning of each line of output and of each problem: the round.
    var label = ""

    init(plan: Plan, cluster: Cluster, fleet: Fleet, watch: AnswerWatch, load: Load, network: FaultyNetwork?) {
        (self.plan, self.cluster, self.fleet) = (plan, cluster, fleet)
        (self.watch, self.load, self.network) = (watch, load, network)
    }

    func print(_ text: String) { Console.line(label + text) }

    /// Records a problem, such as a service that never answered again.
    func report(problem: String) {
        problems.append(label + problem)
        print(problem)
    }

    /// Reports crashed instances, and throws if the torture itself no longer works.
    func check() throws {
        fleet.collectCrashes().forEach(report)
        if let failure = load.failure ?? watch.state.failure { throw ToolError(failure) }
    }

    /// Waits for an answer from each partition, written after a time in milliseconds since 1970.
    func awaitAnswers(madeAfter: Int64) throws -> AnswerWatch.Expectation {
        watch.expect(from: Set(plan.allPartitions), madeAfter: madeAfter)
        return try awaitExpected()
    }

    /// Waits for the answers that the watch expects, and returns those that came in time.
    func awaitExpected() throws -> AnswerWatch.Expectation {
        try wait(for: plan.recoveryTimeout, through: network) { watch.state.expectation.all != nil }
        return watch.state.expectation
    }

    /// Ends the load, lets the service answer everything, and stops it.
    func finish() throws {
        label = ""
        Console.status("waiting for the last answers")
        try load.stop()
        // Crashed instances then count as resting, and are started with the others.
        try check()
        for instance in fleet.resting { try instance.start() }
        let isDrained = try wait(for: plan.recoveryTimeout * 2) { (try? cluster.isDrained()) ?? false }
        if !isDrained { report(problem: "by the group's offsets not all commands are processed") }
        try check()
        for instance in fleet.instances where instance.isRunning {
            if let problem = try instance.stop() { report(problem: problem) }
        }
        network?.problems.forEach(report)
    }

    /// Further faults are counted but not shown: one cause often leads to many.
    private static let mostShown = 50

    /// Audits the topics, prints the findings below the summary, and returns whether all is well.
    func judge(_ summary: [String], as title: String) throws -> Bool {
        Console.status("auditing")
        let audited = try cluster.juice(["audit", "--json"] + plan.windowArguments)
        guard let audit = try? JSONDecoder().decode(AuditReport.self, from: Data(audited.output.utf8)) else {
            throw ToolError("juice audit fails: \(audited.output)")
        }
        for line in summary + (network.map { table($0.faultTable) + [$0.power] } ?? []) { Console.line(line) }
        Console.line(audit.counts.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }.joined(separator: ", "))
        Console.line("the partitions had \(audit.owners.count.counted("owner")) one after the other")
        for violation in audit.violations.prefix(Self.mostShown) { Console.line(violation.description) }
        if audit.violations.count > Self.mostShown { Console.line("and \(audit.violations.count - Self.mostShown) more") }
        problems.forEach(Console.line)
        // All instances have stopped, so commands that the audit counts as open are never answered.
        let missing = audit.missing + audit.counts["open", default: 0]
        Console.line(
            "\(title), \(audit.counts["commands", default: 0].counted("command")), \(missing) missing, "
                + "\(audit.doubled) doubled, \(audit.wrong) wrong"
                + (problems.isEmpty ? "" : ", \(problems.count.counted("problem"))"))
        return missing + audit.doubled + audit.wrong + problems.count == 0
    }
}

/// The output of `juice audit --json`.
private struct AuditReport: Decodable {
    struct Violation: Decodable, CustomStringConvertible {
        struct Place: Decodable {
            let topic: String
            let partition, offset: Int64
        }

        let category, problem: String
        let place: Place

        var description: String { "\(category): \(place.topic) \(place.partition)@\(place.offset): \(problem)" }
    }

    struct Owner: Decodable {}

    let missing, doubled, wrong: Int
    let violations: [Violation]
    let counts: [String: Int]
    let owners: [Owner]
}
