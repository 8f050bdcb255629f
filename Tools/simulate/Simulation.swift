import JuiceAudit
import JuiceDomain
import JuiceEngine
import JuiceMessages

/// One run of instances, clients and a scheduler that decides at random who acts next and what fails. The seed determines
/// everything.
///
/// The engine under test is the real one. Everything around it is simulated. An auditor judges the committed records: it shares the
/// decoder, the juice maker and the encoder with the engine, and ``SimulatedTruth`` shares nothing.
final class Simulation {
    private let scenario: Scenario
    private let cluster: SimulatedCluster
    private let flaw: Flaw?
    private let trace: ((String) -> Void)?
    private var random: SeededGenerator
    private var clients: Clients
    private var workers: [String: SimulatedWorker] = [:]
    private var stores: KnownStores?
    private var storage: SimulatedStorage
    private let refusing: RefusingTopic?
    private var clocks: InstanceClocks
    private let harm: Harm?
    private var isHarmDue = true
    /// When the beginning of a stock partition is deleted; nil in most runs.
    private let stockLoss: (step: Int, partition: Int32, assignment: Double)?
    /// Events that no worker may ever report.
    private var faults: [String] = []
    private var time = 0
    private var ghostCount = 0
    /// While settling, the last step in which each group's workers held partitions.
    private var served: [Int: Int] = [:]

    /// - Parameters:
    ///   - flaw: what to break in the engine; nil for nothing.
    ///   - trace: called with a line for everything that happens.
    init(seed: UInt64, flaw: Flaw? = nil, trace: ((String) -> Void)? = nil) {
        var random = SeededGenerator(seed: seed)
        var scenario = Scenario(using: &random)
        scenario.trim(using: &random)
        harm = scenario.storage == nil ? Harm(flaw?.harm, preparing: &scenario, using: &random) : nil
        cluster = SimulatedCluster(partitionCount: scenario.partitionCount)
        cluster.random = SeededGenerator(seed: random.next())
        (cluster.disorder, cluster.resending) = (scenario.disorder, scenario.resending)
        cluster.group.isConfused = scenario.isContended
        stores = KnownStores(storeCount: scenario.storeCount, using: &random)
        let isUnharmed = scenario.storage == nil && harm == nil
        stockLoss =
            isUnharmed && random.chance(10)
            ? (
                random.number(0...scenario.steps), Int32(random.number(0...Int(scenario.partitionCount) - 1)),
                Double.random(in: 0.1...1, using: &random)
            ) : nil
        // An operator's anchor would be refused, too.
        refusing = isUnharmed ? RefusingTopic(steps: scenario.steps, using: &random) : nil
        clocks = InstanceClocks(age: scenario.window.age, using: &random)
        cluster.limitsTimes = clocks.haveLimits
        self.scenario = scenario
        (clients, storage) = (Clients(scenario, seed: random.next()), SimulatedStorage(cluster, flaw: flaw))
        (self.random, self.flaw, self.trace) = (random, flaw, trace)
        cluster.trace = trace
    }

    /// Runs with faults, then without any until all work is done, then audits the outcome.
    ///
    /// - Returns: the faults found; empty if there are none.
    func run() -> [String] {
        trace?("\(scenario)")
        if let stores { trace?("\(stores)") }
        // Records and requests in flight refer to the cluster, and would keep it in memory.
        defer { (cluster.sending, cluster.lateRequests) = ([], []) }
        while time < scenario.steps {
            disturb()
            stepOneWorker()
            time += 1
        }
        guard settle() else {
            return faults + ["commands are still unread long after the last fault: \(cluster.unread)"] + staleStock
        }
        return faults + cluster.wrongAnchors + audit()
    }

    private func log(_ text: @autoclosure () -> String) { trace?("\(time) \(text())") }

    // MARK: - Workers

    private var byName: [SimulatedWorker] { workers.sorted { $0.key < $1.key }.map(\.value) }

