import JuiceAudit
import JuiceDomain
import JuiceEngine
import JuiceRestockBot
import Kafka

/// Restock bots beside the workers, in some runs. They start, stop, crash and pause, and their refills get lost, arrive late or
/// twice. They have their own random generator, so that runs without them stay the same.
final class SimulatedBots {
    private final class Bot {
        let log: SimulatedAnswerLog
        var machine: RestockBot<SimulatedAnswerLog>
        var pausedUntil = 0

        init(_ log: SimulatedAnswerLog, _ rules: RefillRules, trace: ((String) -> Void)?) {
            self.log = log
            machine = RestockBot(log: log, rules: rules, group: "bots") { trace?("\($0)") }
        }
    }

    private let cluster: SimulatedCluster
    private let flaw: Flaw?
    private let trace: ((String) -> Void)?
    private var random: SeededGenerator
    private let rules: RefillRules
    private let beginning = ContinuousClock.now
    private let beginningTime: Int64
    private var bots: [Bot] = []
    private var count = 0

    /// How often in percent of the steps. A rewind resets committed positions.
    private let turn, start, kill, stop, pause, rebalance, arrival, rewind, fault: Double
    /// In percent of the refills.
    private let unlucky: Double

    /// Nil for runs without bots.
    init?(seed: UInt64, _ cluster: SimulatedCluster, flaw: Flaw?, trace: ((String) -> Void)?) {
        var random = SeededGenerator(seed: ~seed)
        guard random.chance(25) else { return nil }
        func rate(_ most: Double) -> Double { random.chance(25) ? 0 : Double.random(in: 0...most, using: &random) }
        let low = random.number(0...8)
        guard let rules = RefillRules(low: low, target: low + random.number(1...30)) else { return nil }
        self.rules = rules
        (turn, start) = (Double(random.number(10...90)), Double(random.number(1...5)))
        (kill, stop, pause, rebalance) = (rate(2), rate(0.5), rate(2), rate(2))
        arrival = Double(random.number(2...50))
        (rewind, fault, unlucky) = (rate(0.5), rate(10), rate(40))
        (self.cluster, self.flaw, self.trace, self.random) = (cluster, flaw, trace, random)
        beginningTime = cluster.now
    }

    /// Lets a bot act, at a step of the simulation.
    func step(at time: Int) {
        disturb(at: time)
        guard random.chance(turn), let bot = random.pick(bots.filter { $0.pausedUntil <= time }) else { return }
        if random.chance(fault), let call = random.pick(SimulatedAnswerLog.Call.allCases) {
            bot.log.fault = (call, isDone: call == .commit && random.chance(50))
        }
        let fates = (0..<16).map { _ in random.chance(unlucky) ? random.pick(SimulatedAnswerLog.Fate.allCases) : nil }
        var next = 0
        bot.log.fate = {
            next += 1
            return fates[next % fates.count] ?? .confirmed
        }
        bot.log.maxRecords = random.number(1...20)
        step(bot)
    }

    private func disturb(at time: Int) {
        if bots.count < 3, random.chance(start) { startBot() }
        if random.chance(kill), let bot = random.pick(bots) {
            log(bot, "is killed")
            bots.removeAll { $0 === bot }
            // Its session may expire now or later.
            if random.chance(50) { cluster.bots.remove(bot.log.name) }
        }
        if random.chance(stop), let bot = random.pick(bots) {
            log(bot, "stops")
            bot.machine.commitAndLeave()
            bots.removeAll { $0 === bot }
        }
        if random.chance(pause), let bot = random.pick(bots) {
            bot.pausedUntil = time + random.number(5...200)
            log(bot, "is paused until \(bot.pausedUntil)")
            if random.chance(70) { cluster.bots.remove(bot.log.name) }
        }
        if random.chance(5) { removeDead() }
        if random.chance(rebalance) { cluster.bots.rebalance() }
        if random.chance(arrival), !cluster.isDown, !cluster.lateRefills.isEmpty {
            let refill = cluster.lateRefills.removeFirst()
            trace?("\(time) \(refill.id) \(refill.store) arrives late")
            cluster.send(refill)
        }
        if random.chance(rewind) {
            let place = Place(topic: .results, partition: Int32(random.number(0...Int(cluster.partitionCount) - 1)))
            let position = cluster.bots.offsets[place].map { Offset(random.number(0...Int($0))) }
            if let position { cluster.bots.commit([place: position]) }
            cluster.bots.rebalance()
            trace?("\(time) the bots' position of \(place.partition) is set back to \(position ?? 0)")
        }
    }

