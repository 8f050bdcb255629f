import JuiceMaker
import JuiceMessages

/// Everything that the pages show: the stock of each store, what goes on, and whether Kafka is there.
///
/// A value without threads or a clock of its own: whoever has it tells it the time, in seconds.
struct Board: Sendable {
    /// One thing that was read from the topics.
    enum Event: Sendable, Equatable {
        /// The whole stock of a store.
        case stock(StockRecord)
        /// A store was reset: it has the menu's stock again.
        case stockRemoved(store: String)
        /// An answer. One of before the kiosk's start is history, which is listed and not counted.
        case answer(TimedAnswer, isHistory: Bool)
    }

    /// How many stores have answers and counts of their own at a time. Those of others are only among all stores'.
    static let mostActiveStores = 2000

    /// How many stores besides those that the rule names a page can choose from, at least. There may be twice as many.
    static let offeredStores = 200

    let menu: Menu
    let rule: StoreRule
    private var stock: [Name: StockRecord] = [:]
    /// Those whose stock changed last.
    private var offered = RecentTable<Name, Void>(capacity: offeredStores)
    private var activities: [Name: Activity] = [:]
    private(set) var all: Activity
    private(set) var link = Link()
    /// How many commands wait in the topics for the service; nil while nobody knows.
    private(set) var lag: Int?

    init(menu: Menu, rule: StoreRule, now: Int) {
        self.menu = menu
        self.rule = rule
        all = Activity(now: now)
    }

    // MARK: - Events

    /// Takes in what was read.
    ///
    /// - Returns: whether it is about a store of this kiosk; what is not changes nothing.
    @discardableResult
    mutating func take(_ event: Event, now: Int) -> Bool {
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
            all.take(answer, counts: !isHistory, now: now)
            guard activities[name] != nil || activities.count < Self.mostActiveStores else { break }
            activities[name, default: Activity(now: now)].take(answer, counts: !isHistory, now: now)
        }
        return true
    }

    /// Forgets the answers of stores where nothing has happened as long as counts are kept. To be called now and then.
    mutating func sweep(now: Int) {
        activities = activities.filter { now - $0.value.activeAt <= RateWindow.length }
    }

    /// Forgets all stock, before it is read anew.
    ///
    /// - Returns: what was known: to let go of it takes a while where there are many stores.
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

    mutating func note(lag: Int?) { self.lag = lag }

    // MARK: - What is shown

    /// Whether orders are taken for a store; nil while nobody knows whether it has stock.
    func takesOrders(for store: Name) -> Bool? {
        if rule.takesOrders(for: store, hasStock: stock[store] != nil) { return true }
        return link.isRestored || !rule.isShown(store) ? false : nil
    }

    /// The stock of a store by the menu. One that was never changed, and a fruit that its record does not name, have what the
    /// menu says.
    func stock(of store: Name) -> StockRecord {
        let record = stock[store]
        let known = Dictionary((record?.stock ?? []).map { (Name($0.fruit), $0.amount) }) { $1 }
        return StockRecord(
            store: store.text,
            revision: record?.revision ?? 0,
            stock: menu.fruits.map {
                FruitAmount(fruit: $0.id, amount: known[Name($0.id)] ?? $0.initialStock)
            }
        )
    }

    /// The stores to choose from: those that the rule names, then by name some that changed last. Any other can be asked for.
    var storeNames: [String] { rule.named + offered.keys.map(\.text).sorted() }

    /// What goes on at a store; at all of them where none is named.
    func activity(of store: Name?, now: Int) -> Activity {
        guard let store else { return all }
        return activities[store] ?? Activity(now: now)
    }
}

extension Board.Event {
    /// The store that it is about.
    var store: String {
        switch self {
        case .stock(let record): record.store
        case .stockRemoved(let store): store
        case .answer(let answer, _): answer.answer.store
        }
    }
}
