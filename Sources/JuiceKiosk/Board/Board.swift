import JuiceMaker
import JuiceMessages

/// Everything that the pages show: the stock of each store, the activity, and the connection to Kafka.
///
/// A plain value without threads or a clock: callers pass the time, in seconds since 1970.
struct Board: Sendable {
    /// A change read from the topics.
    enum Event: Sendable, Equatable {
        /// The whole stock of a store.
        case stock(StockRecord)
        /// A store was reset to the menu's initial stock.
        case stockRemoved(store: String)
        /// An answer. Those written before the kiosk started are history: listed, but not counted.
        case answer(TimedAnswer, isHistory: Bool)
    }

    /// How many stores have their own activity at a time. Answers of further stores only count for all stores together.
    static let mostActiveStores = 2000

    /// A page can choose from at least this many stores besides those that the rule names, and from fewer than twice as many.
    static let offeredStores = 200

    let menu: Menu
    let rule: StoreRule
    private var stock: [Name: StockRecord] = [:]
    /// The stores whose stock changed last.
    private var offered = RecentTable<Name, Void>(capacity: offeredStores)
    private var activities: [Name: Activity] = [:]
    private(set) var all: Activity
    private(set) var link = Link()
    /// The consumer group's lag, in commands; nil while it is unknown.
    var lag: Int?

    init(menu: Menu, rule: StoreRule, now: Int) {
        self.menu = menu
        self.rule = rule
        all = Activity(now: now)
    }

    // MARK: - Events

    /// Applies an event.
    ///
    /// - Returns: whether its store is shown by this kiosk; events of other stores are ignored.
    @discardableResult
    mutating func apply(_ event: Event, now: Int) -> Bool {
        let name = Name(event.store)
        guard rule.isShown(name) else { return false }
        switch event {
        case .stock(let record):
            stock[name] = record
            if !rule.isNamed(name) { offered[name] = () }
        case .stockRemoved:
            stock[name] = nil
            offered[name] = nil
        case .answer(let answer, let isHistory):
            all.add(answer, isHistory: isHistory, now: now)
            guard activities[name] != nil || activities.count < Self.mostActiveStores else { break }
            activities[name, default: Activity(now: now)].add(answer, isHistory: isHistory, now: now)
        }
        return true
    }

    /// Drops the activity of stores that have been idle for longer than counts are kept. Call it periodically.
    mutating func sweep(now: Int) {
        activities = activities.filter { now - $0.value.activeAt <= RateWindow.length }
    }

    /// Drops all stock, before it is read again.
    ///
    /// - Returns: the dropped stock. Freeing it takes a while with many stores; the caller can do so outside its lock.
    mutating func restart() -> [Name: StockRecord] {
        defer { stock = [:] }
        offered = RecentTable(capacity: Self.offeredStores)
        link.restarted()
        return stock
    }

    mutating func restored() { link.restored() }
    mutating func reached() { link.reached() }

    mutating func failed(_ reason: String) {
        link.failed(reason)
        lag = nil
    }

    // MARK: - Views

    /// Whether orders are accepted for a store; nil while it is unknown whether the store has stock.
    func takesOrders(for store: Name) -> Bool? {
        if rule.takesOrders(for: store, hasStock: stock[store] != nil) { return true }
        return link.isRestored || !rule.isShown(store) ? false : nil
    }

    /// The stock of a store, in the menu's order. A store without a record, and a fruit missing from the record, have the menu's
    /// initial stock.
    func stock(of store: Name) -> StockRecord {
        let record = stock[store]
        let known = Dictionary((record?.stock ?? []).map { (Name($0.fruit), $0.amount) }) { $1 }
        return StockRecord(
            store: store.text, revision: record?.revision ?? 0,
            stock: menu.fruits.map { FruitAmount(fruit: $0.id, amount: known[Name($0.id)] ?? $0.initialStock) })
    }

    /// The stores to choose from: those that the rule names, then some of the last changed ones, sorted. A page can also
    /// ask for any other.
    var storeNames: [String] { rule.named + offered.keys.map(\.text).sorted() }

    /// The activity at a store; nil is all stores.
    func activity(of store: Name?, now: Int) -> Activity {
        guard let store else { return all }
        return activities[store] ?? Activity(now: now)
    }
}

extension Board.Event {
    /// The id of the store that it concerns.
    var store: String {
        switch self {
        case .stock(let record): record.store
        case .stockRemoved(let store): store
        case .answer(let answer, _): answer.answer.store
        }
    }
}
