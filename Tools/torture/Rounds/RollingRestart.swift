import Foundation

/// A rolling upgrade and a scale-out: restarts each instance in turn, then adds one. With an earlier version it also downgrades
/// those that it upgraded. With a broker command it also stops, kills and starts each broker.
final class RollingRestart: Course {
    private(set) var problems: [String] = []
    private(set) var summary: [String] = []

    private let bed: TestBed
    private var longestOfOne = Duration.zero
    private var longestOfAll = Duration.zero

    init(_ bed: TestBed) {
        self.bed = bed
    }

    func run() throws {
        guard try bed.fleet.settle(within: bed.plan.recoveryTimeout) != nil else {
            throw TortureError("the group does not settle")
        }
        try answerEverywhere("before anything is done")
        // What came while the instances were starting is not what is asked.
        _ = bed.watch.drainGaps()
        try step("nothing") {}
        let instances = bed.fleet.instances
        for instance in instances {
            try restart(instance, bed.plan.juice, bed.plan.juiceBefore == nil ? "start again" : "upgrade")
        }
        let newcomer = bed.fleet.add()
        try step("start \(newcomer.id)") {
            try newcomer.start()
            if try bed.fleet.settle(with: newcomer, within: bed.plan.recoveryTimeout) == nil {
                report(problem: "\(newcomer.id) gets no partitions")
            }
        }
        if let before = bed.plan.juiceBefore {
            for instance in instances { try restart(instance, before, "downgrade") }
        }
        try troubleBrokers()
        summary =
            [
                "longest gap in the answers of one partition \(longestOfOne.text), of all together \(longestOfAll.text)"
            ] + (bed.brokers?.table.lines ?? [])
    }

    private func restart(_ instance: Instance, _ juice: URL, _ purpose: String) throws {
        try step("SIGTERM \(instance.id), \(purpose)") {
            let status = try instance.stop()
            if status != 0 { report(problem: "\(instance.id) ended with status \(status) on SIGTERM") }
            instance.executable = juice
            try instance.start()
            if try !wait(for: bed.plan.recoveryTimeout, through: bed.network, until: { instance.isReady }) {
                report(problem: "\(instance.id) does not get ready again")
            }
        }
    }

    /// Stops and starts each broker, then kills and starts each.
    private func troubleBrokers() throws {
        guard let brokers = bed.brokers else { return }
        for kind in [BrokerTrouble.Kind.stop, .kill] {
            for broker in brokers.brokers {
                try brokers.run(kind, broker, report: Console.line)
                for fallen in bed.fleet.collectCrashes() { report(problem: fallen) }
            }
        }
    }

    func report(problem: String) {
        problems.append(problem)
        Console.line(problem)
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
            "\(text): done after \(done.text), longest gap in a partition's answers \(gaps.longest.text), "
                + "in all \(gaps.ofAll.text)"
        )
        for fallen in bed.fleet.collectCrashes() { report(problem: fallen) }
        if let failure = bed.load.failure ?? bed.watch.failure { throw TortureError(failure) }
    }

    private func answerEverywhere(_ text: String) throws {
        bed.watch.expect(from: Set(0..<Int32(bed.plan.partitions)), madeAfter: wallClock() + 2_000)
        if try !wait(
            for: bed.plan.recoveryTimeout,
            through: bed.network,
            until: { bed.watch.expectation?.all != nil }
        ) {
            report(problem: "\(text): not every partition answers")
        }
    }
}
