import JuiceAudit
import JuiceDomain
import JuiceEngine
import JuiceRestockBot
import Kafka

/// Restock bots beside the workers, in some runs. They start, stop, crash and pause, and their refills get lost, arrive late or
/// twice. They have their own random generator, so that runs without them stay the same.
struct SimulatedBots {
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
    private let group: SimulatedBotGroup
    private let flaw: Flaw?
    private let trace: ((String) -> Void)?
    private var random: SeededGenerator
    private let rules: RefillRules
    private let beginning = ContinuousClock.now
    private let beginningTime: Int64
    private var bots: [Bot] = []
    private var count = 0

    // How often, in percent of the steps.
    private let turn: Double
    private let start: Double
    private let kill: Double
    private let stop: Double
    private let pause: Double
    private let rebalance: Double
    private let arrival: Double
    /// Resets of committed positions.
    private let rewind: Double
    private let fault: Double
    /// In percent of the refills.
    private let unlucky: Double

    /// Nil for runs without bots.
    init?(seed: UInt64, _ cluster: SimulatedCluster, flaw: Flaw?, trace: ((String) -> Void)?) {
        var random = SeededGenerator(seed: ~seed)
        guard random.chance(25) else { return nil }
        func rate(_ most: Double) -> Double {
            random.chance(25) ? 0 : Double.random(in: 0...most, using: &random)
        }
        let low = random.number(0...8)
        guard let rules = RefillRules(low: low, target: low + random.number(1...30)) else { return nil }
        self.rules = rules
        turn = Double(random.number(10...90))
        start = Double(random.number(1...5))
        kill = rate(2)
        stop = rate(0.5)
        pause = rate(2)
        rebalance = rate(2)
        arrival = Double(random.number(2...50))
        rewind = rate(0.5)
        fault = rate(10)
        unlucky = rate(40)
        (self.cluster, self.flaw, self.trace, self.random) = (cluster, flaw, trace, random)
        group = SimulatedBotGroup(partitionCount: cluster.partitionCount)
        beginningTime = cluster.now
    }

    /// Lets a bot act, at a step of the simulation.
    mutating func step(at time: Int) {
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

    private mutating func disturb(at time: Int) {
        if bots.count < 3, random.chance(start) { startBot() }
        if random.chance(kill), let bot = random.pick(bots) {
            log(bot, "is killed")
            bots.removeAll { $0 === bot }
            // Its session may expire now or later.
            if random.chance(50) { group.members.remove(bot.log.name) }
        }
        if random.chance(stop), let bot = random.pick(bots) {
            log(bot, "stops")
            bot.machine.commitAndLeave()
            bots.removeAll { $0 === bot }
        }
        if random.chance(pause), let bot = random.pick(bots) {
            bot.pausedUntil = time + random.number(5...200)
            log(bot, "is paused until \(bot.pausedUntil)")
            if random.chance(70) { group.members.remove(bot.log.name) }
        }
        if random.chance(5) { removeDead() }
        if random.chance(rebalance) { group.members.rebalance() }
        if random.chance(arrival), !cluster.isDown, !group.inFlight.isEmpty {
            let (_, refill) = group.inFlight.removeFirst()
            trace?("\(time) \(refill.id) \(refill.store) arrives late")
            cluster.write(refill)
        }
        if random.chance(rewind) {
            let partition = Int32(random.number(0...Int(cluster.partitionCount) - 1))
            group.committed[partition] = group.committed[partition].map { Offset(random.number(0...Int($0))) }
            group.members.rebalance()
            trace?("\(time) the bots' position of \(partition) is set back to \(group.committed[partition] ?? 0)")
        }
    }

    private func log(_ bot: Bot, _ text: String) { trace?("    \(bot.log.name): \(text)") }

    private mutating func startBot() {
        count += 1
        let name = "bot-\(count)"
        let log = SimulatedAnswerLog(name, cluster, group, flaw: flaw)
        let trace = trace.map { trace in { (text: String) in trace("    \(name): \(text)") } }
        log.trace = trace
        bots.append(Bot(log, rules, trace: trace))
        trace?("starts")
    }

    private func removeDead() {
        for (name, _) in group.members.members where !bots.contains(where: { $0.log.name == name }) { group.members.remove(name) }
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
            let journal = cluster.journal(of: place)
            journal.read()
            let read = journal.positions[place] ?? 0
            var known: Set<[UInt8]> = []
            for (offset, record) in cluster[place].readCommitted().records {
                guard let value = record.value?.bytes, value.starts(with: #"{"restockId":"bots/"#.utf8) else { continue }
                let name = (record.key?.bytes ?? []) + value.prefix { $0 != UInt8(ascii: ",") }
                if offset < read { known.insert(name) } else if known.contains(name) { return false }
            }
            return true
        }
    }

    // MARK: - The end

    /// A step without faults.
    mutating func stepCalmly() {
        removeDead()
        if bots.isEmpty { startBot() }
        for (_, refill) in group.inFlight { cluster.write(refill) }
        group.inFlight = []
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
        RefillAudit(of: topics, by: RefillAuditRules(group: "bots", low: rules.low, target: rules.target)).faults
    }
}

/// The bots' consumer group, and the refills under way.
final class SimulatedBotGroup {
    var members: SimulatedGroup
    var committed: [Int32: Offset] = [:]
    /// Refills that no broker has received yet, in the order of sending.
    var inFlight: [(partition: Int32, refill: Refill)] = []

