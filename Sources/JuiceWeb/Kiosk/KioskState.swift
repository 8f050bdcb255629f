import JuiceDomain
import JuiceMessages

/// Everything that the pages show: the stock of each store, the activity, and the connection to Kafka.
///
/// A plain value without threads or a clock: callers pass the time, in seconds since 1970.
struct KioskState: Sendable {
    /// A change read from the topics.
    enum Event: Sendable {
        /// The whole stock of a store.
        case stock(StockRecord)
        /// A store was reset to the menu's initial stock.
        case stockRemoved(store: String)
        /// An answer. Those written before the kiosk started are history: listed, but not counted.
        case answer(TimedAnswer, isHistory: Bool)

        /// The store that it concerns.
        var store: Name {
            switch self {
            case .stock(let record): Name(record.store)
            case .stockRemoved(let store): Name(store)
            case .answer(let answer, _): Name(answer.answer.store)
            }
        }
    }

    /// How many stores have their own activity at a time. Answers of further stores only count for all stores together.
    static let mostActiveStores = 2000

    /// A page can choose from at least this many stores besides those that the rule names, and from fewer than twice as many.
    static let offeredStores = 200

    let menu: Menu
    private let rule: StoreRule
    private var stock: [Name: StockRecord] = [:]
    /// The stores whose stock changed last.
    private var offered = RecentTable<Name, Void>(capacity: offeredStores)
    private var activities: [Name: Activity] = [:]
    private var allActivity: Activity
    var connection = ConnectionState()
    /// The consumer group's lag, in commands; nil while it is unknown.
    var lag: Int?

    init(menu: Menu, rule: StoreRule, now: Int) {
        (self.menu, self.rule, allActivity) = (menu, rule, Activity(now: now))
    }

    /// Applies an event. Returns whether its store is shown by this kiosk; events of other stores are ignored.
    @discardableResult
    mutating func apply(_ event: Event, now: Int) -> Bool {
        let store = event.store
        guard rule.isShown(store) else { return false }
        switch event {
        case .stock(let record):
            stock[store] = record
            if !rule.isNamed(store) { offered[store] = () }
        case .stockRemoved:
            stock[store] = nil
            offered[store] = nil
        case .answer(let answer, let isHistory):
            allActivity.add(answer, isHistory: isHistory, now: now)
            guard activities[store] != nil || activities.count < Self.mostActiveStores else { break }
            activities[store, default: Activity(now: now)].add(answer, isHistory: isHistory, now: now)
        }
        return true
    }

    /// Drops the activity of stores that have been idle for longer than counts are kept. Call it periodically.
    mutating func sweep(now: Int) {
        activities = activities.filter { now - $0.value.activeAt <= RateWindow.length }
    }

    /// Drops all stock, before it is read again. Freeing it takes a while with many stores: do so outside any lock.
    mutating func restart() -> [Name: StockRecord] {
        defer { stock = [:] }
        offered = RecentTable(capacity: Self.offeredStores)
        connection.isRestored = false
        return stock
    }

    /// No broker answered.
    mutating func failed(_ reason: String) {
        connection.failed(reason)
        lag = nil
    }

    /// Whether orders are accepted for a store; nil while it is unknown whether the store has stock.
    func takesOrders(for store: Name) -> Bool? {
        if rule.takesOrders(for: store, hasStock: stock[store] != nil) { return true }
        return connection.isRestored || !rule.isShown(store) ? false : nil
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
        store.map { activities[$0] ?? Activity(now: now) } ?? allActivity
    }
}

/// Which stores a kiosk shows, and for which it accepts orders. A store that an order creates stays for good, so strangers must not
/// create any.
struct StoreRule: Sendable {
    /// The stores that pages list first. They accept orders whether or not they have stock yet.
    let named: [String]
    /// Whether no other stores are shown.
    let isFixed: Bool
    private let names: Set<Name>
    private let takesAny: Bool

    /// - Parameter stores: nil is the default store and all that have stock.
    init(stores: [String]?, takesAny: Bool = false) {
        named = stores ?? [StoreID.main]
        isFixed = stores != nil && !takesAny
        names = Set(named.map(Name.init))
        self.takesAny = takesAny
    }

    func isNamed(_ store: Name) -> Bool { names.contains(store) }

    func isShown(_ store: Name) -> Bool { !isFixed || isNamed(store) }

    func takesOrders(for store: Name, hasStock: Bool) -> Bool { takesAny || isNamed(store) || hasStock && !isFixed }
}

/// The kiosk's connection to Kafka, as one state that all pages show.
struct ConnectionState: Sendable, Equatable {
    enum Phase: String, Encodable {
        /// No broker has answered yet.
        case connecting
        /// A broker answers; the stock is being read.
        case restoring
        /// The stock has been read to its end; changes are shown as they arrive.
        case live
        /// Brokers answered before, but none does now.
        case lost
    }

