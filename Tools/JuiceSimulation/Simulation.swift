import JuiceAudit
import JuiceEngine
import JuiceMessages
import SeededRandom

/// One run of instances, clients and a scheduler that decides at random who acts next and what fails. The seed determines
/// everything.
///
/// The engine under test is the real one. Everything around it is simulated, and an auditor that knows the contract and not the
/// engine judges the committed records.
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

    /// Events that no worker may ever report.
    private final class Journal {
        var faults: [String] = []
    }

    /// - Parameters:
    ///   - flaw: what to break in the engine; nil for nothing.
    ///   - trace: called with a line for everything that happens.
    package init(seed: UInt64, flaw: Flaw? = nil, trace: ((String) -> Void)? = nil) {
        var random = SeededGenerator(seed: seed)
        var scenario = Scenario(using: &random)
        cluster = SimulatedCluster(partitionCount: scenario.partitionCount)
        bots = SimulatedBots(seed: seed, cluster, flaw: flaw, trace: trace)
        // With bots, the window must outlast the copies of a refill that lie unread, apart from leaps of the clock.
        if bots != nil { (scenario.window, scenario.stepTime) = (.standard, 10) }
        self.scenario = scenario
        clients = Clients(scenario)
        journal = Journal()
        self.random = random
        self.flaw = flaw
        self.trace = trace
    }

    /// Runs with faults, then without any until all work is done, then audits the outcome.
    ///
    /// - Returns: the faults found; empty if there are none.
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

    private func log(_ text: @autoclosure () -> String) { trace?("\(time) \(text())") }
}

// MARK: - Workers

extension Simulation {
    private mutating func start(_ name: String) {
        log("\(name): starts")
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
        // Network trouble lasts a while, so that several requests of one transaction are late.
        if random.chance(scenario.heldBack) { worker.troubledUntil = time + random.number(0...20) }
        if time <= worker.troubledUntil {
            let factor = random.number(1...20)
            // Offsets are resent after half a second, other requests after a tenth.
            worker.log.heldBack = { ($0 == .sendOffsets ? 500 : 100) * factor }
        }
        guard random.chance(scenario.fault), let call = random.pick(SimulatedLog.Call.allCases) else {
            return
        }
        let mayFailUnsent: [LogError.Remedy] =
            call == .produce ? [.startOver] : [.retry, .startOver]
        // A call that may have taken effect cannot count as failed: it is made again, or its outcome is looked up.
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
        // Most time passes while nothing happens.
        if random.chance(cluster.isDown ? 5 : scenario.leap), bots?.allowLeaps ?? true {
            cluster.now += Int64(random.number(0...scenario.leapTime))
        }
        if random.chance(scenario.command) {
            let sent = clients.send(to: cluster, using: &random)
            log(sent)
        }
        // Without workers nothing would happen.
        if workers.isEmpty || random.chance(scenario.crash) { startOrCrash() }
        if random.chance(scenario.stop) { random.pick(workers.values.sorted(by: Self.byName))?.requestStop() }
        if random.chance(scenario.pause) { pause() }
        if random.chance(scenario.rebalance) {
            log("the group begins a new generation")
            cluster.group.rebalance()
        }
        if random.chance(cluster.isDown ? 10 : scenario.outage) {
            cluster.isDown.toggle()
            log(cluster.isDown ? "no broker answers any more" : "the brokers answer again")
        }
        if random.chance(scenario.timeOut), let id = random.pick(cluster.transactions.ids) {
            log("\(id) times out")
            cluster.transactions.timeOut(id)
        }
        if random.chance(scenario.marker) {
            let due = cluster.transactions.ids.filter(cluster.transactions.hasUnwrittenMarkers)
            if let id = random.pick(due) { cluster.writeMarker(id, using: &random) }
        }
        if random.chance(scenario.completion), cluster.applyOffsets() { log("offsets are applied") }
        if random.chance(scenario.lateArrival), let arrival = cluster.receiveLateRequest(using: &random) {
            log(arrival)
        }
        enlarge()
        if random.chance(scenario.compaction) {
            let partition = Int32(random.number(0...Int(scenario.partitionCount) - 1))
            log("stock[\(partition)] is compacted")
            cluster[.stock, partition].compact()
        }
    }

    /// The group learns of new partitions later than the senders, and of the topics at different times.
    private mutating func enlarge() {
        for (topic, (added, step)) in scenario.enlargements where step == time {
            cluster.enlarge(topic, to: scenario.partitionCount + added)
        }
        for topic in InputTopic.allCases where random.chance(2) && !cluster.isDown {
            if cluster.announcePartitions(of: topic) { log("the group hears of new partitions of \(topic)") }
        }
    }

    private static func byName(_ first: SimulatedWorker, _ second: SimulatedWorker) -> Bool {
        first.log.member < second.log.member
    }

    private mutating func startOrCrash() {
        guard let name = random.pick(scenario.instances) else { return }
        guard workers.removeValue(forKey: name) != nil else { return start(name) }
        log("\(name): crashes")
        // It may return before its session expires.
        if random.chance(50) { cluster.group.remove(name) }
    }

    /// A paused process does not notice the pause. Meanwhile the group may give its partitions away.
    private mutating func pause() {
        guard let worker = random.pick(workers.values.sorted(by: Self.byName)) else { return }
        worker.pausedUntil = time + random.number(5...200)
        log("\(worker.log.member): is paused until \(worker.pausedUntil)")
        if random.chance(70) { cluster.group.remove(worker.log.member) }
    }

    /// Ends all faults and lets the workers catch up.
    ///
    /// - Returns: whether they did within a generous number of rounds.
    private mutating func settle() -> Bool {
        log("all trouble ends")
        cluster.isDown = false
        cluster.lateRequests = []
        for line in clients.deliverAll(to: cluster) { log(line) }
        for id in cluster.transactions.ids { cluster.transactions.timeOut(id) }
        for topic in InputTopic.allCases { cluster.announcePartitions(of: topic) }
        for (name, _) in cluster.group.members where workers[name] == nil { cluster.group.remove(name) }
        for round in 0..<(500 + 20 * scenario.steps) {
            time += 1
            // Fast enough for partitions that are set aside to be tried again.
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
    /// All committed records, for the auditor.
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