    private func start(_ name: String) {
        log("\(name): starts")
        let log = SimulatedPort(
            cluster: cluster, member: name, group: scenario.rivals.contains(name) ? 1 : 0, set: firstSet(of: name), flaw: flaw)
        log.longestRead = scenario.longestRead
        log.trace = trace.map { trace in { trace("    \(name): \($0)") } }
        workers[name] = SimulatedWorker(
            log, stores: stores?.next(), maxBatch: scenario.maxBatch, window: scenario.window, answerBytes: scenario.answerBytes,
            commitInterval: scenario.commitInterval, noteInterval: scenario.noteInterval,
            oldestForward: cluster.limitsTimes ? CommandTimes.longestUnread - 60_000 : nil
        ) { [unowned self, unowned log] event in
            trace?("    \(name): \(event)")
            if !isExpected(event, of: log) { faults.append("\(name): \(event)") }
        }
    }

    private func isExpected(_ event: WorkerEvent, of log: SimulatedPort) -> Bool {
        switch event {
        case .failed(let error):
            error == .replaced || !scenario.rivals.isEmpty && error.message.hasPrefix("the group \"")
        case .partitionStopped(let partition, let fault):
            // A worker that does not own the partition may find newer logs than it knows.
            storage.stop(partition, fault) || cluster.journal(of: partition).claimer != log.producers.map(\.id)
        default: true
        }
    }

    /// A worker begins with any set of ids, and at times with that of another process of its name.
    private func firstSet(of name: String) -> Int {
        let ghosts = workers.values.filter { $0.log.member == name }.map(\.log.set).sorted()
        let set = random.chance(50) ? random.pick(ghosts) : nil
        // It first takes the set after this one.
        return ((set ?? random.number(0...SimulatedPort.setCount - 1)) + SimulatedPort.setCount - 1) % SimulatedPort.setCount
    }

    private func stepOneWorker() {
        let ready = workers.keys.sorted().filter { (workers[$0]?.pausedUntil ?? 0) <= time }
        guard let name = random.pick(ready), let worker = workers[name] else { return }
        injectFault(worker)
        step(name, worker)
        if worker.log.point == scenario.pausePoint, worker.log.point != nil, random.chance(scenario.pauseThere) {
            pause(name, worker)
        }
    }

    private func step(_ name: String, _ worker: SimulatedWorker) {
        switch worker.step() {
        case .worked, .idle, .waiting: break
        // Rivals with equal back-offs would fence each other for ever.
        case .backOff(let attempt): worker.pausedUntil = max(worker.pausedUntil, time + random.number(0...attempt))
        case .stopped, .failed: workers[name] = nil
        }
    }

    private func injectFault(_ worker: SimulatedWorker) {
        worker.log.fault = { _ in nil }
        worker.log.lostReply = { _ in nil }
        if random.chance(scenario.lostDelivery) { worker.log.losesDelivery = true }
        guard random.chance(scenario.fault), let call = random.pick(SimulatedPort.Call.allCases) else { return }
        let mayFailUnsent: [LogError.Remedy] = call == .produce ? [.startOver] : [.retry, .startOver]
        // A call that may have taken effect cannot count as failed: it is made again, or its outcome is looked up.
        let isSent = SimulatedPort.Call.lossy.contains(call) && random.chance(50)
        let remedy = random.pick(isSent ? [.retry, .startOver] : mayFailUnsent) ?? .retry
        var isDue = true
        let fault = { (made: SimulatedPort.Call) -> LogError? in
            guard isDue, made == call else { return nil }
            isDue = false
            return LogError(remedy, "injected")
        }
        if isSent { worker.log.lostReply = fault } else { worker.log.fault = fault }
    }

    /// A paused process does not notice the pause. Meanwhile the group may give its partitions away.
    private func pause(_ name: String, _ worker: SimulatedWorker) {
        worker.pausedUntil = time + random.number(scenario.isContended ? 2...20 : 5...200)
        log("\(name): is paused until \(worker.pausedUntil)")
        if random.chance(70) { cluster.groups[worker.log.group].remove(worker.log.member) }
        // It may go on for a while before it learns of that.
        if random.chance(30) { worker.log.deafUntil = cluster.now + Timestamp(random.number(0...200) * scenario.stepTime) }
    }

