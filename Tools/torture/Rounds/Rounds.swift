import Foundation
import SeededRandom

/// Disturbs the service in random ways, round after round, and measures how long it takes to answer again.
final class Rounds: Course {
    private var recoveries: [Recovery] = []
    private(set) var problems: [String] = []

    private let bed: TestBed
    private var random: SeededGenerator
    private var assignment: [String: Set<Int32>] = [:]
    private var round = 0

    init(_ bed: TestBed) {
        self.bed = bed
        random = SeededGenerator(seed: bed.plan.seed)
    }

    var summary: [String] {
        RecoveryTable(recoveries: recoveries, session: bed.plan.session).lines
            + (bed.brokers?.table.lines ?? [])
    }

    func run() throws {
        for number in 1...bed.plan.rounds {
            round = number
            try prepare()
            let deed = Deed.random(of: deeds, using: &random)
            switch deed {
            case .restart: try restart(count: 1)
            case .restartTwo: try restart(count: 2)
            case .takeover: try takeOver()
            case .freeze: try freeze()
            case .crowd: try crowd()
            case .restartBroker: try restartBroker()
            case .stopBroker: try trouble(.stop)
            case .killBroker: try trouble(.kill)
            }
            for fallen in bed.fleet.collectCrashes() { report(problem: fallen) }
            if let failure = bed.load.failure ?? bed.watch.failure { throw TortureError(failure) }
        }
    }

    /// The possible disturbances.
    private var deeds: [Deed] {
        Deed.allCases.filter { deed in
            switch deed {
            case .restartBroker: bed.plan.brokerRestart != nil
            case .stopBroker, .killBroker: bed.brokers != nil
            default: true
            }
        }
    }

    /// Pauses for a random time, and usually waits for a stable group. Sometimes it does not: failures may come during a rebalance.
    private func prepare() throws {
        let pause = ContinuousClock.now + .milliseconds(Int.random(in: 200..<1_500, using: &random))
        try wait(for: bed.plan.recoveryTimeout) {
            Console.status(
                "round \(round) of \(bed.plan.rounds): \(bed.load.sent) records sent, \(bed.watch.count) answers"
            )
            return ContinuousClock.now > pause
        }
        if random.chance(75) {
            let settled = try bed.fleet.settle(within: bed.plan.recoveryTimeout)
            if settled == nil { report(problem: "the group does not settle") }
            assignment = settled ?? [:]
        } else {
            assignment = bed.fleet.assignment() ?? [:]
        }
    }

    func report(problem: String) {
        problems.append("round \(round): \(problem)")
        Console.line("round \(pad(round))  \(problem)")
    }

    private func pad(_ number: Int) -> String {
        let text = "\(number)"
        return String(repeating: " ", count: max(0, "\(bed.plan.rounds)".count - text.count)) + text
    }
}

// MARK: - Deeds

extension Rounds {
    /// Kills instances and starts them again under the same ids.
    private func restart(count: Int) throws {
        var victims = bed.fleet.running.shuffled(using: &random)
        if let worst = try instanceAtRisk() {
            victims.removeAll { $0 === worst }
            victims.insert(worst, at: 0)
        }
        victims = Array(victims.prefix(count))
        let names = victims.map(\.id).joined(separator: " and ")
        try measure(
            victims.count == 2 ? .restartOfTwo : .restart,
            "kill -9 \(names), start again",
            of: victims
        ) {
            for victim in victims { victim.killAtOnce() }
            bed.network?.endRisk()
        } afterwards: {
            for victim in victims { try victim.start() }
        }
    }

    /// An instance that a late request has just harmed and that is held up to be killed. Usually waits for one if there is a
    /// proxy; nil if none is harmed in time.
    private func instanceAtRisk() throws -> Instance? {
        guard let network = bed.network, random.chance(75) else { return nil }
        let name = try network.instanceAtRisk(within: .seconds(5))
        return bed.fleet.running.first { $0.id == name }
    }

    /// Kills an instance and leaves it dead until the others have taken over its partitions.
    private func takeOver() throws {
        let chosen = bed.fleet.running.randomElement(using: &random)
        guard bed.fleet.running.count > 1, let victim = try instanceAtRisk() ?? chosen else {
            return try restart(count: 1)
        }
        try measure(.takeover, "kill -9 \(victim.id), others take over", of: [victim]) {
            victim.killAtOnce()
            bed.network?.endRisk()
        }
        if random.chance(70) { try victim.start() }
    }

