import Foundation

/// What an upgrade and a larger crowd of customers bring: every instance is restarted in turn, then one more is added. Where there is a
/// command for it, what the brokers' upgrade and their failures bring, too.
final class RollingRestart: Course {
    private(set) var problems: [String] = []
    private(set) var summary: [String] = []

    private let plan: Plan
    private let fleet: Fleet
    private let watch: AnswerWatch
    private let load: Load
    private let network: NetworkProxy?
    private let brokers: BrokerTrouble?
    private var longestOfOne = Duration.zero
    private var longestOfAll = Duration.zero

    init(
        plan: Plan,
        fleet: Fleet,
        watch: AnswerWatch,
        load: Load,
        network: NetworkProxy?,
        brokers: BrokerTrouble?
    ) {
        self.plan = plan
        self.fleet = fleet
        self.watch = watch
        self.load = load
        self.network = network
        self.brokers = brokers
    }

    func run() throws {
        guard try fleet.settle(within: plan.recoveryTimeout) != nil else {
            throw TortureError("the group does not settle")
        }
        try answerEverywhere("before anything is done")
        // What came while the instances were starting is not what is asked.
        _ = watch.takeGaps()
        try step("nothing") {}
        for instance in fleet.instances {
            try step("SIGTERM \(instance.id), start again") {
                let status = try instance.stop()
                if status != 0 { note(problem: "\(instance.id) ended with status \(status) on SIGTERM") }
                try instance.start()
                if try !wait(for: plan.recoveryTimeout, through: network, until: { instance.isReady }) {
                    note(problem: "\(instance.id) does not get ready again")
                }
            }
        }
        let newcomer = fleet.add()
        try step("start \(newcomer.id)") {
            try newcomer.start()
            if try fleet.settle(with: newcomer, within: plan.recoveryTimeout) == nil {
                note(problem: "\(newcomer.id) gets no partitions")
            }
        }
        try troubleBrokers()
        summary =
            [
                "longest gap in the answers of one partition \(longestOfOne.text), of all together \(longestOfAll.text)"
            ] + (brokers?.table.lines ?? [])
    }

    /// Each broker is stopped and started, then killed and started.
    private func troubleBrokers() throws {
        guard let brokers else { return }
        for kind in [BrokerTrouble.Kind.stop, .kill] {
            for broker in brokers.brokers {
                try brokers.run(kind, broker, report: Console.line)
                for fallen in fleet.takeFallen() { note(problem: fallen) }
            }
        }
    }

    func note(problem: String) {
        problems.append(problem)
        Console.line(problem)
    }

    /// Does something, and goes on once every partition has answered a command that came after it.
    private func step(_ text: String, _ body: () throws -> Void) throws {
        Console.status(text)
        let start = ContinuousClock.now
        try body()
        let done = ContinuousClock.now - start
        try answerEverywhere(text)
        let gaps = watch.takeGaps()
        (longestOfOne, longestOfAll) = (max(longestOfOne, gaps.longest), max(longestOfAll, gaps.ofAll))
        Console.line(
            "\(text): done after \(done.text), longest gap in a partition's answers \(gaps.longest.text), "
                + "in all \(gaps.ofAll.text)"
        )
        for fallen in fleet.takeFallen() { note(problem: fallen) }
        if let failure = load.failure ?? watch.failure { throw TortureError(failure) }
    }

    private func answerEverywhere(_ text: String) throws {
        watch.expect(from: Set(0..<Int32(plan.partitions)), madeAfter: wallClock() + 2_000)
        if try !wait(for: plan.recoveryTimeout, through: network, until: { watch.expectation?.all != nil }) {
            note(problem: "\(text): not every partition answers")
        }
    }
}