    /// Nil before a broker was asked.
    private var isReached: Bool?
    /// Whether the stock has been read to its end.
    var isRestored = false
    /// Why there is no connection, or why the stock cannot be read over it; nil if that is not known.
    private(set) var reason: String?

    var phase: Phase {
        switch isReached {
        case nil: .connecting
        case false?: isRestored ? .lost : .connecting
        case true?: isRestored ? .live : .restoring
        }
    }

    /// Why the kiosk is not ready, in a sentence; nil when it is.
    var obstacle: String? {
        switch phase {
        case .connecting, .lost: "no Kafka broker answers" + (reason.map { ": \($0)" } ?? " yet")
        case .restoring: "the stock is still being read" + (reason.map { ": \($0)" } ?? "")
        case .live: nil
        }
    }

    /// A broker answered; others may have failed.
    mutating func reached(failure: String? = nil) { (isReached, reason) = (true, isRestored ? nil : failure) }

    /// No broker answered.
    mutating func failed(_ reason: String) { (isReached, self.reason) = (false, reason) }
}

/// An answer and the time it was written.
struct TimedAnswer: Sendable {
    let answer: Answer
    /// The record's timestamp, in milliseconds since 1970; 0 if it has none.
    let time: Int64
    /// The revisions of the store that are missing before this answer; nil if none are.
    var gap: ClosedRange<Int>?
}

/// The activity at one store, or at all of them: the latest answers, and counts by outcome.
struct Activity: Sendable {
    /// How many answers a newly opened page gets.
    static let mostAnswers = 30

    /// The latest answers, oldest first.
    private(set) var answers: [TimedAnswer] = []
    /// The last answer with a gap before it, kept for longer than the latest answers; nil if there was none.
    private(set) var answerAfterGap: TimedAnswer?
    /// The orders and cancels of the last minutes by outcome.
    private(set) var window = RateWindow()
    /// When the last answer arrived, in seconds since 1970.
    private(set) var activeAt: Int

    init(now: Int) { activeAt = now }

    mutating func add(_ answer: TimedAnswer, isHistory: Bool, now: Int) {
        activeAt = now
        if answers.count == Self.mostAnswers { answers.removeFirst() }
        answers.append(answer)
        if answer.gap != nil { answerAfterGap = answer }
        // A duplicate is not a second order.
        guard !isHistory, !answer.answer.isDuplicate, let outcome = Self.outcome(answer.answer) else { return }
        window.count(outcome, at: Int(answer.time / 1000), now: now)
    }

    private static func outcome(_ answer: Answer) -> WritableKeyPath<RateWindow.Counts, Int>? {
        switch answer.outcome {
        case .juiceMade: \.made
        case .outOfStock: \.outOfStock
        case .cancelled: \.cancelled
        case .rejected: answer.command == .order ? \.rejected : nil
        case .restocked, .answerLost: nil
        }
    }
}

/// Counts the outcomes of the last minutes' orders and cancels, second by second.
struct RateWindow: Sendable {
    struct Counts: Sendable, Equatable {
        var made = 0
        var outOfStock = 0
        var rejected = 0
        var cancelled = 0

        var orders: Int { made + outOfStock + rejected }

        static func += (sum: inout Counts, counts: Counts) {
            sum.made += counts.made
            sum.outOfStock += counts.outOfStock
            sum.rejected += counts.rejected
            sum.cancelled += counts.cancelled
        }
    }

    /// How far back the window reaches, in seconds.
    static let length = 300
    /// Over how many seconds the current rate is averaged.
    private static let rateLength = 10

    private var seconds: [Int: Counts] = [:]

    /// A time before the window is ignored. A time in the future counts as now: clocks differ.
    mutating func count(_ outcome: WritableKeyPath<Counts, Int>, at time: Int, now: Int) {
        let time = min(time, now)
        guard time > now - Self.length else { return }
        seconds[time, default: Counts()][keyPath: outcome] += 1
        if seconds.count > 2 * Self.length { seconds = seconds.filter { $0.key > now - Self.length } }
    }

    /// Orders per second, averaged over the last complete seconds.
    func rate(now: Int) -> Double {
        Double(sum((now - Self.rateLength)..<now).orders) / Double(Self.rateLength)
    }

    /// The counts in steps of this many seconds, oldest first. Steps start at multiples of their length, so that an order stays in
    /// its step.
    func steps(of length: Int, now: Int) -> [Counts] {
        let (end, count) = (now / length * length + length, Self.length / length)
        return (0..<count).map { step in
            let start = end - (count - step) * length
            return sum(start..<start + length)
        }
    }

    private func sum(_ range: Range<Int>) -> Counts {
        range.reduce(into: Counts()) { sum, second in
            if let counts = seconds[second] { sum += counts }
        }
    }
}
