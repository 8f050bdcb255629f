import JuiceDomain

/// Disturbs the service in random ways, round after round, and measures how long it takes to answer again.
final class Rounds {
    private let bed: TestBed
    private let brokers: BrokerFailures?
    private var random: SeededGenerator
    private var assignment: [String: Set<Int32>] = [:]
    private var round = 0
    private var recoveries: [Timing] = []

    init(_ bed: TestBed) throws {
        self.bed = bed
        random = SeededGenerator(seed: bed.plan.seed)
        brokers = try BrokerFailures(bed)
    }

    /// The possible disturbances, with the relative frequency of each.
    private var deeds: [(weight: Int, run: () throws -> Void)] {
        var deeds: [(weight: Int, run: () throws -> Void)] = [
            (35, { try self.restart(count: 1) }), (15, { try self.restart(count: 2) }), (15, takeOver),
            (15, freeze), (15, crowd), (10, loseGroup),
        ]
        if let command = bed.plan.brokerRestart { deeds.append((5, { try self.restartBroker(command) })) }
        if let brokers {
            deeds += [(15, { try self.fail(brokers, .stop) }), (15, { try self.fail(brokers, .kill) })]
        }
        return deeds
    }

    /// - Returns: lines about the recovery times and gaps.
    func run() throws -> [String] {
        for number in 1...bed.plan.rounds {
            round = number
            let width = "\(bed.plan.rounds)".count
            bed.label = "round \(String(repeating: " ", count: width - "\(number)".count))\(number)  "
            try prepare()
            try random.pick(deeds.flatMap { Array(repeating: $0.run, count: $0.weight) })?()
            try bed.check()
        }
        return Timing.table(of: recoveries, "first answer after", other: "all") + (brokers?.summary ?? [])
    }

    /// Pauses for a random time, and usually waits for a stable group. Sometimes it does not: failures may come during a rebalance.
    private func prepare() throws {
        try wait(for: .milliseconds(Int.random(in: 200..<1_500, using: &random))) {
            Console.status(
                "round \(round) of \(bed.plan.rounds): \(bed.load.sent.counted("record")) sent, "
                    + bed.watch.state.count.counted("answer"))
            return false
        }
        if random.chance(75) {
            let settled = try bed.fleet.settle(within: bed.plan.recoveryTimeout)
            if settled == nil { bed.report(problem: "the group does not settle") }
            assignment = settled ?? [:]
        } else {
            assignment = bed.fleet.assignment() ?? [:]
        }
    }

    // MARK: Faults

    /// Kills instances and starts them again under the same ids.
    private func restart(count: Int) throws {
        var victims = bed.fleet.running.shuffled(using: &random)
        if let worst = try instanceAtRisk() {
            victims.removeAll { $0 === worst }
            victims.insert(worst, at: 0)
        }
        victims = Array(victims.prefix(count))
        let text = "kill -9 \(Self.names(victims)), start again"
        try measure(victims.count == 2 ? .restartOfTwo : .restart, text, of: victims) {
            for victim in victims { victim.killAtOnce() }
            bed.network?.endHarm()
        } afterwards: {
            for victim in victims { try victim.start() }
        }
    }

    private static func names(_ instances: [Instance]) -> String {
        instances.map(\.id).joined(separator: " and ")
    }

    /// An instance that a late request has just harmed, held up so that it can be killed: the next transaction often repairs the
    /// harm, so a kill does most harm now. Usually waits for one if there is a proxy; nil if none is harmed in time.
    private func instanceAtRisk() throws -> Instance? {
        guard let network = bed.network, random.chance(75) else { return nil }
        network.awaitHarm()
        guard try wait(for: .seconds(5), until: { network.harmedTransactionalID != nil }) else {
            network.endHarm()
            return nil
        }
        // Transactional ids are `GROUP/INSTANCE/WORKER/SET/INDEX`.
        let parts = network.harmedTransactionalID?.split(separator: "/") ?? []
        return bed.fleet.running.first { parts.count == 5 && $0.id == parts[1] }
    }

    /// Kills an instance and leaves it dead until the others have taken over its partitions.
    private func takeOver() throws {
        let chosen = random.pick(bed.fleet.running)
        guard bed.fleet.running.count > 1, let victim = try instanceAtRisk() ?? chosen else { return try restart(count: 1) }
        try measure(.takeover, "kill -9 \(victim.id), others take over", of: [victim]) {
            victim.killAtOnce()
            bed.network?.endHarm()
        }
        if random.chance(70) { try victim.start() }
    }

    /// Freezes an instance until the others have taken over its partitions, then thaws it.
    private func freeze() throws {
        guard bed.fleet.running.count > 1, let victim = random.pick(bed.fleet.running) else { return try restart(count: 1) }
        try measure(.frozen, "SIGSTOP \(victim.id), others take over, SIGCONT", of: [victim]) { victim.freeze() }
        victim.thaw()
    }