    /// Freezes an instance until the others have taken over its partitions, then thaws it.
    private func freeze() throws {
        guard bed.fleet.running.count > 1, let victim = bed.fleet.running.randomElement(using: &random) else {
            return try restart(count: 1)
        }
        try measure(.frozen, "SIGSTOP \(victim.id), others take over, SIGCONT", of: [victim]) {
            victim.freeze()
        }
        victim.thaw()
    }

    /// Adds an instance, or stops one.
    private func crowd() throws {
        if let resting = bed.fleet.resting.randomElement(using: &random) {
            try join(resting)
        } else if bed.fleet.instances.count <= bed.plan.instances {
            try join(bed.fleet.add())
        } else if let victim = bed.fleet.running.randomElement(using: &random) {
            var status: Int32 = 0
            try measure(.left, "SIGTERM \(victim.id), others take over", of: [victim]) {
                status = try victim.stop()
            }
            if status != 0 { report(problem: "\(victim.id) ended with status \(status) on SIGTERM") }
        }
    }

    /// Starts an instance, and waits for answers from the partitions that it takes over.
    private func join(_ instance: Instance) throws {
        try instance.start()
        let start = ContinuousClock.now
        guard let settled = try bed.fleet.settle(with: instance, within: bed.plan.recoveryTimeout) else {
            return report(problem: "\(instance.id) gets no partitions")
        }
        assignment = settled
        try measure(.joined, "start \(instance.id)", of: [instance], since: start) {}
    }

    private func restartBroker() throws {
        guard let command = bed.plan.brokerRestart else { return }
        try measure(.broker, "restart the broker", of: []) {
            let result = try Child.run("/bin/sh", ["-c", command])
            // Only the service's recovery counts; the broker may just be slow to start.
            if result.status != 0 {
                Console.line(
                    "round \(pad(round))  the command ends with status \(result.status): \(result.output)"
                )
            }
        }
    }

    /// Stops or kills a broker, and starts it again.
    private func trouble(_ kind: BrokerTrouble.Kind) throws {
        guard let brokers = bed.brokers, let broker = brokers.brokers.randomElement(using: &random) else {
            return
        }
        try brokers.run(kind, broker) { Console.line("round \(pad(round))  \($0)") }
    }

    /// Disturbs instances and waits for answers from the partitions that they had.
    private func measure(
        _ cause: Recovery.Cause,
        _ text: String,
        of victims: [Instance],
        since beginning: ContinuousClock.Instant? = nil,
        doing deed: () throws -> Void,
        afterwards: () throws -> Void = {}
    ) throws {
        let known = victims.reduce(into: Set<Int32>()) { $0.formUnion(assignment[$1.id] ?? []) }
        let partitions = known.isEmpty ? Set(0..<Int32(bed.plan.partitions)) : known
        Console.status("round \(pad(round))  \(text)")
        let start = beginning ?? .now
        try deed()
        // What was made until now and a moment longer may be on its way still.
        bed.watch.expect(from: partitions, madeAfter: wallClock() + (victims.isEmpty ? 0 : 20))
        try afterwards()
        let hasAnswered = try wait(for: bed.plan.recoveryTimeout, through: bed.network) {
            bed.watch.expectation?.all != nil
        }
        guard hasAnswered, let first = bed.watch.expectation?.first, let all = bed.watch.expectation?.all
        else {
            let silent = partitions.subtracting(bed.watch.expectation?.arrivals.keys.map { $0 } ?? [])
            let list = silent.sorted().map(String.init).joined(separator: ", ")
            return report(
                problem: "\(text): no answer from partitions \(list) within \(bed.plan.recoveryTimeout.text)"
            )
        }
        let recovery = Recovery(cause: cause, first: first - start, all: all - start)
        // A victim without partitions gives no recovery time.
        if !known.isEmpty || victims.isEmpty { recoveries.append(recovery) }
        Console.line(
            "round \(pad(round))  \(text): first answer after \(recovery.first.text), "
                + "\(partitions.count == 1 ? "the one partition" : "all \(partitions.count) partitions") after \(recovery.all.text)"
        )
    }
}
