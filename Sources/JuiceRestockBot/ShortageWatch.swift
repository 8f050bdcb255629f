import JuiceMessages

/// Decides what to refill in the stores of one partition: events in, refills out. It knows no Kafka and no clock.
///
/// It is told where the stores stand and which refills are on their way already, and then every answer, in order. The
/// answers of a partition tell every change of its stores in the order in which they happened, and among them what became
/// of each refill. So a level is never older than the answer to a refill that changed it, which it could be if it were
/// read from another topic.
///
/// A fruit is short when `low` or fewer are left, or when an order has found too little of it and there is less than `target`.
/// A store that is short of something gets one refill for all of it, and no other until that one is answered. It keeps in
/// memory only stores that are short of something or wait for an answer.
///
/// ## Topics
/// ### Where things stand
/// - ``note(stock:)``
/// - ``noteGone(store:)``
/// - ``note(sent:to:)``
/// ### What happens
/// - ``note(_:at:)``
/// - ``takeRefills(at:limit:)``
/// - ``safePosition(at:)``
public struct ShortageWatch {
    /// What somebody may want to know of an answer.
    public enum Notice: Sendable, Equatable {
        /// A refill has arrived.
        case refilled(store: String, id: RefillID)
        /// The service would not take a refill. It is not sent again before the stock changes; one of several fruits is sent
        /// fruit by fruit.
        case rejected(store: String, id: RefillID, reason: String, message: String)
        /// An order needs more than a refill brings.
        case beyondTarget(fruit: String, needed: Int)
    }

    /// The rules.
    public let rules: RefillRules
    private let group: String
    private let partition: Int32
    private var stores: [ByteText: StoreShortages] = [:]
    /// Stores for which something may have to be sent.
    private var undecided: Set<ByteText> = []
    /// Stores with an order that was short of something and for which nothing was sent yet.
    private var told: Set<ByteText> = []
    /// Stores with a refill on its way.
    private var waiting: Set<ByteText> = []

    /// A watch that knows of no shortage.
    ///
    /// - Parameters:
    ///   - rules: when a fruit is refilled, and up to where.
    ///   - group: the bots that share the work; part of every refill's id.
    ///   - partition: the partition of the stores.
    public init(rules: RefillRules, group: String, partition: Int32) {
        self.rules = rules
        self.group = group
        self.partition = partition
    }

    /// How many stores wait for the answer to a refill.
    public var underway: Int { waiting.count }

    /// Whether no store is short of anything or waits for an answer.
    var isIdle: Bool { stores.isEmpty && undecided.isEmpty && told.isEmpty && waiting.isEmpty }
}

// MARK: - Where things stand

extension ShortageWatch {
    /// Takes note of a record of the stock topic.
    public mutating func note(stock record: StockRecord) {
        change(record.store) { (store, rules) in
            for entry in record.stock where rules.watches(fruit: ByteText(entry.fruit)) {
                store.note(level: entry.amount, of: entry.fruit, rules: rules)
            }
        }
    }

    /// Takes note that a store's stock record was deleted.
    public mutating func noteGone(store name: String) {
        change(name) { store, _ in store.shortages = [] }
    }

    /// Takes note of a restock that the service has not read yet. One that is none of this group's refills is nobody's
    /// business here.
    public mutating func note(sent id: String, to store: String) {
        guard let id = RefillID(id, group: group) else { return }
        let name = ByteText(store)
        var store = stores[name] ?? StoreShortages()
        store.underway[id] = []
        keep(store, name)
    }
}

// MARK: - What happens

extension ShortageWatch {
    /// Takes note of an answer, the record of the results topic at `offset`.
    public mutating func note(_ answer: Answer, at offset: Int64) -> [Notice] {
        var notices: [Notice] = []
        // The levels of an answer given again are those of the first time.
        if !answer.isDuplicate { noteLevels(in: answer, at: offset, &notices) }
        if answer.command == .restock, let id = RefillID(answer.id, group: group) {
            settle(id, answer, &notices)
        }
        return notices
    }

    /// The refills to send now, ordered by store. They count as on their way from here on.
    ///
    /// - Parameters:
    ///   - position: the offset after the last answer that was noted.
    ///   - limit: the most refills; the others are taken by the next call.
    public mutating func takeRefills(at position: Int64, limit: Int = 10_000) -> [Refill] {
        guard !undecided.isEmpty else { return [] }
        let id = RefillID(group: group, partition: partition, position: position)
        var refills: [Refill] = []
        for name in undecided.sorted() {
            if refills.count == limit { break }
            undecided.remove(name)
            guard var store = stores[name] else { continue }
            let entries = store.takeRefill(id, target: rules.target)
            keep(store, name)
            guard !entries.isEmpty else { continue }
            refills.append(Refill(id: id, store: name.text, entries: entries))
        }
        return refills
    }

    /// From where a successor must read the answers to know of every order that was short of something and for which
    /// nothing was sent yet: `position`, or an earlier one.
    public func safePosition(at position: Int64) -> Int64 {
        told.reduce(position) { min($0, stores[$1]?.toldAt ?? position) }
    }

    private mutating func noteLevels(in answer: Answer, at offset: Int64, _ notices: inout [Notice]) {
        switch answer.outcome {
        case .juiceMade(_, _, _, let left), .restocked(let left):
            change(answer.store) { (store, rules) in
                for entry in left where rules.watches(fruit: ByteText(entry.fruit)) {
                    store.note(level: entry.amount, of: entry.fruit, rules: rules)
                }
            }
        case .outOfStock(_, _, let missing):
            let watched = missing.filter { rules.watches(fruit: ByteText($0.fruit)) }
            change(answer.store) { (store, rules) in
                for entry in watched {
                    store.note(
                        level: entry.inStock,
                        of: entry.fruit,
                        needed: entry.needed,
                        at: offset,
                        rules: rules
                    )
                }
            }
            guard rules.watches(store: ByteText(answer.store)) else { return }
            for entry in watched where entry.needed > rules.target {
                notices.append(.beyondTarget(fruit: entry.fruit, needed: entry.needed))
            }
        case .rejected: break
        }
    }

    private mutating func settle(_ id: RefillID, _ answer: Answer, _ notices: inout [Notice]) {
        let name = ByteText(answer.store)
        guard var store = stores[name] else { return }
        switch answer.outcome {
        case .restocked(let left):
            if store.refilled(id, left, rules: rules) {
                notices.append(.refilled(store: answer.store, id: id))
            }
        case .rejected(let reason):
            guard store.rejected(id) else { return }
            notices.append(.rejected(store: answer.store, id: id, reason: reason, message: answer.message))
        case .juiceMade, .outOfStock: return
        }
        keep(store, name)
        if !store.isOver { undecided.insert(name) }
    }

    private mutating func change(_ name: String, _ body: (inout StoreShortages, RefillRules) -> Void) {
        let name = ByteText(name)
        guard rules.watches(store: name) else { return }
        var store = stores[name] ?? StoreShortages()
        body(&store, rules)
        keep(store, name)
        if !store.isOver { undecided.insert(name) }
    }

    /// Keeps a store for as long as there is something to know of it.
    private mutating func keep(_ store: StoreShortages, _ name: ByteText) {
        if store.isOver {
            stores.removeValue(forKey: name)
            undecided.remove(name)
        } else {
            stores[name] = store
        }
        if store.toldAt == nil { told.remove(name) } else { told.insert(name) }
        if store.underway.isEmpty { waiting.remove(name) } else { waiting.insert(name) }
    }
}
