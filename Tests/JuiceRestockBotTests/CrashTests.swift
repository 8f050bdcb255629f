import JuiceAudit
import JuiceDomain
import JuiceMessages
import TestSupport
import Testing

@testable import JuiceRestockBot

/// Bots that crash, freeze and take over from each other between any two steps. From what is in the topics, an audit judges that
/// each shortage was refilled once.
@Suite struct CrashTests {
    @Test func eachShortageIsRefilledOnce() throws {
        var (refills, copies, restarts) = (0, 0, 0)
        for seed in 0..<500 {
            var run = try CrashingBots(seed: UInt64(seed))
            let audit = try run.run()
            #expect(audit.faults == [], "seed \(seed)")
            (refills, copies, restarts) = (refills + audit.refills, copies + audit.copies, restarts + run.restarts)
        }
        #expect(refills > 5000)
        #expect(copies > 1000, "bots that took over sent nothing again")
        #expect(restarts > 5000)
    }

    /// What breaks the bot must be found.
    @Test(arguments: CrashingBots.Flaw.allCases) func theAuditFinds(flaw: CrashingBots.Flaw) throws {
        let seed = try (0..<2000).first { seed in
            var run = try CrashingBots(seed: UInt64(seed), flaw: flaw)
            return try run.run().faults != []
        }
        #expect(seed != nil)
    }
}

/// One partition of results and restocks, a service that answers orders at once and restocks in their order, and bots.
struct CrashingBots {
    enum Flaw: CaseIterable {
        /// A refill is named after the position of its bot.
        case idNotDeterministic
        /// The position is committed, past shortages that are not refilled yet.
        case positionNotHeld
        /// A bot decides before it has read what was written before it began.
        case decidedBeforeTheEnd
    }

    private struct Bot {
        let number: Int
        var state: PartitionShortages
        /// An end of the answers that it knows. It decides only once it has read to there.
        var end: Int64
        var pausedUntil = 0
        var wasPaused = false
    }

    private let flaw: Flaw?
    private let rules: RefillRules
    private let crash, pause, unlucky, calm: Double
    private var random: SeededGenerator
    private let decoder = AnswerDecoder()
    private var answers: [AuditRecord] = []
    private var restocks: [AuditRecord] = []
    /// Restocks that are answered.
    private var handled = 0
    private var firstAnswers: [String: String] = [:]
    private var levels: [String: [String: Int]] = [:]
    private var revisions: [String: Int] = [:]
    private var committed: Int64 = 0
    private var lateRefills: [Refill] = []
    private var bots: [Bot] = []
    private var owner = 0
    private(set) var restarts = 0

    init(seed: UInt64, flaw: Flaw? = nil) throws {
        var random = SeededGenerator(seed: seed)
        let low = random.number(0...6)
        rules = try #require(RefillRules(low: low, target: low + random.number(1...30)))
        (crash, pause) = (Double(random.number(0...5)), Double(random.number(0...5)))
        (unlucky, calm) = (Double(random.number(0...40)), Double(random.number(0...90)))
        (self.random, self.flaw) = (random, flaw)
        // The menu had durians once.
        revisions = ["b": 1]
        answer(
            #""orderId":"0""#, store: "b", #""juice":"j","quantity":1,"used":{},"left":{"durian":0},"revision":1"#,
            type: "juiceMade")
    }

    mutating func run() throws -> RefillAudit {
        for time in 0..<400 {
            if random.chance(calm) { stepService() } else { disturb(at: time) }
            if let index = bots.indices.filter({ bots[$0].pausedUntil <= time }).randomElement(using: &random) {
                try step(index, at: time)
            }
        }
        // Without faults, until nothing is left to do.
        for refill in lateRefills { write(refill) }
        (lateRefills, bots) = ([], [])
        takeOver()
        for _ in 0..<1000 where handled < restocks.count || !isSettled {
            while handled < restocks.count { stepService() }
            for _ in 0..<10 { try step(0, at: .max) }
        }
        #expect(isSettled)
        return RefillAudit(restocks: [restocks], answers: [answers], group: "bots", low: rules.low, target: rules.target)
    }

    private var isSettled: Bool { bots[0].state.position == answers.count && bots[0].state.unsettled == 0 }

    // MARK: - The service and its clients

    private mutating func disturb(at time: Int) {
        let store = random.pick(["a", "b"]) ?? ""
        let fruit = random.pick(["kiwi", "mango"]) ?? ""
        switch random.number(0...9) {
        case 0: write(restock: "staff-\(time)", store: store, "{\"\(fruit)\":\(random.number(1...40))}")
        case 1...5: order(random.number(1...12), fruit, store)
        case 6 where !lateRefills.isEmpty: write(lateRefills.removeFirst())
        default: stepService()
        }
        if bots.isEmpty || random.chance(crash) {
            // Nothing is left of a bot that crashes.
            bots.removeAll { $0.number == owner }
            takeOver()
        } else if random.chance(pause), let index = bots.indices.randomElement(using: &random) {
            bots[index].pausedUntil = time + random.number(5...60)
            bots[index].wasPaused = true
            if random.chance(70) { takeOver() }
        }
    }

