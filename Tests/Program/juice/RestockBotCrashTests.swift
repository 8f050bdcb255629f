import JuiceDomain
import Testing

@testable import JuiceMessages
@testable import juice

/// Bots that crash, freeze and take over from each other between any two steps, while tills order. Only the bots restock, so a
/// level beyond the target is a refill that was made twice.
@Suite struct RestockBotCrashTests {
    @Test func eachShortageIsRefilledOnce() throws {
        var (refills, copies, restarts) = (0, 0, 0)
        for seed in 0..<500 {
            var run = CrashingBots(seed: UInt64(seed))
            try run.run()
            #expect(run.faults == [], "seed \(seed)")
            (refills, copies, restarts) = (refills + run.refills, copies + run.copies, restarts + run.restarts)
        }
        #expect(refills > 5000)
        #expect(copies > 1000, "bots that took over sent nothing again")
        #expect(restarts > 5000)
    }

    /// What breaks the bot must be found.
    @Test(arguments: CrashingBots.Flaw.allCases) func isFound(flaw: CrashingBots.Flaw) throws {
        let seed = try (0..<2000).first { seed in
            var run = CrashingBots(seed: UInt64(seed), flaw: flaw)
            try run.run()
            return run.faults != []
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
        var state: Shortages
        var pausedUntil = 0
    }

    private static let initialLevel = 10
    private let flaw: Flaw?
    private let plan: RestockBotPlan
    private let crash, pause, unlucky, calm: Double
    private var random: SeededGenerator
    private var answers: [Answer] = []
    private var restocks: [Refill] = []
    /// Restocks that are answered.
    private var handled = 0
    private var firstAnswers: [String: Answer.Outcome] = [:]
    private var levels: [String: [String: Int]] = [:]
    private var committed: Int64 = 0
    /// What was sent and not confirmed, and is written later.
    private var late: [Refill] = []
    private var bots: [Bot] = []
    private var owner = 0
    private(set) var (refills, copies, restarts) = (0, 0, 0)
    private(set) var faults: [String] = []

    init(seed: UInt64, flaw: Flaw? = nil) {
        var random = SeededGenerator(seed: seed)
        let low = random.number(0...6)
        plan = RestockBotPlan(low: low, target: low + random.number(1...30), group: "bots")
        (crash, pause) = (Double(random.number(0...5)), Double(random.number(0...5)))
        (unlucky, calm) = (Double(random.number(0...40)), Double(random.number(0...90)))
        (self.random, self.flaw) = (random, flaw)
        // The menu had durians once: their refill is rejected.
        answer(.order, "0", "b", .juiceMade(Self.juice, used: [], left: [FruitAmount(fruit: "durian", amount: 0)]))
    }

    mutating func run() throws {
        for time in 0..<400 {
            if random.chance(calm) { stepService() } else { disturb(at: time) }
            let awake = bots.indices.filter { bots[$0].pausedUntil <= time }
            if let index = awake.randomElement(using: &random) { step(index, mayFail: true) }
        }
        restocks += late
        (late, bots) = ([], [])
        takeOver()
        settle()
        // Whatever is short now is refilled once it is ordered.
        for store in ["a", "b"] { for fruit in ["kiwi", "mango"] { order(1, fruit, store) } }
        settle()
        for (store, levels) in levels {
            for (fruit, level) in levels where level <= plan.low { faults.append("\(level) of \(fruit) are left in \(store)") }
        }
    }

    /// Without faults, until nothing is left to do.
    private mutating func settle() {
        // Whatever is short holds the position back.
        for _ in 0..<1000 where handled < restocks.count || bots[0].state.safePosition < answers.count {
            while handled < restocks.count { stepService() }
            step(0, mayFail: false)
        }
        if bots[0].state.safePosition < answers.count { faults.append("not settled") }
    }

    // MARK: - The service and its clients

    private static let juice = OrderedJuices.single(OrderedJuice(juice: "j", quantity: 1))

    private mutating func disturb(at time: Int) {
        switch random.number(0...9) {
        case 0...5: order(random.number(1...12), random.pick(["kiwi", "mango"]) ?? "", random.pick(["a", "b"]) ?? "")
        case 6 where !late.isEmpty: restocks.append(late.removeFirst())
        default: stepService()
        }
        if bots.isEmpty || random.chance(crash) {
            // Nothing is left of a bot that crashes.
            bots.removeAll { $0.number == owner }
            takeOver()
        } else if random.chance(pause), let index = bots.indices.randomElement(using: &random) {
            bots[index].pausedUntil = time + random.number(5...60)
            if random.chance(70) { takeOver() }
        }
    }

    private mutating func order(_ quantity: Int, _ fruit: String, _ store: String) {
        let level = levels[store]?[fruit] ?? Self.initialLevel
        if level < quantity {
            let missing = [MissingFruit(fruit: fruit, needed: quantity, inStock: level)]
            return answer(.order, "o", store, .outOfStock(Self.juice, missing: missing))
        }
        levels[store, default: [:]][fruit] = level - quantity
        let left = [FruitAmount(fruit: fruit, amount: level - quantity)]
        answer(.order, "o", store, .juiceMade(Self.juice, used: [], left: left))
    }

    /// Answers the next restock.
    private mutating func stepService() {
        guard handled < restocks.count else { return }
        let (refill, store) = (restocks[handled], restocks[handled].store)
        handled += 1
        if let first = firstAnswers[refill.id] {
            copies += 1
            return answer(.restock, refill.id, store, first, isDuplicate: true)
        }
        var outcome = Answer.Outcome.rejected(reason: "unknownFruit")
        if !refill.amounts.contains(where: { $0.fruit == "durian" }) {
            refills += 1
            let left = refill.amounts.map { added in
                let level = (levels[store]?[added.fruit] ?? Self.initialLevel) + added.amount
                levels[store, default: [:]][added.fruit] = level
                if level > max(plan.target, Self.initialLevel) { faults.append("\(refill.id): \(level) of \(added.fruit)") }
                return FruitAmount(fruit: added.fruit, amount: level)
            }
            outcome = .restocked(left: left)
        }
        firstAnswers[refill.id] = outcome
        answer(.restock, refill.id, store, outcome)
    }

    private mutating func answer(
        _ command: CommandKind, _ id: String, _ store: String, _ outcome: Answer.Outcome, isDuplicate: Bool = false
    ) {
        answers.append(Answer(command, id, store, outcome, isDuplicate: isDuplicate))
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
        let end = flaw == .decidedBeforeTheEnd ? committed : Int64(answers.count)
        return Bot(number: number, state: Shortages(plan, partition: 0, log: 0..<max(end, 1), committed: committed))
    }

    /// One step: it commits, or reads on, decides and sends.
    private mutating func step(_ index: Int, mayFail: Bool) {
        guard !random.chance(20) else {
            guard bots[index].number == owner else { return restart(index) }
            committed = flaw == .positionNotHeld ? bots[index].state.position : bots[index].state.safePosition
            return
        }
        let position = bots[index].state.position
        for (offset, answer) in answers.enumerated().dropFirst(Int(position)).prefix(random.number(1...10)) {
            bots[index].state.apply(answer, at: Int64(offset), time: 0)
            bots[index].state.advance(to: Int64(offset) + 1)
        }
        for var refill in bots[index].state.startRefills(atMost: .max) {
            if flaw == .idNotDeterministic {
                let id = "bots/0-\(bots[index].state.position)"
                refill = Refill(id: id, time: refill.time, store: refill.store, amounts: refill.amounts)
            }
            if mayFail, random.chance(crash) { return restart(index) }
            let fate = mayFail && random.chance(unlucky) ? random.number(1...4) : 0
            // Not confirmed: written all the same, written late, or lost. Brokers keep the order of refills.
            if fate == 3 || !late.isEmpty {
                late.append(refill)
            } else {
                restocks += Array(repeating: refill, count: [1, 2, 1, 0, 0][fate])
            }
            if fate > 1 { return restart(index) }
        }
    }

    /// After an error a bot begins again, unless it is no longer the owner.
    private mutating func restart(_ index: Int) {
        let bot = bots.remove(at: index)
        if bot.number == owner { bots.append(begin(owner)) }
    }
}