    /// Freezes and kills instances, deletes the group or resets its offsets, and starts the killed ones again. The frozen ones are
    /// thawed before that, or when the others own everything. They still believe that they own their partitions, in a group that
    /// does not know them.
    private func loseGroup() throws {
        let instances = bed.fleet.running.shuffled(using: &random)
        let frozen = Array(instances.prefix(random.number(0...max(0, instances.count - 1))))
        let killed = Array(instances.dropFirst(frozen.count))
        for instance in frozen { instance.freeze() }
        for instance in killed { instance.killAtOnce() }
        guard try wait(for: bed.plan.recoveryTimeout, until: { bed.cluster.isGroupEmpty }) else {
            return bed.report(problem: "the group keeps its members, though all are dead or frozen")
        }
        let isDeleted = random.chance(60)
        let isReset = !isDeleted || random.chance(50)
        let wakesEarly = random.chance(30)
        let deeds = (isDeleted ? ["delete the group"] : []) + (isReset ? ["reset its offsets"] : [])
        let sleepers = frozen.isEmpty ? "" : "SIGSTOP \(Self.names(frozen)), "
        let victims = "\(sleepers)kill -9 \(Self.names(killed))"
        let text = "\(victims), \(deeds.joined(separator: " and ")), start again"
        try measure(.groupLost, text, of: []) {
            if isDeleted { try bed.cluster.deleteGroup() }
            if isReset { try bed.cluster.resetOffsets(using: &random) }
        } afterwards: {
            if wakesEarly { for instance in frozen { instance.thaw() } }
            for instance in killed { try instance.start() }
        }
        for instance in frozen { instance.thaw() }
    }

    /// Adds an instance, or stops one.
    private func crowd() throws {
        if let resting = random.pick(bed.fleet.resting) {
            try join(resting)
        } else if bed.fleet.instances.count <= bed.plan.instances {
            try join(bed.fleet.add())
        } else if let victim = random.pick(bed.fleet.running) {
            var problem: String?
            try measure(.left, "SIGTERM \(victim.id), others take over", of: [victim]) { problem = try victim.stop() }
            if let problem { bed.report(problem: problem) }
        }
    }

    /// Starts an instance, and waits for answers from the partitions that it takes over.
    private func join(_ instance: Instance) throws {
        try instance.start()
        let start = ContinuousClock.now
        guard let settled = try bed.fleet.settle(with: instance, within: bed.plan.recoveryTimeout) else {
            return bed.report(problem: "\(instance.id) gets no partitions")
        }
        assignment = settled
        try measure(.joined, "start \(instance.id)", of: [instance], since: start) {}
    }

    private func restartBroker(_ command: String) throws {
        try measure(.broker, "restart the broker", of: []) {
            let result = try Child.run("/bin/sh", ["-c", command])
            // Only the service's recovery counts; the broker may just be slow to start.
            if result.status != 0 { bed.print("the command ends with status \(result.status): \(result.output)") }
        }
    }

    /// Stops or kills a broker, and starts it again.
    private func fail(_ brokers: BrokerFailures, _ kind: BrokerFailures.Kind) throws {
        if let broker = random.pick(brokers.brokers) { try brokers.run(kind, broker) }
    }

    /// Disturbs instances and waits for answers from the partitions that they had.
    private func measure(
        _ cause: Cause, _ text: String, of victims: [Instance], since beginning: ContinuousClock.Instant? = nil,
        doing deed: () throws -> Void, afterwards: () throws -> Void = {}
    ) throws {
        let known = victims.reduce(into: Set<Int32>()) { $0.formUnion(assignment[$1.id] ?? []) }
        let partitions = known.isEmpty ? Set(bed.plan.allPartitions) : known
        Console.status(bed.label + text)
        let start = beginning ?? .now
        try deed()
        // Answers that were written until now, or a moment later, may still be in flight.
        bed.watch.expect(from: partitions, madeAfter: wallClock() + (victims.isEmpty ? 0 : 20))
        try afterwards()
        let answers = try bed.awaitExpected()
        guard let first = answers.first, let last = answers.all else {
            let silent = answers.missing.map(String.init).joined(separator: ", ")
            return bed.report(problem: "\(text): no answer from partitions \(silent) within \(bed.plan.recoveryTimeout.text)")
        }
        // A victim without partitions gives no recovery time.
        if !known.isEmpty || victims.isEmpty {
            // By default, brokers look for abandoned transactions only every 10 s. So at times it takes longer.
            let limit = cause.waitsForSession ? bed.plan.session + .seconds(1) : nil
            recoveries.append(Timing(cause: cause.rawValue, time: first - start, limit: limit, other: last - start))
        }
        let all = partitions.count == 1 ? "the one partition" : "all \(partitions.count) partitions"
        bed.print("\(text): first answer after \((first - start).text), \(all) after \((last - start).text)")
    }

    /// A disturbance.
    private enum Cause: String {
        case restart = "kill -9, start again"
        case restartOfTwo = "kill -9 two, start again"
        case takeover = "kill -9, others take over"
        case frozen = "freeze, others take over"
        case left = "SIGTERM, others take over"
        case joined = "one more instance"
        case groupLost = "group deleted or reset"
        case broker = "broker restart"

        /// Whether the group first has to detect the loss of a member by its session timeout.
        var waitsForSession: Bool { self == .takeover || self == .frozen }
    }
}
