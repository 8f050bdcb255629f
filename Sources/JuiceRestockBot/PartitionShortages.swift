import JuiceDomain
import JuiceMessages

/// What the stores of one partition are short of, and what to refill: answers in, refills out. Its answers report every change of
/// its stores in order, so a known level is never older than the answer to a refill that changed it.
///
/// A fruit is short when `low` or fewer are left, or when an order found too little of it and there is less than `target`. A
/// store gets one refill for all its shortages, and the next one only after the first is answered. A bot that reads from
/// ``safePosition`` to the end sends the same, under the same ids.
struct PartitionShortages {
    private let rules: RefillRules
    private let partition: Int32
    /// What the ids of refills begin with: an offset follows.
    private let prefix: String
    /// The next answer to read.
    private(set) var position: Int64
    /// Stores with a shortage, or with a refill that may be under way.
    private var stores: [Name: StoreShortages] = [:]
    /// The latest offset that an answered refill was named after.
    private var answered: Int64 = -1

    init(rules: RefillRules, group: String, partition: Int32, position: Int64) {
        (self.rules, self.partition, self.position) = (rules, partition, position)
        prefix = "\(group)/\(partition)-"
    }

    /// Refills without an answer.
    var underway: Int { stores.values.count { $0.isSent } }
    /// Stores with a shortage that can be refilled, or with a refill that has no answer.
    var unsettled: Int { stores.values.count { $0.isSent || $0.due != nil } }

    /// Moves the position forward to an offset.
    mutating func advance(to next: Int64) { position = max(position, next) }

    /// Applies an answer that was written at a time, in milliseconds since 1970.
    mutating func apply(_ answer: Answer, at point: AnswerPoint) -> [BotEvent] {
        let key = Name(answer.store)
        guard rules.watches(store: key) else { return [] }
        let named = answer.command == .restock ? offset(in: answer.id) : nil
        if answer.isDuplicate {
            // It repeats old levels, which were already read, unless the first answer to a refill is lost.
            guard case .answerLost(let was) = answer.outcome, let named, let sent = stores[key], sent.isSent,
                sent.origin?.offset == named
            else { return [] }
            answered = max(answered, named)
            // If it was applied, the next answers show the levels.
            stores[key] = was == FormerOutcome.restocked.name ? nil : StoreShortages(isRefused: true)
            return [.answered]
        }
        var store = stores[key] ?? StoreShortages()
        defer { stores[key] = store.isOver(answered) ? nil : store }
        if store.isOver(answered) { store = StoreShortages() }
        store.isRefused = store.isRefused && answer.revision == nil
        for (fruit, level, needed) in answer.levels where rules.watches(fruit: fruit) {
            store.update(level, of: fruit, needed: needed, at: point.offset, rules)
        }
        guard let named else {
            store.ended = store.shortages.isEmpty ? store.ended ?? point.offset : nil
            if !store.shortages.isEmpty { (store.origin, store.heldFrom) = (store.origin ?? point, store.heldFrom ?? point.offset) }
            return []
        }
        answered = max(answered, named)
        let events = store.isSent ? [BotEvent.answered] : []
        if case .rejected = answer.outcome {
            store = StoreShortages(isRefused: true)
            return events + [.rejected(answer)]
        }
        store.refilled(answer.levels.map(\.fruit), at: point, rules)
        return events
    }

    /// The offset that a refill's id names; nil for another restock.
    private func offset(in id: String) -> Int64? {
        id.utf8.starts(with: prefix.utf8) ? Int64(Substring(id.utf8.dropFirst(prefix.utf8.count))) : nil
    }

    /// The refills to send now, oldest shortage first. They count as under way from here on.
    mutating func startRefills(atMost count: Int = .max) -> [Refill] {
        let due = stores.compactMap { name, store in store.due.map { (name, $0) } }
        return due.sorted { $0.1.offset < $1.1.offset }.prefix(count).map { name, origin in
            stores[name]?.isSent = true
            let entries = (stores[name]?.shortages ?? []).map { fruit, level, _, _ in
                Refill.Entry(fruit: fruit, level: level, added: rules.target - level)
            }
            let id = "\(prefix)\(origin.offset)"
            return Refill(id: id, partition: partition, store: name.text, time: origin.time, entries: entries)
        }
    }

    /// Where a successor must begin to decide the same: at ``position`` or before.
    var safePosition: Int64 { stores.values.filter { !$0.isOver(answered) }.compactMap(\.heldFrom).reduce(position, min) }
}

/// An answer's offset, and when it was written, in milliseconds since 1970.
typealias AnswerPoint = (offset: Int64, time: Int64)

/// What one store is short of, and the answer that its next refill is named after.
private struct StoreShortages {
    /// In the order in which they were shown. `needed` is how much an order needed in vain, nil if only the level is low; `since`
    /// is the answer that showed it.
    var shortages: [(fruit: String, level: Int, needed: Int?, since: Int64)] = []
    /// The answer that the next refill is named after: the first to show a shortage, or the last to answer a refill.
    var origin: AnswerPoint?
    /// Where a successor must begin to find the same origin and shortages; nil if there are none.
    var heldFrom: Int64?
    /// The answer by which a foreign restock ended the last shortage. Another bot that had not read that far may still have
    /// sent a refill. So the origin is kept: if the store runs short again, one id covers both.
    var ended: Int64?
    /// Whether this bot has sent a refill that has no answer.
    var isSent = false
    /// Whether the service rejected a refill, and the stock has not changed since. A refill is all or nothing, so whatever it was
    /// of is forgotten until an answer shows it again: a fruit that is no longer on the menu keeps no others short. A bot that did
    /// not read the rejection may send the next refill earlier, but under the same id.
    var isRefused = false

    /// The origin of the refill to send now; nil if there is none.
    var due: AnswerPoint? { isSent || isRefused || shortages.isEmpty ? nil : origin }

    /// Whether it need not be remembered. A shortage that a foreign restock ended is remembered until a refill is answered that
    /// was decided after that end: restocks of a partition are answered in the order in which they were sent.
    func isOver(_ answered: Int64) -> Bool {
        shortages.isEmpty && !isSent && !isRefused && (origin == nil || ended.map { $0 < answered } ?? false)
    }

    /// Sets a fruit's level, and how much an order needed of it in vain.
    mutating func update(_ level: Int, of fruit: String, needed: Int?, at offset: Int64, _ rules: RefillRules) {
        let index = shortages.firstIndex { $0.fruit == fruit } ?? shortages.endIndex
        let known = index < shortages.endIndex ? shortages.remove(at: index) : nil
        // No order makes a fruit short above the target.
        let needed = [known?.needed, needed].compactMap { $0 }.max().flatMap { level < min($0, rules.target) ? $0 : nil }
        guard level <= rules.low || needed != nil else { return }
        shortages.insert((fruit, level, needed, known?.since ?? offset), at: index)
    }

    /// A refill of these fruits arrived, from any bot; their levels are already set. It serves the orders that were short. If
    /// others took the fruit, the next order shows that. None of the earlier refills is under way any more.
    mutating func refilled(_ fruits: [String], at point: AnswerPoint, _ rules: RefillRules) {
        for index in shortages.indices.reversed() where fruits.contains(shortages[index].fruit) {
            (shortages[index].needed, shortages[index].since) = (nil, point.offset)
            if shortages[index].level > rules.low { shortages.remove(at: index) }
        }
        (origin, heldFrom, ended, isSent) = (shortages.isEmpty ? nil : point, shortages.map(\.since).min(), nil, false)
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
