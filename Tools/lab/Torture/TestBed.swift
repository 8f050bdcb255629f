import FaultyNetwork
import Foundation
import JuiceDomain

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
        let counts = audit.counts.merging(audit.firstAnswers) { $1 }
        Console.line(counts.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }.joined(separator: ", "))
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
    let counts, firstAnswers: [String: Int]
    let owners: [Owner]
}
