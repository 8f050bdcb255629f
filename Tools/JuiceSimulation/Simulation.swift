import JuiceAudit
import JuiceEngine
import JuiceMessages

/// One run: instances, clients, and a scheduler that decides by chance who does the next thing and what fails. The seed
/// decides everything.
///
/// The engine under test is the real one. Everything it talks to is simulated, and what comes of it is judged from the
/// committed records alone, by an auditor that knows the contract and not the engine.
package struct Simulation {
    private let scenario: Scenario
    private let cluster: SimulatedCluster
    private let flaw: Flaw?
    private let trace: ((String) -> Void)?
    private let journal: Journal
    private var random: SeededGenerator
    private var clients: Clients
    private var workers: [String: SimulatedWorker] = [:]
    private var bots: SimulatedBots?
    private var time = 0

    /// What workers said that they never should.
    private final class Journal {
        var faults: [String] = []
    }

    /// - Parameters:
    ///   - flaw: what is wrong with the engine.
    ///   - trace: told of everything that happens.
    package init(seed: UInt64, flaw: Flaw? = nil, trace: ((String) -> Void)? = nil) {
        var random = SeededGenerator(seed: seed)
        var scenario = Scenario(using: &random)
        cluster = SimulatedCluster(partitionCount: scenario.partitionCount)
        bots = SimulatedBots(seed: seed, cluster, flaw: flaw, trace: trace)
        // Bots need a window that is longer than copies of a refill lie unread, but for leaps of the clock.
        if bots != nil { (scenario.window, scenario.stepTime) = (.standard, 10) }
        self.scenario = scenario
        clients = Clients(scenario)
        journal = Journal()
        self.random = random
        self.flaw = flaw
        self.trace = trace
    }

    /// Runs with faults, then without until all is done, then has the outcome audited.
    ///
    /// - Returns: what is wrong with it; empty when all is well.
    package mutating func run() -> [String] {
        trace?("\(scenario)")
        while time < scenario.steps {
            disturb()
            stepOneWorker()
            bots?.step(at: time)
            time += 1
        }
        guard settle() else {
            return journal.faults + ["commands are still unread long after the last fault"]
        }
        let topics = cluster.auditTopics
        let audit = Audit(
            of: topics,
            by: AuditRules(
                partitionCount: Int(scenario.partitionCount),
                memoryWindow: scenario.window.age,
                memoryCount: scenario.window.count
            )
        )
        return journal.faults + audit.faults.map(\.description) + (bots?.faults(in: topics) ?? [])
    }

    private func note(_ text: @autoclosure () -> String) { trace?("\(time) \(text())") }
}

// MARK: - Workers

extension Simulation {
    private mutating func start(_ name: String) {
        note("\(name): starts")
        let worker = SimulatedWorker(
            cluster,
            member: name,
            maxBatch: scenario.maxBatch,
            window: scenario.window,
            flaw: flaw
        ) { [journal, trace] event in
            switch event {
            case .failed, .partitionStopped: journal.faults.append("\(name): \(event)")
            default: trace?("    \(name): \(event)")
            }
        }
        worker.log.trace = trace.map { trace in { trace("    \(name): \($0)") } }
        workers[name] = worker
    }

    private mutating func stepOneWorker() {
        let ready = workers.keys.sorted().filter { (workers[$0]?.pausedUntil ?? 0) <= time }
        guard let name = random.pick(ready), let worker = workers[name] else { return }
        injectFault(worker)
        step(worker)
    }

    private mutating func step(_ worker: SimulatedWorker) {
        switch worker.step() {
        case .worked, .idle, .backOff: break
        case .stopped, .failed: workers[worker.log.member] = nil
        }
    }

    private mutating func injectFault(_ worker: SimulatedWorker) {
        worker.log.fault = { _ in nil }
        worker.log.lostReply = { _ in nil }
        worker.log.heldBack = { _ in nil }
        if random.chance(scenario.lostDelivery) { worker.log.losesDelivery = true }
        // A troubled network is so for a while, so that several requests of one transaction are late.
        if random.chance(scenario.heldBack) { worker.troubledUntil = time + random.number(0...20) }
        if time <= worker.troubledUntil {
            let factor = random.number(1...20)
            // Offsets are sent again after half a second, all else after a tenth.
            worker.log.heldBack = { ($0 == .sendOffsets ? 500 : 100) * factor }
        }
        guard random.chance(scenario.fault), let call = random.pick(SimulatedLog.Call.allCases) else {
            return
        }
        let mayFailUnsent: [LogError.Remedy] =
            call == .produce ? [.startOver] : [.retry, .startOver]
        // What may have happened cannot be called failed: it can be asked for again, or looked up.
        let isSent = call != .produce && SimulatedLog.Call.transactional.contains(call) && random.chance(50)
        let remedy = random.pick(isSent ? [.retry, .startOver] : mayFailUnsent) ?? .retry
        var isDue = true
        let fault = { (made: SimulatedLog.Call) -> LogError? in
            guard isDue, made == call else { return nil }
            isDue = false
            return LogError(remedy, "injected")
        }
        if isSent { worker.log.lostReply = fault } else { worker.log.fault = fault }
    }
}

// MARK: - The world

