import JuiceDomain
import JuiceMessages

/// What the stores of one partition are short of, and what to refill: answers in, refills out. Its answers report every change of
/// its stores in order, so a known level is never older than the answer to a refill that changed it.
///
/// A fruit is short when `low` or fewer are left, or when an order found too little of it and there is less than `target`. A
/// store gets one refill for all its shortages, and the next one only after the first is answered.
struct PartitionShortages {
    private let rules: RefillRules
    private let ids: RefillIDs
    /// The next answer to read.
    private var position: Int64
    /// Stores with a shortage, or with an ended one whose refill may still be under way.
    private var stores: [Name: StoreShortages] = [:]
    /// The latest offset that an answered refill was named after.
    private var answered: Int64 = -1

    init(rules: RefillRules, ids: RefillIDs, position: Int64) {
        (self.rules, self.ids, self.position) = (rules, ids, position)
    }

    /// Refills without an answer.
    var underway: Int { stores.values.count { $0.isUnderway } }
    /// Stores with a shortage that can be refilled, or with a refill that has no answer.
    var unsettled: Int { stores.values.count { !$0.isSettled } }

    /// Moves the position forward to an offset.
    mutating func advance(to next: Int64) { position = max(position, next) }

    /// Applies an answer to its store.
    mutating func apply(_ answer: Answer, at point: StoreShortages.Point) -> [BotEvent] {
        let key = Name(answer.store)
        guard rules.watches(store: key) else { return [] }
        if answer.isDuplicate {
            // It repeats old levels, which were already read, unless the first answer to a refill was lost before.
            guard case .answerLost(let was) = answer.outcome, answer.command == .restock, let name = ids.offset(in: answer.id),
                stores[key]?.lost(name, wasRefilled: was == FormerOutcome.restocked.name, at: point) ?? false
            else { return [] }
            answered = max(answered, name)
            return [.answered]
        }
        var store = stores[key] ?? StoreShortages(name: answer.store, rules: rules)
        defer { stores[key] = store.isOver ? nil : store }
        store.forgetEnded(answered: answered)
        var events: [BotEvent] = []
        for (fruit, level, needed) in answer.levels where rules.watches(fruit: fruit) {
            store.update(level, of: fruit, needed: needed, at: point.offset)
            if let needed, needed > rules.target { events.append(.beyondTarget(fruit: fruit, needed: needed)) }
        }
        guard answer.command == .restock, let name = ids.offset(in: answer.id) else {
            store.finishUpdate(at: point)
            return events
        }
        answered = max(answered, name)
        if store.isUnderway { events.append(.answered) }
        if case .rejected = answer.outcome {
            store.rejected(name, at: point)
            events.append(.rejected(answer))
        } else {
            store.refilled(answer.levels.map(\.fruit), at: point)
        }
        return events
    }

    /// The refills to send now, oldest shortage first. They count as under way from here on.
    mutating func startRefills() -> [Refill] {
        stores.keys.compactMap { stores[$0]?.startRefill(ids) }.sorted { ($0.id.utf8.count, $0.id) < ($1.id.utf8.count, $1.id) }
    }

    /// Where a successor must begin to decide the same: at ``position`` or before.
    mutating func safePosition() -> Int64 {
        for key in stores.keys { stores[key]?.forgetEnded(answered: answered) }
        stores = stores.filter { !$0.value.isOver }
        return stores.values.compactMap(\.heldFrom).reduce(position, min)
    }
}

extension Answer {
    /// The levels it reports, and for a fruit that was short how much the order needed.
    fileprivate var levels: [(fruit: String, level: Int, needed: Int?)] {
        switch outcome {
        case .juiceMade(_, _, let left), .restocked(let left), .cancelled(_, let left): left.map { ($0.fruit, $0.amount, nil) }
        case .outOfStock(_, let missing): missing.map { ($0.fruit, $0.inStock, $0.needed) }
        case .rejected, .answerLost: []
        }
    }
}

/// What one store is short of, and which answer its next refill is named after.
///
/// All of it but ``isUnderway`` follows from the answers alone, provided reading began no later than ``heldFrom``.
struct StoreShortages {
    /// An answer, and when it was written.
    typealias Point = (offset: Int64, time: Int64)

    private struct Shortage {
        let fruit: String
        var level: Int
        /// How much an order needed in vain; nil if only the level is low.
        var needed: Int?
        /// The answer that showed it.
        var since: Int64
        /// Whether the service rejected a refill of this fruit alone at this level.
        var isRefused = false
    }