    private mutating func order(_ quantity: Int, _ fruit: String, _ store: String) {
        let level = levels[store]?[fruit] ?? 10
        let juice = #""juice":"j","quantity":1"#
        if level < quantity {
            let missing = #""missing":[{"fruit":"\#(fruit)","needed":\#(quantity),"inStock":\#(level)}]"#
            return answer(#""orderId":"o""#, store: store, "\(juice),\"fruit\":\"\(fruit)\",\(missing)", type: "outOfStock")
        }
        levels[store, default: [:]][fruit] = level - quantity
        let left = #""used":{"\#(fruit)":\#(quantity)},"left":{"\#(fruit)":\#(level - quantity)}"#
        answer(#""orderId":"o""#, store: store, "\(juice),\(left),\(revision(of: store))", type: "juiceMade")
    }

    private mutating func revision(of store: String) -> String {
        revisions[store, default: 0] += 1
        return "\"revision\":\(revisions[store, default: 0])"
    }

    /// Answers the next restock.
    private mutating func stepService() {
        guard handled < restocks.count else { return }
        let record = restocks[handled]
        handled += 1
        let store = String(decoding: record.key ?? [], as: UTF8.self)
        let value = String(decoding: record.value ?? [], as: UTF8.self)
        let (id, amounts) = Self.parse(value)
        if let first = firstAnswers["\(store) \(id)"] {
            return append(first.replacing("\",\"restockId\"", with: "\",\"duplicate\":true,\"restockId\""), store)
        }
        if amounts["durian"] != nil {
            answer("\"restockId\":\"\(id)\"", store: store, #""reason":"unknownFruit""#, type: "rejected")
        } else {
            for (fruit, amount) in amounts { levels[store, default: [:]][fruit, default: 10] += amount }
            let left = amounts.keys.sorted().map { "\"\($0)\":\(levels[store]?[$0] ?? 0)" }.joined(separator: ",")
            answer("\"restockId\":\"\(id)\"", store: store, "\"left\":{\(left)},\(revision(of: store))", type: "restocked")
        }
        firstAnswers["\(store) \(id)"] = String(decoding: answers.last?.value ?? [], as: UTF8.self)
    }

    /// The id and the amounts of `{"restockId":"…","add":{"kiwi":25,…}}`.
    private static func parse(_ value: String) -> (id: String, amounts: [String: Int]) {
        let parts = value.split { !$0.isLetter && !$0.isNumber && !"/-".contains($0) }.map(String.init)
        let fruits = stride(from: 3, to: parts.count, by: 2).map { (parts[$0], Int(parts[$0 + 1]) ?? 0) }
        return (parts[1], Dictionary(uniqueKeysWithValues: fruits))
    }

    private mutating func answer(_ id: String, store: String, _ fields: String, type: String) {
        append(#"{"type":"\#(type)",\#(id),"store":"\#(store)","offset":0,\#(fields),"message":"m"}"#, store)
    }

    private mutating func append(_ answer: String, _ store: String) {
        answers.append(
            AuditRecord(
                offset: Int64(answers.count), timestamp: 0, key: Array(store.utf8), value: Array(answer.utf8), headers: []))
    }

    private mutating func write(restock id: String, store: String, _ amounts: String) {
        write(Array("{\"restockId\":\"\(id)\",\"add\":\(amounts)}".utf8), store)
    }

    private mutating func write(_ refill: Refill) { write(refill.value, refill.store) }

    private mutating func write(_ value: [UInt8], _ store: String) {
        restocks.append(
            AuditRecord(offset: Int64(restocks.count), timestamp: 0, key: Array(store.utf8), value: value, headers: []))
    }

    // MARK: - Bots

    /// Another bot becomes the owner. An earlier one may go on for a while, but cannot commit.
    private mutating func takeOver() {
        owner += 1
        bots.append(begin(owner))
        if bots.count > 3 { bots.removeFirst() }
    }

    private mutating func begin(_ number: Int) -> Bot {
        restarts += 1
        let state = PartitionShortages(rules: rules, group: "bots", partition: 0, position: committed)
        return Bot(number: number, state: state, end: flaw == .decidedBeforeTheEnd ? 0 : Int64(answers.count))
    }

    /// One step: it commits, or reads on, decides and sends.
    private mutating func step(_ index: Int, at time: Int) throws {
        guard !random.chance(20) else {
            guard bots[index].number == owner else { return restart(index) }
            committed = flaw == .positionNotHeld ? bots[index].state.position : bots[index].state.safePosition
            return
        }
        let position = Int(bots[index].state.position)
        for record in answers.dropFirst(position).prefix(random.number(1...10)) {
            bots[index].state.advance(to: record.offset + 1)
            let answer = try (record.value ?? []).withUnsafeBytes { try decoder.decode($0) }
            _ = bots[index].state.apply(answer, at: (record.offset, 0))
        }
        // The ends are looked up once a second, and so after each pause.
        if bots[index].wasPaused || random.chance(30), flaw != .decidedBeforeTheEnd {
            (bots[index].end, bots[index].wasPaused) = (Int64(answers.count), false)
        }
        guard bots[index].state.position >= bots[index].end else { return }
        for refill in bots[index].state.startRefills() {
            if time != .max, random.chance(crash) || !send(refill, index) { return restart(index) }
            if time == .max { write(refill) }
        }
    }

    /// After an error a bot begins again, unless it is no longer the owner.
    private mutating func restart(_ index: Int) {
        let bot = bots.remove(at: index)
        if bot.number == owner { bots.append(begin(owner)) }
    }

    /// Whether the refill is confirmed. If not, it is written all the same, arrives late, or is lost. Brokers keep the order of
    /// refills.
    private mutating func send(_ refill: Refill, _ index: Int) -> Bool {
        var refill = refill
        if flaw == .idNotDeterministic { refill = refill.renamed("bots/0-\(bots[index].state.position)") }
        let fate = random.chance(unlucky) ? random.number(1...4) : 0
        if fate == 3 || !lateRefills.isEmpty {
            lateRefills.append(refill)
            return false
        }
        for _ in 0..<[1, 2, 1, 0, 0][fate] { write(refill) }
        return fate < 2
    }
}

extension Refill {
    fileprivate func renamed(_ id: String) -> Refill {
        Refill(id: id, partition: partition, store: store, time: time, entries: entries)
    }
}