    private func log(_ bot: Bot, _ text: String) { trace?("    \(bot.log.name): \(text)") }

    private func startBot() {
        count += 1
        let name = "bot-\(count)"
        let log = SimulatedAnswerLog(name, cluster, flaw: flaw)
        let trace = trace.map { trace in { (text: String) in trace("    \(name): \(text)") } }
        log.trace = trace
        bots.append(Bot(log, rules, trace: trace))
        trace?("starts")
    }

    private func removeDead() {
        for (name, _) in cluster.bots.members where !bots.contains(where: { $0.log.name == name }) { cluster.bots.remove(name) }
    }

    /// A bot commits positions every five seconds. Its clock is 50 times as fast, so that a run has enough commits.
    private func step(_ bot: Bot) {
        let elapsed = Duration.milliseconds(50 * (cluster.now - beginningTime))
        if case .failed(let error) = bot.machine.step(now: beginning + elapsed) { log(bot, "fails: \(error)") }
    }

    // MARK: - Long outages

    /// Whether the clock may leap. A window may pass while refills lie unread, but not between two copies of one: the service
    /// would rightly make the second copy again.
    var allowLeaps: Bool {
        (0..<cluster.partitionCount).allSatisfy { partition in
            // An uncommitted answer may be of any refill.
            let results = cluster[.results, partition]
            guard results.lastStableOffset == results.end else { return false }
            let place = Place(topic: .restocks, partition: partition)
            let read = cluster.position(of: place)
            var known: Set<[UInt8]> = []
            for (offset, record) in cluster[place].read().records {
                guard let value = record.value?.bytes, value.starts(with: #"{"restockId":"bots/"#.utf8) else { continue }
                let name = (record.key?.bytes ?? []) + value.prefix { $0 != UInt8(ascii: ",") }
                if offset < read { known.insert(name) } else if known.contains(name) { return false }
            }
            return true
        }
    }

    // MARK: - The end

    /// A step without faults.
    func stepCalmly() {
        removeDead()
        if bots.isEmpty { startBot() }
        cluster.lateRefills.forEach(cluster.send)
        cluster.lateRefills = []
        for bot in bots {
            bot.log.fault = nil
            bot.log.fate = { .confirmed }
            bot.log.maxRecords = 20
            step(bot)
        }
    }

    /// Whether the bots are at the ends of all partitions and have nothing left to refill.
    var isDone: Bool { !bots.isEmpty && bots.allSatisfy { $0.log.isAtEnds && $0.machine.isSettled } }

    /// The faults of their refills.
    func faults(in topics: AuditTopics) -> [String] {
        RefillAudit(
            restocks: topics[.restocks], answers: topics[.results], group: "bots", low: rules.low, target: rules.target
        ).faults
    }
}

/// One bot's log on a ``SimulatedCluster``: a member of the bots' group.
final class SimulatedAnswerLog: AnswerLog {
    enum Call: CaseIterable { case poll, positions, start, commit }

    /// The fate of a refill that is sent.
    enum Fate: CaseIterable {
        case confirmed
        /// It is written twice, the second time by a retry.
        case twice
        case lost
        case unconfirmed
        /// It arrives after the bot gave it up, as do later refills for the same partition until then.
        case late
    }

    let name: String
    private let cluster: SimulatedCluster
    private let flaw: Flaw?
    private var membership: SimulatedGroup.Membership?
    /// The next answer to read.
    private var next: Positions = [:]
    private var reportedEnds: Positions = [:]
    private var lent: [SimulatedPartition.Record] = []
    private var hasBegun = false

    /// The call that fails. A commit may take effect all the same.
    var fault: (call: Call, isDone: Bool)?
    /// Called for each refill.
    var fate: () -> Fate = { .confirmed }
    /// The most answers of one partition in a poll.
    var maxRecords = 1
    var trace: ((String) -> Void)?

    init(_ name: String, _ cluster: SimulatedCluster, flaw: Flaw?) {
        (self.name, self.cluster, self.flaw) = (name, cluster, flaw)
    }

    /// Whether it has the current assignment and has read all of it.
    var isAtEnds: Bool {
        guard let membership, hasBegun, cluster.bots.isCurrent(membership) else { return false }
        return next.allSatisfy { $1 == cluster[.results, $0.partition].lastStableOffset }
    }