    private func startOrCrash() {
        guard let name = random.pick(scenario.instances + scenario.rivals) else { return }
        guard let worker = workers.removeValue(forKey: name) else { return start(name) }
        if random.chance(scenario.ghost) {
            ghostCount += 1
            let ghost = "\(name)-ghost-\(ghostCount)"
            log("\(name): is taken for dead")
            workers[ghost] = worker
            pause(ghost, worker)
            return
        }
        log("\(name): crashes")
        worker.log.drop()
        // It may return before its session expires.
        if random.chance(50) { cluster.groups[worker.log.group].remove(name) }
    }

    // MARK: - The world

    private func disturb() {
        cluster.now += Int64(random.number(0...scenario.stepTime))
        // Most time passes while nothing happens.
        if random.chance(cluster.isDown ? 5 : scenario.leap) {
            cluster.now += Int64(random.number(0...scenario.leapTime))
        }
        clocks.disturb(cluster, of: scenario.instances + scenario.rivals)
        if random.chance(scenario.command) { clients.send(to: cluster, using: &random) }
        // Without workers nothing would happen.
        if workers.isEmpty || random.chance(scenario.crash) { startOrCrash() }
        // Rivals for the same partitions must run at the same time.
        if scenario.isContended, workers.count < scenario.instances.count, random.chance(20),
            let name = scenario.instances.first(where: { workers[$0] == nil })
        {
            start(name)
        }
        if random.chance(scenario.stop) { random.pick(byName)?.requestStop() }
        if random.chance(scenario.pause), let name = random.pick(workers.keys.sorted()), let worker = workers[name] {
            pause(name, worker)
        }
        disturbGroups()
        if random.chance(cluster.isDown ? 10 : scenario.outage) {
            cluster.isDown.toggle()
            log(cluster.isDown ? "no broker answers any more" : "the brokers answer again")
        }
        disturbTransactions()
        enlarge()
        beginOrEndRefusing()
        if let loss = stockLoss, loss.step == time {
            // The owner or its successor must repair all of it.
            let log = cluster[.stock, loss.partition]
            log.deleteRecords(before: log.start + Offset(Double(log.end - log.start) * loss.assignment))
            self.log("stock[\(loss.partition)] begins at \(log.start)")
        }
        if let fault = scenario.storage, fault.isDue(at: time), fault.kind != .trimmed || isServing {
            let outcome = storage.strike(fault)
            log(outcome)
        }
        doHarm()
        if storage.hasStopped, random.chance(5), let repair = storage.repair() { log(repair) }
        if random.chance(scenario.compaction) {
            let partition = Int32(random.number(0...Int(scenario.partitionCount) - 1))
            log("stock[\(partition)] is compacted")
            cluster[.stock, partition].compact()
        }
    }

    private func doHarm() {
        guard var harm else { return }
        prepare(for: harm)
        if time >= harm.step, time % 10 == 0, isHarmDue, canBeHarmed(by: harm), let outcome = storage.strike(&harm) {
            isHarmDue = false
            log(outcome)
            if harm.isUnattended { crashAll() }
            clients.only = nil
            if harm.kind == .recreatedInput { outgrow(harm.input) }
        }
        if harm.kind == .strangerInGroup, !isHarmDue, random.chance(3) {
            cluster.group.admitStranger()
            resetOffset()
        }
        // A client without an answer sends its command again.
        if random.chance(10), let (place, command) = random.pick(storage.unanswered) {
            cluster.send(place.topic, partition: place.partition, key: command.key?.bytes, value: command.value?.bytes)
        }
    }

    private func canBeHarmed(by harm: Harm) -> Bool {
        switch harm.kind {
        case .changedMenu: cluster.menu != .standard
        // For the reason given at `isServing`.
        case .compactedResults, .lostAnswers: isServing
        case .recreatedInput:
            (0..<scenario.partitionCount).contains { cluster.isIdle(harm.input, $0, for: scenario.window.retention) }
        default: true
        }
    }

