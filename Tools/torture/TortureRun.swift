import Foundation
import JuiceAudit
import Kafka

/// A run from the creation of the topics to the verdict.
struct TortureRun {
    let plan: Plan
    private let folder: URL

    init(plan: Plan) {
        self.plan = plan
        folder = FileManager.default.temporaryDirectory.appendingPathComponent(String(plan.prefix.dropLast()))
    }

    /// Runs everything and prints the report.
    ///
    /// - Returns: whether the contract was kept and the service answered again after each round.
    func run() throws -> Bool {
        let admin = try Admin(configuration: plan.client, hooks: silentHooks)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        Console.line("torture: seed \(plan.seed), topics \(plan.prefix)*, logs in \(folder.path)")
        let network = try plan.network.map {
            try NetworkProxy(plan: $0, bootstrapServers: plan.bootstrapServers, seed: plan.seed)
        }
        defer { network?.close() }
        let fleet = Fleet(plan: plan, folder: folder, admin: admin, network: network)
        var isSound = false
        defer {
            fleet.killAll()
            if isSound || Interruption.isRequested, !plan.keeps { clean(admin) }
        }
        try createTopics(admin)
        let (course, acknowledged) = try torment(fleet, admin, through: network)
        Console.status("reading the topics")
        let topics = try TopicReader(plan: plan).readAll()
        Console.status("auditing")
        let report = Report(
            audit: Audit(of: topics, by: plan.rules),
            lost: Report.lost(acknowledged, in: topics),
            problems: course.problems + (try network?.problems() ?? []),
            summary: course.summary + (try network?.summary() ?? [])
        )
        report.print(as: plan.isRolling ? "rolling restart" : "torture: \(plan.rounds) rounds")
        isSound = report.isSound
        if !isSound { Console.line("The topics \(plan.prefix)* and the logs in \(folder.path) are kept.") }
        return isSound
    }

    /// Enough replicas to tolerate the loss of a broker, if there are as many brokers.
    private func replication(_ admin: Admin) throws(KafkaError) -> [String] {
        guard plan.brokerCommand != nil else { return [] }
        let brokers = try admin.metadata(topics: [], timeout: .seconds(10)).brokers
        return brokers.count < 3 ? [] : ["--replication-factor", "3"]
    }

    private func createTopics(_ admin: Admin) throws {
        let result = try Child.run(
            plan.juice.path,
            [
                "topics", "create", "--bootstrap-servers", plan.bootstrapServers, "--topic-prefix",
                plan.prefix,
                "--partitions", "\(plan.partitions)",
            ] + replication(admin)
        )
        guard result.status == 0 else {
            throw TortureError(result.output.trimmingCharacters(in: .whitespacesAndNewlines))
        }
    }

    /// Runs the service and the clients, disturbs the service as planned, and lets it answer everything.
    private func torment(
        _ fleet: Fleet,
        _ admin: Admin,
        through network: NetworkProxy?
    ) throws -> (any Course, [Load.Acknowledged]) {
        for _ in 0..<plan.instances {
            let instance = fleet.add()
            if let before = plan.juiceBefore { instance.executable = before }
            try instance.start()
        }
        guard try wait(for: plan.recoveryTimeout, until: { fleet.instances.allSatisfy(\.isReady) }) else {
            throw TortureError("the instances do not get ready; their logs are in \(folder.path)")
        }
        let watch = AnswerWatch(plan: plan)
        defer { watch.stop() }
        watch.expect(from: Set(0..<Int32(plan.partitions)), madeAfter: 0)
        let load = Load(plan: plan)
        guard try wait(for: plan.recoveryTimeout, until: { watch.expectation?.all != nil }) else {
            throw TortureError("not every partition answers; the logs are in \(folder.path)")
        }
        let brokers = try BrokerTrouble(
            plan: plan,
            fleet: fleet,
            watch: watch,
            load: load,
            admin: admin,
            network: network
        )
        let bed = TestBed(
            plan: plan,
            fleet: fleet,
            watch: watch,
            load: load,
            network: network,
            brokers: brokers
        )
        let course: any Course = plan.isRolling ? RollingRestart(bed) : Rounds(bed)
        network?.resumeFaults()
        try course.run()
        network?.pauseFaults()

        Console.status("waiting for the last answers")
        try load.stop()
        // Before those that rest are started: one that fell would be among them.
        for problem in fleet.collectCrashes() { course.report(problem: problem) }
        for instance in fleet.resting { try instance.start() }
        let reader = TopicReader(plan: plan)
        let isDrained = try wait(for: plan.recoveryTimeout + plan.recoveryTimeout) {
            (try? reader.isDrained()) ?? false
        }
        if !isDrained { course.report(problem: "the service has not processed all commands") }
        for problem in fleet.collectCrashes() + (try fleet.stopAll()) { course.report(problem: problem) }
        return (course, load.acknowledged)
    }

    private func clean(_ admin: Admin) {
        let names = ["orders", "restocks", "results", "stock", "dead-letters"].map(plan.topic)
        try? admin.delete(topics: names, timeout: .seconds(10))
        try? FileManager.default.removeItem(at: folder)
    }
}
