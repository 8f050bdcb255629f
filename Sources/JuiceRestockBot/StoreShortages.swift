/// What one store is short of, and what its next refill is named after.
///
/// All of it but ``isUnderway`` follows from the answers alone, wherever reading began, if it began no later than ``heldFrom``.
struct StoreShortages {
    /// An answer, and when it was written.
    typealias Point = (offset: Int64, time: Int64)

    private struct Shortage {
        let fruit: String
        var level: Int
        /// What an order needed that there was too little for; nil where the level alone is the shortage.
        var needed: Int?
        /// The answer that showed it.
        var since: Int64
        /// The service has rejected a refill of this fruit alone at this level.
        var isRefused = false
    }

    private let name: String
    private let rules: RefillRules
    private var shortages: [Shortage] = []
    /// What the next refill is named after: the first answer that showed a shortage, or the last that answered a refill.
    private var origin: Point?
    /// Where a successor has to begin to find the same origin; nil where it need not know of the store.
    private(set) var heldFrom: Int64?
    /// The answer with which somebody else ended the last shortage. A refill for it may be on its way all the same, sent by
    /// a bot that had not read so far. So the origin is kept: should the store be short again, one id covers both.
    private var ended: Int64?
    /// Whether this bot has sent a refill that has no answer.
    private(set) var isUnderway = false
    /// A refill is all or nothing: after a rejection the fruits are sent one by one, so that one that cannot be refilled does
    /// not keep the others empty.
    private var refillsSingly = false
    /// What the refill named after ``origin`` is of, whoever sent it and whenever; nil where that cannot be told.
    private var only: String?

    init(name: String, rules: RefillRules) { (self.name, self.rules) = (name, rules) }

    var isOver: Bool { shortages.isEmpty && heldFrom == nil && !isUnderway }
    var isSettled: Bool { !isUnderway && open.isEmpty }
    private var open: [Shortage] { shortages.filter { !$0.isRefused } }

    /// Takes note of a fruit's level, and of what an order needed of it in vain.
    mutating func note(_ level: Int, of fruit: String, needed: Int?, at offset: Int64) {
        var shortage = Shortage(fruit: fruit, level: level, since: offset)
        let index = shortages.firstIndex { $0.fruit == fruit } ?? shortages.endIndex
        if index < shortages.endIndex { shortage = shortages.remove(at: index) }
        // A rejected refill is not sent again before the stock changes.
        if level != shortage.level { shortage.isRefused = false }
        shortage.level = level
        shortage.needed = [shortage.needed, needed].compactMap { $0 }.max()
        // Above the target nothing is refilled, whatever is ordered.
        if let needed = shortage.needed, level >= min(needed, rules.target) { shortage.needed = nil }
        if level <= rules.low || shortage.needed != nil { shortages.insert(shortage, at: index) }
    }

    /// Takes note that the levels of an answer are noted.
    mutating func noted(_ point: Point) {
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

    /// Forgets a shortage that somebody else ended, once no refill for it can be on its way: when one is answered that was sent by
    /// a bot that had read of the end. Restocks of a partition are answered in the order in which they were sent.
    mutating func forgetEnded(answered: Int64) {
        if !isUnderway, let ended, ended < answered { renew(after: nil) }
    }

    /// Takes note that a refill of these fruits has arrived, whoever sent it; their levels are noted already. Orders that were
    /// short of them have had their refill. Whether others took it is for the next order to find out.
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

    /// Takes note that the service would not take the refill that is named after the answer at `offset`.
    mutating func rejected(_ offset: Int64, at point: Point) {
        if offset == origin?.offset, let index = shortages.firstIndex(where: { $0.fruit == only }) {
            shortages[index].isRefused = true
        } else {
            refillsSingly = true
        }
        renew(after: point)
    }

    /// Gives the next refill another name than those before: none of them is on its way.
    private mutating func renew(after point: Point?) {
        if shortages.isEmpty { (heldFrom, refillsSingly) = (nil, false) }
        (origin, ended, isUnderway) = (open.isEmpty ? nil : point, nil, false)
        only = refillsSingly || open.count == 1 ? open.first?.fruit : nil
    }

    /// What to send now; nil while the answer to an earlier refill is not there.
    mutating func takeRefill(_ ids: RefillIDs) -> Refill? {
        guard !isUnderway, let origin, let first = open.first else { return nil }
        isUnderway = true
        let chosen = refillsSingly ? [open.first { $0.fruit == only } ?? first] : open
        let fruits = chosen.map { Refill.Entry(fruit: $0.fruit, level: $0.level, target: rules.target) }
        let id = ids[origin.offset]
        return Refill(id: id, partition: ids.partition, store: name, time: origin.time, entries: fruits)
    }
}