    private func check(_ call: Call) throws(KafkaError) {
        if cluster.isDown, call != .poll, call != .start { throw KafkaError(code: .timedOut, isRetriable: true) }
        guard let fault, fault.call == call, !fault.isDone else { return }
        self.fault = nil
        trace?("\(call): injected")
        throw KafkaError(code: .timedOut, isRetriable: true)
    }

    func poll() throws(KafkaError) -> AnswerPoll {
        do throws(KafkaError) {
            try check(.poll)
        } catch {
            leave()
            throw error
        }
        guard !cluster.isDown else { return .answers([], ends: [:]) }
        if membership.map({ !cluster.bots.isCurrent($0) }) ?? true { return rebalance() }
        return read()
    }

    /// Rebalances as an eager consumer: first everything is revoked, then the new share is assigned.
    private func rebalance() -> AnswerPoll {
        (next, hasBegun) = ([:], false)
        if membership != nil {
            trace?("poll: revoked")
            membership = nil
        } else {
            membership = cluster.bots.join(name)
            trace?("poll: assigned \(cluster.bots.assignment(of: name))")
        }
        return .rebalanced
    }

    private func read() -> AnswerPoll {
        var answers: [AnswerRecord] = []
        var ends: Positions = [:]
        lent = []
        for partition in next.keys.sorted(by: { $0.partition < $1.partition }) {
            let log = cluster[.results, partition.partition]
            let span = log.read(from: next[partition] ?? 0, max: maxRecords)
            next[partition] = span.next
            lent += span.records.map(\.record)
            answers += span.records.map { (partition, $0.offset, $0.record.timestamp, $0.record.value?.view) }
            if span.next == log.lastStableOffset, reportedEnds[partition] != span.next {
                (reportedEnds[partition], ends[partition]) = (span.next, span.next)
            }
        }
        for answer in answers {
            let value = answer.value.map { String(decoding: $0.prefix(200), as: UTF8.self) } ?? "null"
            trace?("poll: \(answer.partition.partition)@\(answer.offset) \(value)")
        }
        return .answers(answers, ends: ends)
    }

    func positions() throws(KafkaError) -> Positions? {
        guard let membership else { return nil }
        try check(.positions)
        return cluster.bots.assignment(of: membership.name)[0].reduce(into: [:]) {
            let committed = cluster.bots.offsets[Place(topic: .results, partition: $1)] ?? 0
            $0[TopicPartition(topic: "juice.results", partition: $1)] = max(committed, cluster[.results, $1].start)
        }
    }

    func start(at positions: Positions) throws(KafkaError) {
        try check(.start)
        trace?("start: " + positions.map { "\($0.partition)@\($1)" }.sorted().joined(separator: " "))
        (next, reportedEnds, hasBegun) = (positions, [:], true)
    }

    func send(_ refills: [Refill]) throws(KafkaError) {
        var isConfirmed = true
        for var refill in refills {
            if flaw == .refillIDNotDeterministic {
                let partition = next.first { $0.key.partition == refill.partition }
                refill.id = RefillIDs(group: "bots", partition: refill.partition)[partition?.value ?? 0]
            }
            let isBehind = cluster.isDown || cluster.lateRefills.contains { $0.partition == refill.partition }
            let fate = isBehind ? .late : fate()
            trace?("send: \(refill.id) \(refill.store) \(refill.entries.map { "\($0.fruit)+\($0.amount)" }): \(fate)")
            switch fate {
            case .confirmed, .unconfirmed: cluster.send(refill)
            case .twice: for _ in 0..<2 { cluster.send(refill) }
            case .lost: break
            case .late: cluster.lateRefills.append(refill)
            }
            if fate != .confirmed, fate != .twice { isConfirmed = false }
        }
        if !isConfirmed { throw KafkaError(code: .timedOut, isRetriable: true) }
    }

    func commit(_ positions: Positions) throws(KafkaError) {
        try check(.commit)
        guard let membership, cluster.bots.isCurrent(membership) else {
            trace?("commit: refused")
            throw KafkaError(code: .state)
        }
        for (partition, position) in positions {
            let committed = flaw == .refillPositionNotHeld ? next[partition] ?? position : position
            cluster.bots.commit([Place(topic: .results, partition: partition.partition): committed])
        }
        trace?("commit: " + positions.map { "\($0.partition)@\($1)" }.sorted().joined(separator: " "))
        if let fault, fault.call == .commit {
            self.fault = nil
            throw KafkaError(code: .timedOut, isRetriable: true)
        }
    }

    func leave() {
        cluster.bots.remove(name)
        (membership, next, hasBegun) = (nil, [:], false)
    }
}