extension Simulation {
    private mutating func disturb() {
        cluster.now += Int64(random.number(0...scenario.stepTime))
        // Most time passes while nothing goes on.
        if random.chance(cluster.isDown ? 5 : scenario.leap), bots?.allowLeaps ?? true {
            cluster.now += Int64(random.number(0...scenario.leapTime))
        }
        if random.chance(scenario.command) {
            let sent = clients.send(to: cluster, using: &random)
            note(sent)
        }
        // There has to be someone for anything to happen.
        if workers.isEmpty || random.chance(scenario.crash) { startOrCrash() }
        if random.chance(scenario.stop) { random.pick(workers.values.sorted(by: Self.byName))?.requestStop() }
        if random.chance(scenario.pause) { pause() }
        if random.chance(scenario.rebalance) {
            note("the group begins a new generation")
            cluster.group.rebalance()
        }
        if random.chance(cluster.isDown ? 10 : scenario.outage) {
            cluster.isDown.toggle()
            note(cluster.isDown ? "no broker answers any more" : "the brokers answer again")
        }
        if random.chance(scenario.timeOut), let id = random.pick(cluster.transactions.ids) {
            note("\(id) times out")
            cluster.transactions.timeOut(id)
        }
        if random.chance(scenario.marker) {
            let due = cluster.transactions.ids.filter(cluster.transactions.hasUnwrittenMarkers)
            if let id = random.pick(due) { cluster.writeMarker(id, using: &random) }
        }
        if random.chance(scenario.lateArrival), let arrival = cluster.receiveLateRequest(using: &random) {
            note(arrival)
        }
        enlarge()
        if random.chance(scenario.compaction) {
            let partition = Int32(random.number(0...Int(scenario.partitionCount) - 1))
            note("stock[\(partition)] is compacted")
            cluster[.stock, partition].compact()
        }
    }

    /// The group hears of new partitions some time after the senders, and of one topic's sooner than of the other's.
    private mutating func enlarge() {
        for (topic, (added, step)) in scenario.enlargements where step == time {
            cluster.enlarge(topic, to: scenario.partitionCount + added)
        }
        for topic in InputTopic.allCases where random.chance(2) && !cluster.isDown {
            if cluster.tellGroup(of: topic) { note("the group hears of new partitions of \(topic)") }
        }
    }

    private static func byName(_ first: SimulatedWorker, _ second: SimulatedWorker) -> Bool {
        first.log.member < second.log.member
    }

    private mutating func startOrCrash() {
        guard let name = random.pick(scenario.instances) else { return }
        guard workers.removeValue(forKey: name) != nil else { return start(name) }
        note("\(name): crashes")
        // It may be back before anybody notices, or be found dead.
        if random.chance(50) { cluster.group.remove(name) }
    }

    /// Nothing tells a process that it was paused. Meanwhile the group may have given its partitions away.
    private mutating func pause() {
        guard let worker = random.pick(workers.values.sorted(by: Self.byName)) else { return }
        worker.pausedUntil = time + random.number(5...200)
        note("\(worker.log.member): is paused until \(worker.pausedUntil)")
        if random.chance(70) { cluster.group.remove(worker.log.member) }
    }

    /// Ends all trouble and lets the workers catch up.
    ///
    /// - Returns: whether they did, within a bound that is generous for the number of commands there can be.
    private mutating func settle() -> Bool {
        note("all trouble ends")
        cluster.isDown = false
        cluster.lateRequests = []
        for line in clients.deliverAll(to: cluster) { note(line) }
        for id in cluster.transactions.ids { cluster.transactions.timeOut(id) }
        for topic in InputTopic.allCases { cluster.tellGroup(of: topic) }
        for (name, _) in cluster.group.members where workers[name] == nil { cluster.group.remove(name) }
        for round in 0..<(500 + 20 * scenario.steps) {
            time += 1
            // Fast enough that partitions which were set aside are tried again.
            cluster.now += 100
            if workers.isEmpty { start("instance-1") }
            cluster.writeAllMarkers()
            for worker in workers.values.sorted(by: Self.byName) {
                worker.log.fault = { _ in nil }
                worker.log.lostReply = { _ in nil }
                worker.log.heldBack = { _ in nil }
                worker.log.losesDelivery = false
                step(worker)
            }
            bots?.stepCalmly()
            if round % 10 == 0, cluster.isDrained, bots?.isDone ?? true { return true }
        }
        return false
    }
}

extension SimulatedCluster {
    /// Everything that was committed, as the auditor wants it.
    fileprivate var auditTopics: AuditTopics {
        func records(_ topic: Topic) -> [[AuditRecord]] {
            (0..<count(of: topic)).map { partition in
                self[topic, partition].readCommitted().records.map { offset, record in
                    AuditRecord(
                        offset: offset,
                        timestamp: record.timestamp,
                        key: record.key?.bytes,
                        value: record.value?.bytes,
                        headers: record.headers.map { AuditHeader($0.name, $0.value) }
                    )
                }
            }
        }
        return AuditTopics(
            orders: records(.orders),
            restocks: records(.restocks),
            results: records(.results),
            stock: records(.stock),
            deadLetters: records(.deadLetters)
        )
    }
}
