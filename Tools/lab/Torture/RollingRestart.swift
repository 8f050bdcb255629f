/// A rolling restart and a scale-out: restarts each instance in turn, then adds one. With a broker command it also stops, kills
/// and starts each broker.
final class RollingRestart {
    private let bed: TestBed
    private let brokers: BrokerFailures?
    private var longestOfOne = Duration.zero
    private var longestOfAll = Duration.zero

    init(_ bed: TestBed) throws {
        self.bed = bed
        brokers = try BrokerFailures(bed)
    }

    /// - Returns: lines about the longest gaps.
    func run() throws -> [String] {
        guard try bed.fleet.settle(within: bed.plan.recoveryTimeout) != nil else { throw ToolError("the group does not settle") }
        try answerEverywhere("before anything is done")
        // Gaps during the start of the instances do not count.
        _ = bed.watch.drainGaps()
        try step("nothing") {}
        for instance in bed.fleet.instances { try restart(instance) }
        let newcomer = bed.fleet.add()
        try step("start \(newcomer.id)") {
            try newcomer.start()
            if try bed.fleet.settle(with: newcomer, within: bed.plan.recoveryTimeout) == nil {
                bed.report(problem: "\(newcomer.id) gets no partitions")
            }
        }
        for kind in [BrokerFailures.Kind.stop, .kill] {
            for broker in brokers?.brokers ?? [] {
                try brokers?.run(kind, broker)
                try bed.check()
            }
        }
        let gaps = "of one partition \(longestOfOne.text), of all together \(longestOfAll.text)"
        return ["longest gap in the answers \(gaps)"] + (brokers?.summary ?? [])
    }

    private func restart(_ instance: Instance) throws {
        try step("SIGTERM \(instance.id), start again") {
            if let problem = try instance.stop() { bed.report(problem: problem) }
            try instance.start()
            if try !wait(for: bed.plan.recoveryTimeout, through: bed.network, until: { instance.isReady }) {
                bed.report(problem: "\(instance.id) does not get ready again")
            }
        }
    }

    /// Runs a step, and waits until every partition has answered a later command.
    private func step(_ text: String, _ body: () throws -> Void) throws {
        Console.status(text)
        let start = ContinuousClock.now
        try body()
        let done = ContinuousClock.now - start
        try answerEverywhere(text)
        let gaps = bed.watch.drainGaps()
        (longestOfOne, longestOfAll) = (max(longestOfOne, gaps.longest), max(longestOfAll, gaps.ofAll))
        Console.line(
            "\(text): done after \(done.text), longest gap in a partition's answers \(gaps.longest.text), in all \(gaps.ofAll.text)"
        )
        try bed.check()
    }

    private func answerEverywhere(_ text: String) throws {
        let answers = try bed.awaitAnswers(madeAfter: wallClock() + 2_000)
        if answers.all == nil { bed.report(problem: "\(text): not every partition answers") }
    }
}
