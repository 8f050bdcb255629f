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
