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
            network = FaultyNetwork(rate: plan.networkRate, kinds: plan.networkKinds ?? FaultyNetwork.kinds, random: random)
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
