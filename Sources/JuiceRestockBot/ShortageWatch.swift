import JuiceMessages

/// Decides what to refill in the stores of one partition: answers in, refills out.
///
/// The answers of a partition tell every change of its stores in the order in which they happened, and among them what became
/// of each refill. So a level is never older than the answer to a refill that changed it.
///
/// A fruit is short when `low` or fewer are left, or when an order has found too little of it and there is less than `target`.
/// A store that is short of something gets one refill for all of it, and no other until that one is answered.
struct ShortageWatch {
    private let rules: RefillRules
    private let ids: RefillIDs
    /// The next answer to read.
    private(set) var position: Int64
    /// Those that are short of something, or were and may be again.
    private var stores: [[UInt8]: StoreShortages] = [:]
    /// The latest name of a refill that is answered.
    private var answered: Int64 = -1

    init(rules: RefillRules, ids: RefillIDs, position: Int64) {
        (self.rules, self.ids, self.position) = (rules, ids, position)
    }

    var underway: Int { stores.values.count { $0.isUnderway } }
    /// The stores of which not all that can be refilled is, and answered.
    var unsettled: Int { stores.values.count { !$0.isSettled } }
    var isSettled: Bool { stores.values.allSatisfy(\.isSettled) }

    /// Takes note that there is nothing to read before an offset.
    mutating func passed(_ next: Int64) { position = max(position, next) }

    /// Takes note of an answer, and where it stands.
    mutating func note(_ answer: Answer, at point: StoreShortages.Point) -> [BotEvent] {
        let key = Array(answer.store.utf8)
        // One given again tells the levels of the first time, which were read.
        guard rules.watches(store: key), !answer.isDuplicate else { return [] }
        var store = stores[key] ?? StoreShortages(name: answer.store, rules: rules)
        defer { stores[key] = store.isOver ? nil : store }
        store.forgetEnded(answered: answered)
        var events: [BotEvent] = []
        for (fruit, level, needed) in answer.levels where rules.watches(fruit: fruit) {
            store.note(level, of: fruit, needed: needed, at: point.offset)
            if let needed, needed > rules.target {
                events.append(.beyondTarget(fruit: fruit, needed: needed))
            }
        }
        guard answer.command == .restock, let name = ids.offset(in: answer.id) else {
            store.noted(point)
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

    /// The refills to send now, oldest shortage first. They count as on their way from here on.
    mutating func takeRefills() -> [Refill] {
        stores.keys.compactMap { stores[$0]?.takeRefill(ids) }
            .sorted { ($0.id.utf8.count, $0.id) < ($1.id.utf8.count, $1.id) }
    }

    /// From where a successor must read to decide the same: ``position``, or an earlier one.
    mutating func safePosition() -> Int64 {
        for key in stores.keys { stores[key]?.forgetEnded(answered: answered) }
        stores = stores.filter { !$0.value.isOver }
        return stores.values.compactMap(\.heldFrom).reduce(position, min)
    }
}

extension Answer {
    /// The levels that it tells, and what an order needed where that was too little.
    fileprivate var levels: [(fruit: String, level: Int, needed: Int?)] {
        switch outcome {
        case .juiceMade(_, _, _, let left), .restocked(let left): left.map { ($0.fruit, $0.amount, nil) }
        case .outOfStock(_, _, let missing): missing.map { ($0.fruit, $0.inStock, $0.needed) }
        case .rejected: []
        }
    }
}