    init(partitionCount: Int32) { members = SimulatedGroup(partitionCounts: [partitionCount]) }
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
    private let group: SimulatedBotGroup
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

    init(_ name: String, _ cluster: SimulatedCluster, _ group: SimulatedBotGroup, flaw: Flaw?) {
        (self.name, self.cluster, self.group, self.flaw) = (name, cluster, group, flaw)
    }

    /// Whether it has the current assignment and has read all of it.
    var isAtEnds: Bool {
        guard let membership, hasBegun, group.members.isCurrent(membership) else { return false }
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
        if membership.map({ !group.members.isCurrent($0) }) ?? true { return rebalance() }
        return read()
    }

    /// Rebalances as an eager consumer: first everything is revoked, then the new share is assigned.
    private func rebalance() -> AnswerPoll {
        (next, hasBegun) = ([:], false)
        if membership != nil {
            trace?("poll: revoked")
            membership = nil
        } else {
            membership = group.members.join(name)
            trace?("poll: assigned \(group.members.assignment(of: name))")
        }
        return .rebalanced
    }

    private func read() -> AnswerPoll {
        var answers: [AnswerRecord] = []
        var ends: Positions = [:]
        lent = []
        for partition in next.keys.sorted(by: { $0.partition < $1.partition }) {
            let log = cluster[.results, partition.partition]
            let span = log.readCommitted(from: next[partition] ?? 0, max: maxRecords)
            let end = span.next
            next[partition] = end
            for (offset, record) in span.records {
                lent.append(record)
                answers.append((partition, offset, record.timestamp, record.value?.view))
            }
            if end == log.lastStableOffset, reportedEnds[partition] != end {
                (reportedEnds[partition], ends[partition]) = (end, end)
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
        return group.members.assignment(of: membership.name)[0].reduce(into: [:]) {
            let start = cluster[.results, $1].start
            $0[TopicPartition(topic: "juice.results", partition: $1)] = max(group.committed[$1] ?? start, start)
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
            let isBehind = cluster.isDown || group.inFlight.contains { $0.partition == refill.partition }
            let fate = isBehind ? .late : fate()
            trace?("send: \(refill.id) \(refill.store) \(refill.entries.map { "\($0.fruit)+\($0.amount)" }): \(fate)")
            switch fate {
            case .confirmed, .unconfirmed: cluster.write(refill)
            case .twice:
                cluster.write(refill)
                cluster.write(refill)
            case .lost: break
            case .late: group.inFlight.append((refill.partition, refill))
            }
            if fate != .confirmed, fate != .twice { isConfirmed = false }
        }
        if !isConfirmed { throw KafkaError(code: .timedOut, isRetriable: true) }
    }

    func commit(_ positions: Positions) throws(KafkaError) {
        try check(.commit)
        guard let membership, group.members.isCurrent(membership) else {
            trace?("commit: refused")
            throw KafkaError(code: .state)
        }
        for (partition, position) in positions {
            group.committed[partition.partition] = flaw == .refillPositionNotHeld ? next[partition] ?? position : position
        }
        trace?("commit: " + positions.map { "\($0.partition)@\($1)" }.sorted().joined(separator: " "))
        if let fault, fault.call == .commit {
            self.fault = nil
            throw KafkaError(code: .timedOut, isRetriable: true)
        }
    }

    func leave() {
        group.members.remove(name)
        (membership, next, hasBegun) = (nil, [:], false)
    }
}

extension SimulatedCluster {
    /// Writes a refill.
    func write(_ refill: Refill) {
        send(
            .restocks, partition: refill.partition, key: Array(refill.store.utf8), value: Array(refill.value),
            timestamp: refill.time)
    }
}
