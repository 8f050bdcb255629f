import Foundation
import JuiceDomain
import JuiceMessages
import NIOCore

/// Everything that the pages show: the stock of each store, the latest answers, and the connection to Kafka.
///
/// A plain value without threads or a clock: callers pass the time, in seconds since 1970.
struct KioskState: Sendable {
    enum Event: Sendable {
        /// The whole stock of a store; nil resets it to the menu's initial stock.
        case stock(StockRecord?, store: String)
        case answer(ReadAnswer)

        var store: Name {
            switch self {
            case .stock(_, let store): Name(store)
            case .answer(let answer): Name(answer.answer.store)
            }
        }
    }

    static let mostAnswers = 30
    /// How many stores a page can choose from besides those that the rule names.
    static let offeredStores = 1000

    let menu: Menu
    private let rule: StoreRule
    private var stock: [Name: StockRecord] = [:]
    /// The latest answers, oldest first.
    private(set) var answers: [ReadAnswer] = []
    private var counts = RecentCounts()
    var connection = ConnectionState()
    /// The pages' commands that have no answer, and when they were sent.
    private var unanswered: [Name: Int] = [:]
    /// An order waits after the first of these seconds. After the last, its answer may be lost, and is not expected.
    private static let waiting = 10..<3600
    private static let mostUnanswered = 1000

    init(menu: Menu, rule: StoreRule) { (self.menu, self.rule) = (menu, rule) }

    /// Applies an event. Returns whether its store is shown by this kiosk; events of other stores are ignored.
    @discardableResult
    mutating func apply(_ event: Event, now: Int) -> Bool {
        if case .answer(let answer) = event { expectNoAnswer(to: Name(answer.answer.id)) }
        let store = event.store
        guard rule.isShown(store) else { return false }
        switch event {
        case .stock(let record, _): stock[store] = record
        case .answer(var answer):
            // A time in the future counts as now: clocks differ.
            answer.time = min(answer.time, Int64(now) * 1000)
            counts.add(answer, now: now)
            // By time: after a start, earlier answers are read one partition after the other.
            answers.insert(answer, at: (answers.lastIndex { $0.time <= answer.time } ?? -1) + 1)
            if answers.count > Self.mostAnswers { answers.removeFirst() }
        }
        return true
    }

    mutating func expectAnswer(to id: Name, now: Int) {
        if unanswered.count == Self.mostUnanswered { unanswered = unanswered.filter { now - $0.value < Self.waiting.upperBound } }
        if unanswered.count < Self.mostUnanswered, unanswered[id] == nil { unanswered[id] = now }
    }

    mutating func expectNoAnswer(to id: Name) { unanswered[id] = nil }

    /// Drops all stock, before it is read again. Freeing it takes a while with many stores: do so outside any lock.
    mutating func restart() -> [Name: StockRecord] {
        defer { stock = [:] }
        connection.isRestored = false
        return stock
    }

    /// Whether orders are accepted for a store; nil while it is unknown whether the store has stock.
    func takesOrders(for store: Name) -> Bool? {
        if rule.takesOrders(for: store, hasStock: stock[store] != nil) { return true }
        return connection.isRestored || !rule.isShown(store) ? false : nil
    }

    /// The stock of a store, in the menu's order; empty while it is unknown. A store without a record, and a fruit missing from the
    /// record, have the menu's initial stock.
    func stock(of store: Name) -> [FruitAmount] {
        guard connection.isRestored || stock[store] != nil else { return [] }
        let known = Dictionary((stock[store]?.stock ?? []).map { (Name($0.fruit), $0.amount) }) { $1 }
        return menu.fruits.map { FruitAmount(fruit: $0.id, amount: known[Name($0.id)] ?? $0.initialStock) }
    }

    /// The stores to choose from: those that the rule names, then some others, sorted. A page can also ask for any other.
    var storeNames: [String] {
        rule.named + stock.keys.lazy.filter { !rule.isNamed($0) }.prefix(Self.offeredStores).map(\.text).sorted()
    }
}

// MARK: - Events of pages

/// The events of which a page keeps only the newest, by their names in the stream.
enum PageEvent: String, CaseIterable {
    case link, stores, stock, board, answers

    /// A server-sent event. JSON escapes line ends, so the data is always one line.
    static func encode(_ name: String, _ content: [String: Any]) -> ByteBuffer {
        var buffer = ByteBuffer(string: "event: \(name)\ndata: ")
        buffer.writeBytes(JSONSerialization.bytes(content))
        buffer.writeString("\n\n")
        return buffer
    }
}