    private func prepare(for harm: Harm) {
        switch harm.kind {
        case .compactedResults, .lostAnswers:
            if time == harm.prelude { age() }
        case .recreatedInput:
            if time == harm.prelude { clients.only = harm.input == .orders ? .restocks : .orders }
            if time == (harm.prelude + harm.step) / 2 { age() }
        case .changedMenu:
            if (harm.prelude..<harm.step).contains(time), time % 10 == 0 { changeMenu() }
        case .tombstone, .foreignStock, .lostCommands, .strangerInGroup: break
        }
    }

    /// Lets more time pass than repeats may take.
    private func age() { cluster.now += 2 * scenario.window.retention }

    /// Starts all instances with another menu, once all stores are in the stock.
    private func changeMenu() {
        let known = (0..<scenario.partitionCount).reduce(0) { $0 + revisions(.stock, $1).count }
        guard let menu = Harm.otherMenu, cluster.menu != menu, known > scenario.storeCount else { return }
        log("the menu is changed")
        cluster.menu = menu
        crashAll()
    }

    private func crashAll() {
        for (name, worker) in workers.sorted(by: { $0.key < $1.key }) {
            log("\(name): crashes")
            worker.log.drop()
        }
        workers = [:]
    }

    /// Makes a recreated input longer than it was, before any worker looks at it.
    private func outgrow(_ input: InputTopic) {
        clients.forget()
        age()
        clients.only = input
        let partitions = (0..<scenario.partitionCount).map { Place(topic: input.topic, partition: $0) }
        for _ in 0..<300 where partitions.contains(where: { cluster[$0].end <= cluster.position(of: $0) }) {
            clients.send(to: cluster, using: &random)
        }
        clients.only = nil
    }

    /// Whether no takeover is in progress. A journal that loses its beginning during a restore is not modelled.
    private var isServing: Bool { workers.values.allSatisfy { $0.held.partitions > 0 && !$0.isRestoring } }

    private func disturbGroups() {
        if random.chance(scenario.rebalance) {
            log("the group begins a new generation")
            cluster.group.rebalance()
        }
        if random.chance(scenario.groupTrouble) {
            switch random.number(0...3) {
            case 0:
                cluster.group.isConfused.toggle()
                log("the group is \(cluster.group.isConfused ? "confused" : "right again")")
                cluster.group.rebalance()
            case 1:
                log("the group is deleted")
                cluster.group.delete()
            case 2:
                log("the group's offsets expire")
                cluster.group.forgetOffsets()
            default: resetOffset()
            }
        }
        if random.chance(scenario.lateArrival), let index = random.pick(cluster.lateOffsets.indices) {
            let (group, offsets) = cluster.lateOffsets.remove(at: index)
            cluster.groups[group].commit(offsets)
        }
    }

    /// Any program may set a group's offset to anything. Without a journal, the worker would rightly believe it.
    private func resetOffset() {
        guard scenario.storage == nil, let place = random.pick(cluster.inputs) else { return }
        guard !cluster.journal(of: place.partition).positions.isEmpty else { return }
        let offset = Offset(random.number(0...Int(cluster[place].end) + 5))
        log("\(place) of the group is set to \(offset)")
        cluster.group.commit([place: GroupOffset(offset: offset, mark: nil)])
    }