    private let name: String
    private let rules: RefillRules
    private var shortages: [Shortage] = []
    /// The answer that the next refill is named after: the first to show a shortage, or the last to answer a refill.
    private var origin: Point?
    /// Where a successor must begin to find the same origin; nil if the store needs no successor's attention.
    private(set) var heldFrom: Int64?
    /// The answer by which a foreign restock ended the last shortage. Another bot that had not read that far may still have
    /// sent a refill. So the origin is kept: if the store runs short again, one id covers both.
    private var ended: Int64?
    /// Whether this bot has sent a refill that has no answer.
    private(set) var isUnderway = false
    /// Whether fruits are refilled one by one. A refill is all or nothing, so after a rejection a fruit that cannot be
    /// refilled must not keep the others short.
    private var refillsSingly = false
    /// The only fruit of the refill named after ``origin``, from any bot; nil if it may be of several.
    private var only: String?

    init(name: String, rules: RefillRules) { (self.name, self.rules) = (name, rules) }

    var isOver: Bool { shortages.isEmpty && heldFrom == nil && !isUnderway }
    var isSettled: Bool { !isUnderway && open.isEmpty }
    private var open: [Shortage] { shortages.filter { !$0.isRefused } }

    /// Sets a fruit's level, and how much an order needed of it in vain.
    mutating func update(_ level: Int, of fruit: String, needed: Int?, at offset: Int64) {
        var shortage = Shortage(fruit: fruit, level: level, since: offset)
        let index = shortages.firstIndex { $0.fruit == fruit } ?? shortages.endIndex
        if index < shortages.endIndex { shortage = shortages.remove(at: index) }
        // A rejected refill is sent again only after the stock has changed.
        if level != shortage.level { shortage.isRefused = false }
        shortage.level = level
        shortage.needed = [shortage.needed, needed].compactMap { $0 }.max()
        // No order makes a fruit short above the target.
        if let needed = shortage.needed, level >= min(needed, rules.target) { shortage.needed = nil }
        if level <= rules.low || shortage.needed != nil { shortages.insert(shortage, at: index) }
    }

    /// Ends the update of the levels of one answer.
    mutating func finishUpdate(at point: Point) {
        if open.isEmpty {
            ended = ended ?? point.offset
        } else if origin == nil {
            heldFrom = heldFrom ?? point.offset
            renew(after: point)
        } else {
            ended = nil
        }
        if !open.contains(where: { $0.fruit == only }) || open.count > 1 && !refillsSingly { only = nil }
    }

    /// Forgets a shortage that a foreign restock ended, once no refill for it can be under way: when a refill is answered that
    /// was decided after that end. Restocks of a partition are answered in the order in which they were sent.
    mutating func forgetEnded(answered: Int64) {
        if !isUnderway, let ended, ended < answered { renew(after: nil) }
    }

    /// A refill of these fruits arrived, from any bot; their levels are already set. It serves the orders that were short. If
    /// others took the fruit, the next order shows that.
    mutating func refilled(_ fruits: [String], at point: Point) {
        for index in shortages.indices.reversed() {
            shortages[index].isRefused = false
            guard fruits.contains(shortages[index].fruit) else { continue }
            (shortages[index].needed, shortages[index].since) = (nil, point.offset)
            if shortages[index].level > rules.low { shortages.remove(at: index) }
        }
        refillsSingly = false
        heldFrom = shortages.map(\.since).min()
        renew(after: point)
    }

    /// The service rejected the refill named after the answer at `offset`.
    mutating func rejected(_ offset: Int64, at point: Point) {
        if offset == origin?.offset, let index = shortages.firstIndex(where: { $0.fruit == only }) {
            shortages[index].isRefused = true
        } else {
            refillsSingly = true
        }
        renew(after: point)
    }

    /// The answer to the refill named after the answer at `offset` is lost. If it was applied, the next orders show the levels.
    ///
    /// - Returns: whether this bot waits for it.
    mutating func lost(_ offset: Int64, wasRefilled: Bool, at point: Point) -> Bool {
        guard isUnderway, offset == origin?.offset else { return false }
        if wasRefilled { shortages.removeAll { !$0.isRefused } }
        wasRefilled ? refilled([], at: point) : rejected(offset, at: point)
        return true
    }

    /// Names the next refill after another answer: none of the earlier refills is under way.
    private mutating func renew(after point: Point?) {
        if shortages.isEmpty { (heldFrom, refillsSingly) = (nil, false) }
        (origin, ended, isUnderway) = (open.isEmpty ? nil : point, nil, false)
        only = refillsSingly || open.count == 1 ? open.first?.fruit : nil
    }

    /// The refill to send now; nil while an earlier one has no answer.
    mutating func startRefill(_ ids: RefillIDs) -> Refill? {
        guard !isUnderway, let origin, let first = open.first else { return nil }
        isUnderway = true
        let chosen = refillsSingly ? [open.first { $0.fruit == only } ?? first] : open
        let fruits = chosen.map { Refill.Entry(fruit: $0.fruit, level: $0.level, target: rules.target) }
        let id = ids[origin.offset]
        return Refill(id: id, partition: ids.partition, store: name, time: origin.time, entries: fruits)
    }
}