extension KioskState {
    /// The event for pages of a store. Only ``PageEvent/stock`` depends on the store.
    func event(_ event: PageEvent, of store: Name = Name(StoreID.main), now: Int) -> ByteBuffer {
        let content: [String: Any]
        switch event {
        case .link:
            let isWaiting = connection.phase != .lost && unanswered.values.contains { Self.waiting.contains(now - $0) }
            content = ["state": isWaiting ? "unanswered" : connection.phase.rawValue]
        case .stores: content = ["stores": storeNames]
        case .stock:
            let levels = stock(of: store).map { ["fruit": $0.fruit, "amount": $0.amount] as [String: Any] }
            content = ["store": store.text, "stock": levels, "takesOrders": takesOrders(for: store) ?? true]
        case .board:
            let steps = counts.steps(now: now)
            content = [
                "time": now, "rate": counts.rate(now: now), "made": steps.map { $0.answers[.juiceMade] },
                "outOfStock": steps.map { $0.answers[.outOfStock] }, "cancelled": steps.map { $0.answers[.cancelled] },
            ]
        // Only the page that sent a command may know its id.
        case .answers:
            let ids = CommandKind.allCases.map { "\($0.idField)" }
            content = ["answers": answers.map { $0.content(menu).filter { !ids.contains($0.key) } }]
        }
        return PageEvent.encode(event.rawValue, content)
    }

    func event(own answer: ReadAnswer) -> ByteBuffer { PageEvent.encode("own", answer.content(menu)) }
}

/// An answer, and its record.
struct ReadAnswer: Sendable {
    let answer: Answer
    /// The record's timestamp, in milliseconds since 1970; 0 if it has none.
    var time: Int64
    let record: [UInt8]

    /// The record's fields, its time, and its message in both languages.
    fileprivate func content(_ menu: Menu) -> [String: Any] {
        var fields = (try? JSONSerialization.jsonObject(with: Data(record))) as? [String: Any] ?? [:]
        fields["time"] = max(0, time)
        let texts = Language.allCases.map { ($0.rawValue, answer.message(in: $0, menu: menu)) }
        fields["texts"] = Dictionary(uniqueKeysWithValues: texts)
        return fields
    }
}

// MARK: - Parts of the state

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
    enum Phase: String {
        /// The brokers have not been asked yet.
        case connecting
        /// A broker answers; the stock is being read.
        case restoring
        /// The stock has been read to its end; changes are shown as they arrive.
        case live
        case lost
    }

    /// Nil before the brokers were asked.
    private var isReached: Bool?
    /// Why there is no connection, or why the stock cannot be read over it; nil if that is not known.
    private var reason: String?
    /// Whether the stock has been read to its end.
    var isRestored = false

    /// The brokers were asked for something. Even if one answered, another may have failed.
    mutating func asked(isReached: Bool, failure: String?) {
        self.isReached = isReached
        reason = isReached && isRestored ? nil : failure
    }

    var phase: Phase {
        isReached.map { $0 ? isRestored ? .live : .restoring : .lost } ?? .connecting
    }

    /// Why the kiosk is not ready, in a sentence; nil when it is.
    var obstacle: String? {
        switch phase {
        case .connecting, .lost: "no Kafka broker answers" + (reason.map { ": \($0)" } ?? " yet")
        case .restoring: "the stock is still being read" + (reason.map { ": \($0)" } ?? "")
        case .live: nil
        }
    }
}

/// Counts the outcomes of the last five minutes' commands, in steps of some seconds. Steps start at multiples of their length, so
/// that a command stays in its step.
struct RecentCounts: Sendable {
    struct Step: Sendable, Equatable {
        var orders = 0
        var answers = AnswerCounts()
    }

    static let stepLength = 5
    private static let stepCount = 60
    /// How far back it counts, in seconds.
    static let length = stepLength * stepCount

    /// By the number of steps since 1970.
    private var steps: [Int: Step] = [:]

    /// Counts an answer by its time. A time before the window is ignored.
    mutating func add(_ answer: ReadAnswer, now: Int) {
        let (step, newest) = (Int(answer.time / 1000) / Self.stepLength, now / Self.stepLength)
        // A duplicate is not a second order.
        guard step > newest - Self.stepCount, !answer.answer.isDuplicate else { return }
        if answer.answer.command == .order { steps[step, default: Step()].orders += 1 }
        steps[step, default: Step()].answers.add(answer.answer.type)
        if steps.count > 2 * Self.stepCount { steps = steps.filter { $0.key > newest - Self.stepCount } }
    }

    /// The steps up to now, oldest first.
    func steps(now: Int) -> [Step] {
        let newest = now / Self.stepLength
        return (newest - Self.stepCount + 1...newest).map { steps[$0] ?? Step() }
    }

    /// Orders per second, averaged over the last two complete steps.
    func rate(now: Int) -> Double {
        Double(steps(now: now).dropLast().suffix(2).reduce(0) { $0 + $1.orders }) / Double(2 * Self.stepLength)
    }
}