    private func disturbTransactions() {
        if random.chance(scenario.timeOut), let producer = random.pick(cluster.transactions.indices) {
            log("\(cluster.transactions[producer].id) times out")
            cluster.transactions[producer].timeOut()
        }
        guard !cluster.isDown else { return }
        if random.chance(scenario.marker) { cluster.writeMarker() }
        if random.chance(scenario.delivery) { cluster.deliver() }
        if random.chance(scenario.lateArrival) { cluster.receiveLateRequest() }
        if cluster.hasForeignTransaction ? random.chance(2) : random.chance(scenario.foreignTransaction) {
            if cluster.hasForeignTransaction {
                log("the other program's transaction ends")
                cluster.endForeignTransactions()
            } else {
                let place = Place(
                    topic: random.chance(50) ? .results : .stock,
                    partition: Int32(random.number(0...Int(scenario.partitionCount) - 1)))
                log("another program's transaction begins in \(place)")
                cluster.beginForeignTransaction(in: place)
            }
        }
        if random.chance(scenario.leaderLoss), let topic = random.pick(Topic.allCases) {
            let partition = Int32(random.number(0...Int(cluster.count(of: topic)) - 1))
            cluster[topic, partition].isLeaderless = true
            log("\(topic)[\(partition)] has no leader any more")
        }
        if random.chance(5), !cluster.hasLeaders {
            log("all partitions have leaders again")
            cluster.electLeaders()
        }
    }

    /// The groups learn of new partitions later than the senders do, and of each topic at a different time.
    private func enlarge() {
        for (topic, added, step) in scenario.enlargements where step == time {
            cluster.enlarge(topic, to: scenario.partitionCount + added)
        }
        for topic in InputTopic.allCases where random.chance(2) && !cluster.isDown {
            if cluster.announcePartitions(of: topic) { log("the groups hear of new partitions of \(topic)") }
        }
    }

    private func beginOrEndRefusing() {
        guard let refusing, refusing.steps.contains(time) != (cluster.refusing != nil) else { return }
        cluster.refusing = refusing.steps.contains(time) ? refusing : nil
        log("\(refusing.topic) takes " + (cluster.refusing.map { "\($0.limit) bytes at most" } ?? "any record again"))
    }

    /// Ends all faults and lets the workers catch up.
    ///
    /// - Returns: whether they did within a generous number of rounds.
    private func settle() -> Bool {
        endTrouble()
        // Long enough for all periodic work.
        let least = scenario.storage == nil && scenario.rivals.isEmpty ? (harm == nil ? 10 : 40) : 150
        for round in 0..<(1_000 + 2 * scenario.steps) {
            time += 1
            beginOrEndRefusing()
            // Fast enough for paused partitions to be retried.
            cluster.now += 100
            if workers.isEmpty { start("instance-1") }
            cluster.transactions.timeOut(begunBefore: cluster.now - 10_000)
            for _ in cluster.sending { cluster.deliver() }
            cluster.writeAllMarkers()
            for (name, worker) in workers.sorted(by: { $0.key < $1.key }) where worker.pausedUntil <= time {
                for _ in 0..<4 where workers[name] === worker { step(name, worker) }
            }
            if !scenario.rivals.isEmpty {
                for worker in workers.values where worker.held.partitions > 0 { served[worker.log.group] = time }
            }
            if cluster.hasForeignTransaction {
                endForeignTransactions(round)
            } else if storage.hasStopped {
                if let repair = storage.repair() { log(repair) }
            } else if round >= least, round % 10 == 0, isDone {
                return true
            }
        }
        return false
    }

    /// Ends the transactions of other programs once all other partitions are drained, since their commands need not wait.
    private func endForeignTransactions(_ round: Int) {
        let held = Set(cluster.foreignTransactions.map(\.partition)).union(storage.lost)
        let isSettling = !scenario.rivals.isEmpty || time < refusing?.steps.upperBound ?? 0
        let isLate = round > 600 + scenario.steps && !isSettling
        guard cluster.isDrained(but: held) || isLate || storage.hasStopped || !scenario.rivals.isEmpty else { return }
        if isLate { faults.append("commands wait for another program's transaction in another partition: \(cluster.unread)") }
        log("the other program's transaction ends")
        cluster.endForeignTransactions()
    }

