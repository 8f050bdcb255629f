import JuiceDomain
import JuiceMessages
import NIOCore
import Synchronization

/// Distributes what was read from Kafka to all pages. Each event is encoded once, however many pages get it.
final class Hub: Sendable {
    /// The shortest time between two updates of the pages, in seconds.
    private static let shortestPause = 0.05

    /// Which stores are shown, and which accept orders.
    let rule: StoreRule
    private let mostPages: Int
    private let metrics: KioskMetrics
    private let state: Mutex<State>
    private let clock: @Sendable () -> Double

    /// - Parameter clock: seconds since 1970.
    init(
        menu: Menu, rule: StoreRule, mostPages: Int, metrics: KioskMetrics = KioskMetrics(), clock: @escaping @Sendable () -> Double
    ) {
        (self.rule, self.mostPages, self.metrics, self.clock) = (rule, mostPages, metrics, clock)
        let kiosk = KioskState(menu: menu, rule: rule, now: Int(clock()))
        state = Mutex(State(kiosk: kiosk, stores: (kiosk.storeNames, PageEvent.stores(kiosk.storeNames))))
    }

    // MARK: - Pages

    /// Whether another page can be opened.
    var hasRoom: Bool { state.withLock { hasRoom($0) } }

    private func hasRoom(_ state: State) -> Bool { !state.isClosed && state.subscribers.count < mostPages }

    /// Opens a page, which gets the current state and then the changes, until ``unsubscribe(_:)``. Nil if too many pages are open,
    /// or if the kiosk is closing.
    func subscribe(_ view: PageView, page: Name) -> Subscriber? {
        let now = Int(clock())
        return state.withLock { state in
            guard hasRoom(state) else { return nil }
            // The new page gets the pending answers as part of the latest ones; sent later, they would arrive twice.
            state.sendAnswers()
            let subscriber = Subscriber(view: view, page: page)
            state.subscribers[ObjectIdentifier(subscriber)] = subscriber
            metrics.pages.record(state.subscribers.count)
            let kiosk = state.kiosk
            subscriber.post { mailbox in
                mailbox.put(PageEvent.link(kiosk.connection), in: .link)
                mailbox.put(state.stores.event, in: .stores)
                mailbox.put(PageEvent.stock(kiosk, of: view.store), in: .stock)
                mailbox.put(PageEvent.board(kiosk, of: view.scope, now: now), in: .board)
                for answer in kiosk.activity(of: view.scope, now: now).answers {
                    mailbox.add(answer: PageEvent.answer(answer, kiosk.menu))
                }
            }
            return subscriber
        }
    }

    func unsubscribe(_ subscriber: Subscriber) {
        state.withLock { state in
            state.subscribers[ObjectIdentifier(subscriber)] = nil
            metrics.pages.record(state.subscribers.count)
        }
    }

    var connection: ConnectionState { state.withLock { $0.kiosk.connection } }

    /// Whether orders are accepted for a store; nil while that is unknown.
    func takesOrders(for store: Name) -> Bool? { state.withLock { $0.kiosk.takesOrders(for: store) } }

    /// Closes all pages, for good.
    func close() {
        let subscribers = state.withLock { state in
            state.isClosed = true
            defer { state.subscribers = [:] }
            return state.subscribers.values
        }
        for subscriber in subscribers { subscriber.close() }
    }

    // MARK: - Updates

    /// Applies events, and updates the pages unless that happened just before. Call it several times a second, even without events.
    func apply(_ events: [KioskState.Event]) {
        let now = clock()
        state.withLock { state in
            for event in events where state.kiosk.apply(event, now: Int(now)) {
                guard case .answer(let answer, let isHistory) = event else {
                    state.changedStores.insert(event.store)
                    continue
                }
                // `sendAnswers` keeps only the last of a flood.
                if !isHistory { state.answers.append(answer) }
                if state.sendOwnAnswer(answer), !isHistory { metrics.answers.increment() }
            }
            state.sendChanges(now: now)
        }
    }

    /// Drops the stock, before it is read again.
    func restart() {
        // Frees the dropped stock outside the lock, so that no page waits for that.
        _ = update { $0.restart() }
    }

    /// Changes the state. Pages get a change of the connection at once.
    func update<Result: Sendable>(_ change: (inout KioskState) -> Result) -> Result {
        let now = clock()
        return state.withLock { state in
            let before = state.kiosk.connection
            let result = change(&state.kiosk)
            if state.kiosk.connection != before {
                let event = PageEvent.link(state.kiosk.connection)
                for subscriber in state.subscribers.values {
                    subscriber.post { $0.put(event, in: .link) }
                    // Send the current stock again with the new state of the connection.
                    state.changedStores.insert(subscriber.view.store)
                }
            }
            state.sendChanges(now: now)
            return result
        }
    }

    private struct State {
        var kiosk: KioskState
        var subscribers: [ObjectIdentifier: Subscriber] = [:]
        var isClosed = false
        // Changes since the last update of the pages.
        var changedStores: Set<Name> = []
        var answers: [TimedAnswer] = []
        /// The stores to choose from, as they were last sent. A newly opened page gets the same event.
        var stores: (names: [String], event: ByteBuffer)
        var sentAt = 0.0
        var boardSentAt = 0

