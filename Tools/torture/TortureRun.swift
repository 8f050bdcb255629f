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
        let cluster = try Cluster(plan: plan)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        Console.line("torture: seed \(plan.seed), topics \(plan.prefix)*, logs in \(folder.path)")
        let network = plan.network ? try NetworkProxy(plan: plan) : nil
        defer { network?.close() }
        let fleet = Fleet(plan: plan, folder: folder, cluster: cluster, network: network)
        var isSound = false
        defer {
            fleet.killAll()
            if isSound || Interruption.isRequested, !plan.keep {
                cluster.deleteTopics()
                try? FileManager.default.removeItem(at: folder)
            }
        }
        try cluster.createTopics()
        let bed = try start(fleet, cluster, network)
        defer { bed.watch.stop() }
        let course: any Course = plan.rolling ? try RollingRestart(bed) : try Rounds(bed)
        network?.resumeFaults()
        try course.run()
        network?.pauseFaults()
        try finish(course, bed)
        Console.status("reading the topics")
        let topics = try TopicReader(plan: plan).readAll()
        Console.status("auditing")
        let report = Report(
            audit: Audit(of: topics, by: plan.rules), lost: Report.lost(bed.load.acknowledged, in: topics),
            problems: course.problems + (try network?.problems() ?? []), summary: course.summary + (try network?.summary() ?? []))
        report.print(as: plan.rolling ? "rolling restart" : "torture: \(plan.rounds) rounds")
        isSound = try (!plan.topicsAnew || TopicsAnew(bed).run()) && report.isSound
        if !isSound { Console.line("The topics \(plan.prefix)* and the logs in \(folder.path) are kept.") }
        return isSound
    }

    /// Starts the service and the clients, and waits until all partitions answer.
    private func start(_ fleet: Fleet, _ cluster: Cluster, _ network: NetworkProxy?) throws -> TestBed {
        for _ in 0..<plan.instances { try fleet.add().start() }
        guard try wait(for: plan.recoveryTimeout, until: { fleet.instances.allSatisfy(\.isReady) }) else {
            throw TortureError("the instances do not get ready; their logs are in \(folder.path)")
        }
        let watch = AnswerWatch(plan: plan)
        watch.expect(from: Set(plan.allPartitions), madeAfter: 0)
        let load = Load(plan: plan)
        guard try wait(for: plan.recoveryTimeout, until: { watch.expectation?.all != nil }) else {
            throw TortureError("not every partition answers; the logs are in \(folder.path)")
        }
        return TestBed(plan: plan, cluster: cluster, fleet: fleet, watch: watch, load: load, network: network)
    }

    /// Ends the load, lets the service answer everything, and stops it.
    private func finish(_ course: any Course, _ bed: TestBed) throws {
        Console.status("waiting for the last answers")
        try bed.load.stop()
        // Before those that rest are started: one that fell would be among them.
        for problem in bed.fleet.collectCrashes() { course.report(problem: problem) }
        for instance in bed.fleet.resting { try instance.start() }
        let reader = TopicReader(plan: plan)
        let isDrained = try wait(for: plan.recoveryTimeout + plan.recoveryTimeout) { (try? reader.isDrained()) ?? false }
        if !isDrained { course.report(problem: "by the group's offsets not all commands are processed") }
        let fallen = bed.fleet.collectCrashes()
        for problem in fallen + (try bed.fleet.stopAll()) { course.report(problem: problem) }
    }
}

/// What is done to the service while it is under load.
protocol Course: AnyObject {
    /// Does it.
    func run() throws
    /// Reports something that went wrong besides the contract, such as a service that never answered again.
    func report(problem: String)
    /// All that was reported.
    var problems: [String] { get }
    /// How long things took, in lines.
    var summary: [String] { get }
}

/// What a course works with.
struct TestBed {
    let plan: Plan
    let cluster: Cluster
    let fleet: Fleet
    let watch: AnswerWatch
    let load: Load
    /// The proxy between instances and brokers, where requests are held back.
    let network: NetworkProxy?

    /// Throws if the torture itself no longer works.
    func check() throws {
        if let failure = load.failure ?? watch.failure { throw TortureError(failure) }
    }
}