    private func endTrouble() {
        log("all trouble ends")
        cluster.isDown = false
        cluster.electLeaders()
        if clocks.areWrong {
            cluster.clockOffsets = [:]
            // Longer than a worker stays out of the group because of its clock.
            cluster.now += 300_000
        }
        (cluster.lateRequests, cluster.lateOffsets, cluster.disorder, cluster.resending) = ([], [], 0, 0)
        clients.deliverAll(to: cluster)
        // Only one of the two groups may remain.
        for name in [scenario.instances[0]] + scenario.rivals.prefix(1) where workers[name] == nil && !scenario.rivals.isEmpty {
            start(name)
        }
        cluster.transactions.timeOut()
        for topic in InputTopic.allCases { cluster.announcePartitions(of: topic) }
        for group in cluster.groups.indices {
            for (name, _) in cluster.groups[group].members where workers[name] == nil { cluster.groups[group].remove(name) }
            cluster.groups[group].isConfused = false
            cluster.groups[group].rebalance()
        }
        for worker in workers.values {
            (worker.log.deafUntil, worker.pausedUntil, worker.log.losesDelivery) = (.min, 0, false)
            (worker.log.fault, worker.log.lostReply) = ({ _ in nil }, { _ in nil })
        }
    }

    /// Whether workers of two groups have read partitions in the last ten seconds.
    private var areRivalsServing: Bool { served.values.filter { time - $0 < 100 }.count > 1 }

    private var isDone: Bool {
        !areRivalsServing && time >= refusing?.steps.upperBound ?? 0 && cluster.isDrained(but: storage.lost)
            && staleStock.isEmpty && (flaw != .markersNotPassed || !cluster.lags)
    }

    // MARK: - The verdict

    /// The faults of the committed records.
    private func audit() -> [String] {
        let topics = AuditTopics(cluster, cuts: storage.cuts)
        let rules = AuditRules(
            partitionCount: scenario.partitionCount, window: scenario.window,
            menus: [Menu.standard] + [Harm.otherMenu].compactMap(\.self), stores: stores?.only,
            // Partitions that stopped for good leave commands open.
            allowsOpen: !storage.lost.isEmpty, limitsTimes: cluster.limitsTimes)
        do {
            return try Audit(of: topics, by: rules).faults.map(\.description).filter(isCounted)
                + brokenTruth
        } catch { return ["the audit fails: \(error)"] }
    }

    /// The faults that ``SimulatedTruth`` finds.
    private var brokenTruth: [String] {
        guard scenario.storage == nil, harm == nil else { return [] }
        return (0..<scenario.partitionCount).flatMap { SimulatedTruth(cluster, $0).faults }
    }

    /// A claim that was in flight while its journal lost records has a `since` after its own offset.
    private func isCounted(_ fault: String) -> Bool {
        scenario.storage?.topic != .results || !fault.hasSuffix("after the claim itself")
    }

    /// Stores whose stock lags behind the journal, although there was time to write it. The auditor cannot know that.
    private var staleStock: [String] {
        (0..<cluster.partitionCount).filter { !storage.lost.contains($0) }.flatMap { partition in
            // An operator who continues with a new stock topic gives up changes that no remaining answer names.
            let told = revisions(.results, partition, from: storage.cuts[partition] ?? 0)
            let written = revisions(.stock, partition)
            return told.filter { $0.value > written[$0.key] ?? 0 }.keys.map { store in
                "the stock of \"\(String(decoding: store, as: UTF8.self))\" was not written"
            }.sorted()
        }
    }

    /// The last revision of each store.
    private func revisions(_ topic: Topic, _ partition: Int32, from start: Offset = 0) -> [[UInt8]: Int] {
        let log = cluster[topic, partition]
        return log.read(from: start, ignoringDamage: true).records.reduce(into: [:]) { revisions, found in
            let revision = SimulatedJournal.revision(found.record)
            // After a tombstone, the stock holds nothing of the store.
            if let store = found.record.key?.bytes, revision > 0 || topic == .stock { revisions[store] = revision }
        }
    }
}

extension LogError {
    /// Another process has joined the group under the worker's name.
    static let replaced = LogError(.stop, "another process of this name has joined the group")
}
