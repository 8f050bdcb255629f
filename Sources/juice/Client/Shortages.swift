import JuiceDomain
import JuiceMessages
import Kafka

/// What the stores of one partition are short of: answers in, refills out.
///
/// A fruit is short when `low` or fewer are left, or when an order found too little of it and there is less than `target`. It gets
/// one refill, and the next one only after the first is answered.
///
/// **The id says which shortage a refill is for.** It names the answer that showed it: `juice-restock-bot/3-1042` follows from the
/// answer at offset 1042 of partition 3. A bot that reads this answer again, after a crash or in place of another bot, sends the
/// same refill under the same id, and the service carries it out once. So nothing is stored but the group's offset,
/// ``safePosition``: it is never past an answer whose refill has no answer.
struct Shortages {
    private struct Place: Hashable {
        let store, fruit: Name
    }

    private struct Shortage {
        /// What the last answer showed.
        let level: Int
        /// The answer that showed the shortage first, and when it was written, in milliseconds since 1970.
        let origin: Offset, time: Int64
        /// When this bot sent the refill; nil if it has not.
        var sentAt: ContinuousClock.Instant?
    }

    private let plan: RestockBotPlan
    private let prefix: String
    /// Where the answers ended when this bot began. Refills of the bot before it may be answered up to there, so it sends none
    /// before it has read that far.
    private let end: Offset
    /// The next answer to read.
    private(set) var position: Offset
    private var shortages: [Place: Shortage] = [:]

    /// Begins at the committed offset or, if there is none or it is not in the log, at the oldest answer.
    init(_ plan: RestockBotPlan, partition: Int32, log: Range<Offset>, committed: Offset?) {
        (self.plan, prefix) = (plan, "\(plan.group)/\(partition)-")
        (position, end) = (log.lowerBound, log.upperBound)
        if let committed, committed <= end { advance(to: committed) }
    }

    /// Whether nothing is short, as far as the answers show, and every refill is answered.
    var isSettled: Bool { position >= end && shortages.isEmpty }
    /// When the refills that have no answer were sent, by the offsets in their ids.
    var underway: [Offset: ContinuousClock.Instant] { shortages.values.reduce(into: [:]) { $0[$1.origin] = $1.sentAt } }
    /// Where a successor must begin in order to decide the same.
    var safePosition: Offset { shortages.values.lazy.map(\.origin).reduce(position, min) }

    /// Moves the position forward to an offset.
    mutating func advance(to next: Offset) { position = max(position, next) }

    /// Applies the answer at an offset, which was written at a time in milliseconds since 1970.
    mutating func apply(_ answer: Answer, at offset: Offset, time: Int64) {
        let (store, isRefill) = (Name(answer.store), isRefill(answer))
        guard plan.stores?.contains(store) ?? true else { return }
        // Whatever the answer is, perhaps a rejection: an order that finds too little shows the shortage again.
        if isRefill { shortages = shortages.filter { $0.key.store != store || "\(prefix)\($0.value.origin)" != answer.id } }
        // A repeat shows the levels of the first answer.
        for (fruit, level, isMissing) in answer.isDuplicate ? [] : answer.levels where plan.fruits?.contains(fruit) ?? true {
            let place = Place(store: store, fruit: fruit)
            // Another bot may have named the refill after an earlier answer, which this one did not read.
            if isRefill { shortages[place] = nil }
            let known = shortages[place]
            guard known?.sentAt == nil else { continue }
            // Others may have restocked it. No order ends a shortage.
            let isShort = isMissing || known != nil && answer.command == .order
            shortages[place] =
                level <= plan.low || isShort && level < plan.target
                ? Shortage(level: level, origin: known?.origin ?? offset, time: known?.time ?? time) : nil
        }
    }

    /// Whether it answers a refill of this group.
    func isRefill(_ answer: Answer) -> Bool { answer.command == .restock && answer.id.utf8.starts(with: prefix.utf8) }

    /// The refills to send now, oldest shortage first: one for all that an answer showed. They count as sent from here on.
    mutating func startRefills(atMost count: Int) -> [Refill] {
        guard position >= end else { return [] }
        let unsent = Dictionary(grouping: shortages.filter { $0.value.sentAt == nil }, by: \.value.origin)
        return unsent.sorted { $0.key < $1.key }.prefix(count).map { origin, found in
            for (place, _) in found { shortages[place]?.sentAt = .now }
            let entries = found.map { Refill.Entry(fruit: $0.fruit.text, level: $1.level, added: plan.target - $1.level) }
            return Refill(
                id: "\(prefix)\(origin)", time: found[0].value.time, store: found[0].key.store.text,
                entries: entries.sorted { $0.fruit < $1.fruit })
        }
    }
}

/// A restock that the bot sends for what a store is short of.
struct Refill: Sendable {
    /// One fruit of a refill. The amount is added to whatever the level is on arrival, since orders may change it meanwhile.
    struct Entry: Sendable {
        let fruit: String
        /// The level when the refill was decided, and how many are added to that.
        let level, added: Int
    }

    let id: String
    /// When the answer that the id names was written, in milliseconds since 1970. The record carries this time, so that a copy
    /// sent much later counts as sent at the same time and is recognised as a repeat.
    let time: Int64
    let store: String
    let entries: [Entry]

    var command: OutgoingCommand {
        .restock(id: id, store: store, .add, entries.map { FruitAmount(fruit: $0.fruit, amount: $0.added) })
    }
}

extension Answer {
    /// The levels it reports, and whether an order found too little.
    fileprivate var levels: [(fruit: Name, level: Int, isMissing: Bool)] {
        switch outcome {
        case .juiceMade(_, _, let left), .restocked(let left), .cancelled(_, let left):
            left.map { (Name($0.fruit), $0.amount, false) }
        case .outOfStock(_, let missing): missing.map { (Name($0.fruit), $0.inStock, true) }
        case .rejected, .answerLost: []
        }
    }
}
