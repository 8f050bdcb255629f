import JuiceDomain

/// Deletes and recreates the topics of orders and restocks under the running instances: every partition must stop, and go on once
/// an operator says where. Then a second group serves the same topics, which the first must notice.
///
/// It runs after the audit, which cannot judge answers to deleted commands.
final class RecreatedTopics {
    private let bed: TestBed

    init(_ bed: TestBed) { self.bed = bed }

    /// - Returns: whether the service passed.
    func run() throws -> Bool {
        let before = bed.problems.count
        bed.label = "recreated topics: "
        for instance in bed.fleet.instances where !instance.isRunning { try instance.start() }
        try expect("all instances get ready again") { bed.fleet.instances.allSatisfy(\.isReady) }
        try expectStop()
        let load = Load(plan: bed.plan)
        try expectSilence(while: load)
        try goOn()
        try expectSecondGroup()
        try load.stop()
        try bed.check()
        let problems = bed.problems.count - before
        Console.line("recreated topics, \(problems.counted("problem"))")
        return problems == 0
    }

    private func expectStop() throws {
        try bed.cluster.recreate(["orders", "restocks"])
        try expect("all partitions stop when orders and restocks are recreated", every: .milliseconds(200)) {
            Set(bed.fleet.instances.flatMap(\.stoppedPartitions)).count == bed.plan.partitions
        }
    }

    private func expectSilence(while load: Load) throws {
        let (count, sent) = (bed.watch.state.count, load.sent)
        try expect("clients send to the new topics") { load.sent > sent + 100 }
        try wait(for: .seconds(4)) { false }
        let answers = bed.watch.state.count - count
        if answers > 0 { bed.report(problem: "\(answers.counted("answer")) from partitions that are stopped") }
    }

    /// Anchors every partition at the oldest record of the new topics.
    private func goOn() throws {
        for topic in ["orders", "restocks"] {
            for partition in bed.plan.allPartitions {
                Console.status("juice anchor --topic \(topic) --partition \(partition)")
                let place = ["--group", bed.plan.group, "--topic", topic, "--partition", "\(partition)"]
                let result = try bed.cluster.juice(["anchor", "--earliest", "--reason", "torture"] + place)
                if result.status != 0 { bed.report(problem: "juice anchor fails: \(result.output)") }
            }
        }
        try expectAnswers("all partitions answer after juice anchor")
    }

    private func expectSecondGroup() throws {
        let group = bed.plan.prefix + "second"
        let second = bed.fleet.instance("second", of: group, workers: 1)
        defer { second.killAtOnce() }
        try second.start()
        let first = bed.fleet.instances
        try expect("the first group ends once there is a second") { first.allSatisfy(\.hasCrashed) }
        for instance in first where instance.hasCrashed {
            let hasNamed = instance.logged.contains { $0.contains("critical the group \"\(group)\"") }
            let status = instance.collectStatus()
            if hasNamed, status > 0 { continue }
            bed.report(problem: "\(instance.id) ended with status \(status), and did not name the other group")
        }
        try expectAnswers("the second group answers in all partitions")
        if let problem = try second.stop() { bed.report(problem: problem) }
    }

    private func expectAnswers(_ text: String) throws {
        bed.watch.expect(from: Set(bed.plan.allPartitions), madeAfter: wallClock())
        try expect(text) { bed.watch.state.expectation.all != nil }
    }

    /// Waits until something holds, and prints how long that took.
    private func expect(_ text: String, every pause: Duration = .milliseconds(5), until holds: () throws -> Bool) throws {
        Console.status(text)
        let start = ContinuousClock.now
        guard try wait(for: bed.plan.recoveryTimeout, every: pause, until: holds) else {
            return bed.report(problem: "not so within \(bed.plan.recoveryTimeout.text): \(text)")
        }
        Console.line("\(text): after \((ContinuousClock.now - start).text)")
    }
}
