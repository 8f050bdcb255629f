import JuiceMaker
import JuiceMessages

/// Decides what to refill in the stores of one partition: answers in, refills out.
///
/// A partition's answers report every change of its stores in order, among them the outcome of each refill. So a known level
/// is never older than the answer to a refill that changed it.
///
/// A fruit is short when `low` or fewer are left, or when an order found too little of it and there is less than `target`. A
/// store gets one refill for all its shortages, and the next one only after the first is answered.
struct ShortageWatch {
    private let rules: RefillRules
    private let ids: RefillIDs
    /// The next answer to read.
    private(set) var position: Int64
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
    var isSettled: Bool { stores.values.allSatisfy(\.isSettled) }

    /// Moves the position forward to an offset.
    mutating func advance(to next: Int64) { position = max(position, next) }

    /// Applies an answer to its store.
    mutating func apply(_ answer: Answer, at point: StoreShortages.Point) -> [BotEvent] {
        let key = Name(answer.store)
        // A duplicate repeats old levels, which were already read.
        guard rules.watches(store: key), !answer.isDuplicate else { return [] }
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
        case .rejected: []
        }
    }
}
