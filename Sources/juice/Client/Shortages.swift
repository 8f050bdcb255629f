import JuiceDomain
import JuiceMessages
import Kafka

/// What the stores of one partition are short of: answers in, refills out.
///
/// A fruit is short when `low` or fewer are left, or when an order found too little of it and fewer than `target` are left. It
/// gets one refill, and the next one only after the first is answered.
///
/// **The id of a refill is the place of the answer that showed the shortage**: `juice-restock-bot/3-1042` follows from the answer
/// at offset 1042 of partition 3. A bot that reads this answer again, after a crash or in place of another bot, sends the same
/// refill under the same id, and the service carries it out once. So the only state that a bot stores is its group's offset,
/// ``safePosition``, which is never past an answer whose refill is unanswered.
struct Shortages {
    private struct Place: Hashable {
        let store, fruit: Name
    }

    private struct Shortage {
        /// The level that the last answer showed.
        let level: Int
        /// The first answer that showed the shortage, and its timestamp in milliseconds since 1970.
        let origin: Offset, time: Int64
        /// Whether this bot has sent the refill.
        var isSent = false
    }

    private let plan: RestockBotPlan
    private let prefix: String
    /// The end of the log when this bot began. A previous bot's refills may be answered up to here, so this bot sends none before
    /// it has read that far.
    private let end: Offset
    /// The next answer to read.
    private(set) var position: Offset
    private var shortages: [Place: Shortage] = [:]

    /// Begins at the committed offset. If there is none, or the log does not have it, begins at the oldest answer.
    init(_ plan: RestockBotPlan, partition: Int32, log: Range<Offset>, committed: Offset?) {
        (self.plan, prefix) = (plan, "\(plan.group)/\(partition)-")
        (position, end) = (log.lowerBound, log.upperBound)
        if let committed, committed <= end { advance(to: committed) }
    }

    /// Where a successor must begin in order to decide the same.
    var safePosition: Offset { shortages.values.lazy.map(\.origin).reduce(position, min) }

    /// Moves the position forward to an offset.
    mutating func advance(to next: Offset) { position = max(position, next) }

    /// Applies the answer at an offset, with its timestamp in milliseconds since 1970.
    mutating func apply(_ answer: Answer, at offset: Offset, time: Int64) {
        let (store, isRefill) = (Name(answer.store), isRefill(answer))
        guard plan.stores?.contains(store) ?? true else { return }
        // Any answer ends the wait, even a rejection: the next order that finds too little shows the shortage again.
        if isRefill { shortages = shortages.filter { $0.key.store != store || "\(prefix)\($0.value.origin)" != answer.id } }
        // A repeat shows the levels of the first answer.
        for (fruit, level, isMissing) in answer.isDuplicate ? [] : answer.levels {
            let place = Place(store: store, fruit: fruit)
            // Another bot may have named the refill after an earlier answer, which this one did not read.
            if isRefill { shortages[place] = nil }
            let known = shortages[place]
            if known?.isSent ?? false { continue }
            // An order never ends a shortage; somebody's restock may.
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
        let unsent = Dictionary(grouping: shortages.filter { !$0.value.isSent }, by: \.value.origin)
        return unsent.sorted { $0.key < $1.key }.prefix(count).map { origin, found in
            for (place, _) in found { shortages[place]?.isSent = true }
            let amounts = found.map { FruitAmount(fruit: $0.fruit.text, amount: plan.target - $1.level) }
            return Refill(
                id: "\(prefix)\(origin)", time: found[0].value.time, store: found[0].key.store.text,
                amounts: amounts.sorted { $0.fruit < $1.fruit })
        }
    }
}

/// A restock that the bot sends for what a store is short of.
struct Refill: Sendable {
    let id: String
    /// The timestamp of the answer that the id names. The record carries it, so that a copy that is sent much later is still within
    /// the duplicate window of the first.
    let time: Int64
    let store: String
    /// What to add to the levels at arrival, since orders may change them meanwhile.
    let amounts: [FruitAmount]
}

extension Answer {
    /// The levels it reports, and whether an order found too little.
    fileprivate var levels: [(fruit: Name, level: Int, isMissing: Bool)] {
        if case .outOfStock(_, let missing) = outcome { return missing.map { (Name($0.fruit), $0.inStock, true) } }
        return outcome.left.map { (Name($0.fruit), $0.amount, false) }
    }
}