        /// Sends an answer to the page that sent the command. Returns whether it is open.
        func sendOwnAnswer(_ answer: TimedAnswer) -> Bool {
            guard let page = PostedCommand.page(ofID: answer.answer.id) else { return false }
            let pages = subscribers.values.filter { $0.page == page }
            guard !pages.isEmpty else { return false }
            let event = PageEvent.own(answer, kiosk.menu)
            for page in pages { page.post { $0.add(own: event) } }
            return true
        }

        mutating func sendChanges(now: Double) {
            guard now - sentAt >= shortestPause || now < sentAt else { return }
            sentAt = now
            sendStock()
            sendAnswers()
            guard Int(now) != boardSentAt else { return }
            boardSentAt = Int(now)
            sendBoards(now: Int(now))
        }

        private mutating func sendStock() {
            guard !changedStores.isEmpty else { return }
            let concerned = subscribers.values.filter { changedStores.contains($0.view.store) }
            for (store, subscribers) in Dictionary(grouping: concerned, by: \.view.store) {
                let event = PageEvent.stock(kiosk, of: store)
                for subscriber in subscribers { subscriber.post { $0.put(event, in: .stock) } }
            }
            changedStores = []
        }

        mutating func sendAnswers() {
            guard !answers.isEmpty else { return }
            for (scope, subscribers) in Dictionary(grouping: subscribers.values, by: \.view.scope) {
                let concerned = answers.filter { scope == nil || Name($0.answer.store) == scope }
                let events = concerned.suffix(Activity.mostAnswers).map { PageEvent.answer($0, kiosk.menu) }
                guard !events.isEmpty else { continue }
                for subscriber in subscribers { subscriber.post { for event in events { $0.add(answer: event) } } }
            }
            answers = []
        }

        /// Runs once a second. That also detects pages that are gone: writing to them fails.
        private mutating func sendBoards(now: Int) {
            if now.isMultiple(of: 60) { kiosk.sweep(now: now) }
            let names = kiosk.storeNames
            let hasNewStores = names != stores.names
            if hasNewStores { stores = (names, PageEvent.stores(names)) }
            for (scope, subscribers) in Dictionary(grouping: subscribers.values, by: \.view.scope) {
                let event = PageEvent.board(kiosk, of: scope, now: now)
                for subscriber in subscribers {
                    subscriber.post { mailbox in
                        mailbox.put(event, in: .board)
                        if hasNewStores { mailbox.put(stores.event, in: .stores) }
                    }
                }
            }
        }
    }
}

/// What a page shows.
struct PageView: Sendable {
    /// The store whose stock it shows.
    let store: Name
    /// The store that its board covers; nil is all stores.
    let scope: Name?
}

/// One open page.
final class Subscriber: Sendable {
    let view: PageView
    /// The page's own name for itself, which the ids of its commands begin with.
    let page: Name
    /// Yields when events are waiting; several posts may yield once.
    let wakes: AsyncStream<Void>
    private let wake: AsyncStream<Void>.Continuation
    private let mailbox = Mutex(Mailbox())

    init(view: PageView, page: Name) {
        (self.view, self.page) = (view, page)
        (wakes, wake) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Changes the mailbox and wakes the writer.
    func post(_ change: (inout Mailbox) -> Void) {
        mailbox.withLock { change(&$0) }
        wake.yield()
    }

    /// Removes all waiting events and returns them as one buffer.
    func drain() -> ByteBuffer {
        mailbox.withLock { $0.drain() }.reduce(into: ByteBuffer()) { $0.writeImmutableBuffer($1) }
    }

    func close() { wake.finish() }
}

/// The events waiting to be sent to one page. Their number is bounded, however slow the page is: the newest event of each slot, the
/// last few answers, and the last answers to the page's own commands.
struct Mailbox: Sendable {
    /// Kinds of events that replace each other: only the newest matters.
    enum Slot: Int, CaseIterable { case link, stores, stock, board }

    /// The most answers that wait. A page shows no more.
    static let mostAnswers = 30
    /// The most answers to the page's own commands that wait.
    static let mostOwnAnswers = 200

    private var newest = [ByteBuffer?](repeating: nil, count: Slot.allCases.count)
    private var answers: [ByteBuffer] = []
    private var own: [ByteBuffer] = []

    mutating func put(_ event: ByteBuffer, in slot: Slot) { newest[slot.rawValue] = event }

    mutating func add(answer event: ByteBuffer) {
        if answers.count == Self.mostAnswers { answers.removeFirst() }
        answers.append(event)
    }

    mutating func add(own event: ByteBuffer) {
        if own.count == Self.mostOwnAnswers { own.removeFirst() }
        own.append(event)
    }

    /// Removes and returns all events in sending order: the page's own answers first.
    mutating func drain() -> [ByteBuffer] {
        defer { self = Self() }
        return own + newest.compactMap(\.self) + answers
    }
}
