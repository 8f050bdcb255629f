import JuiceAudit
import JuiceMaker
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
}

// MARK: - Long outages

extension SimulatedBots {
    /// Whether the clock may leap. A window may pass while refills lie unread, but not between two copies of one: the service
    /// would rightly make the second copy again.
    var allowLeaps: Bool {
        (0..<cluster.partitionCount).allSatisfy { partition in
            // An uncommitted answer may be of any refill.
            let results = cluster[.results, partition]
            guard results.lastStableOffset == results.end else { return false }
            let place = SimulatedCluster.Place(topic: .restocks, partition: partition)
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
}

// MARK: - The end

extension SimulatedBots {
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
        RefillAudit(of: topics, by: RefillAuditRules(group: "bots", low: rules.low, target: rules.target)).faults.map(\.description)
    }
}
