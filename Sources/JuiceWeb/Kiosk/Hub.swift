import JuiceDomain
import JuiceMessages
import NIOCore
import Synchronization

/// Distributes what was read from Kafka to all pages. Each event is encoded once, however many pages get it.
final class Hub: Sendable {
    /// In seconds.
    private static let shortestPause = 0.05

    let rule: StoreRule
    private let metrics: KioskMetrics
    private let state: Mutex<State>
    let clock: @Sendable () -> Double

    /// - Parameter clock: seconds since 1970.
    init(
        menu: Menu, rule: StoreRule, mostPages: Int, metrics: KioskMetrics = KioskMetrics(), clock: @escaping @Sendable () -> Double
    ) {
        (self.rule, self.metrics, self.clock) = (rule, metrics, clock)
        var first = State(kiosk: KioskState(menu: menu, rule: rule), mostPages: mostPages)
        for event in State.sharedEvents { first.share(event, now: Int(clock())) }
        state = Mutex(first)
    }

    // MARK: - Pages

    var hasRoom: Bool { state.withLock(\.hasRoom) }

    /// Opens a page, which gets the current state and then the changes, until ``unsubscribe(_:)``. Nil if too many pages are open,
    /// or if the kiosk is closing.
    ///
    /// - Parameters:
    ///   - store: the store whose stock it shows.
    ///   - name: the page's own name, with which the ids of its commands begin.
    func subscribe(to store: Name, page name: Name) -> OpenPage? {
        let now = Int(clock())
        return state.withLock { state in
            guard state.hasRoom else { return nil }
            let page = OpenPage(store: store, name: name)
            state.pages[ObjectIdentifier(page)] = page
            metrics.pages.record(state.pages.count)
            page.post(state.shared)
            page.post([.stock: state.kiosk.event(.stock, of: store, now: now)])
            return page
        }
    }

    func unsubscribe(_ page: OpenPage) {
        state.withLock { state in
            state.pages[ObjectIdentifier(page)] = nil
            metrics.pages.record(state.pages.count)
        }
    }

    var connection: ConnectionState { state.withLock { $0.kiosk.connection } }

    /// Whether orders are accepted for a store; nil while that is unknown.
    func takesOrders(for store: Name) -> Bool? { state.withLock { $0.kiosk.takesOrders(for: store) } }

    /// A page's command is about to be sent, or was not sent.
    func expectAnswer(to id: Name) { state.withLock { $0.kiosk.expectAnswer(to: id, now: Int(clock())) } }
    func expectNoAnswer(to id: Name) { state.withLock { $0.kiosk.expectNoAnswer(to: id) } }

    /// Closes all pages, for good.
    func close() {
        let pages = state.withLock { state in
            state.mostPages = 0
            defer { state.pages = [:] }
            return state.pages.values
        }
        for page in pages { page.close() }
    }

    // MARK: - Updates

    /// Applies events, and updates the pages unless that happened just before. Call it several times a second, even without events.
    func apply(_ events: [KioskState.Event]) {
        let now = clock()
        state.withLock { state in
            for event in events where state.kiosk.apply(event, now: Int(now)) {
                switch event {
                case .stock: state.changedStores.insert(event.store)
                case .answer(let answer): if state.sendOwnAnswer(answer) { metrics.answers.increment() }
                }
            }
            state.sendChanges(now: now)
        }
    }

    /// Changes the state. Pages get a change of the connection at once.
    func update<Result: Sendable>(_ change: (inout KioskState) -> Result) -> Result {
        let now = clock()
        return state.withLock { state in
            let before = state.kiosk.connection.phase
            let result = change(&state.kiosk)
            if state.kiosk.connection.phase != before {
                state.share(.link, now: Int(now))
                // Whether orders are accepted may depend on it.
                state.changedStores.formUnion(state.pages.values.map(\.store))
            }
            state.sendChanges(now: now)
            return result
        }
    }

    private struct State {
        static let sharedEvents = [PageEvent.link, .stores, .board, .answers]

        var kiosk: KioskState
        var pages: [ObjectIdentifier: OpenPage] = [:]
        var mostPages: Int
        /// The stores whose stock changed since the last update of the pages.
        var changedStores: Set<Name> = []
        /// The newest shared events, which a newly opened page gets.
        var shared: [PageEvent: ByteBuffer] = [:]
        private var sentAt = 0.0
        private var sharedAt = 0

        init(kiosk: KioskState, mostPages: Int) { (self.kiosk, self.mostPages) = (kiosk, mostPages) }

        var hasRoom: Bool { pages.count < mostPages }

        /// Sends an answer to the page that sent the command. Returns whether it is open.
        func sendOwnAnswer(_ answer: ReadAnswer) -> Bool {
            guard let name = PostedCommand.page(ofID: answer.answer.id) else { return false }
            let pages = pages.values.filter { $0.name == name }
            guard !pages.isEmpty else { return false }
            let event = kiosk.event(own: answer)
            for page in pages { page.post(own: event) }
            return true
        }

        mutating func sendChanges(now: Double) {
            guard now - sentAt >= shortestPause || now < sentAt else { return }
            sentAt = now
            let concerned = changedStores.isEmpty ? [] : pages.values.filter { changedStores.contains($0.store) }
            for (store, pages) in Dictionary(grouping: concerned, by: \.store) {
                let event = kiosk.event(.stock, of: store, now: Int(now))
                for page in pages { page.post([.stock: event]) }
            }
            changedStores = []
            guard Int(now) != sharedAt else { return }
            sharedAt = Int(now)
            for event in Self.sharedEvents { share(event, now: Int(now)) }
        }

        /// Sends an event to all pages if it says something new. The board is sent in any case, once a second: silence shows a page
        /// that the connection is dead, and writing to a page that is gone fails.
        mutating func share(_ event: PageEvent, now: Int) {
            let data = kiosk.event(event, now: now)
            guard event == .board || shared[event] != data else { return }
            shared[event] = data
            for page in pages.values { page.post([event: data]) }
        }
    }
}

/// One open page, and the events waiting to be sent to it. Their number is bounded, however slow the page is.
final class OpenPage: Sendable {
    /// The most answers to the page's own commands that wait.
    static let mostOwnAnswers = 200

    private struct Waiting {
        var newest: [PageEvent: ByteBuffer] = [:]
        var own: [ByteBuffer] = []
    }

    let store: Name
    let name: Name
    /// Yields when events are waiting; several posts may yield once.
    let wakes: AsyncStream<Void>
    private let wake: AsyncStream<Void>.Continuation
    private let waiting = Mutex(Waiting())

    init(store: Name, name: Name) {
        (self.store, self.name) = (store, name)
        (wakes, wake) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Adds events, which replace waiting ones of the same name.
    func post(_ events: [PageEvent: ByteBuffer]) {
        waiting.withLock { $0.newest.merge(events) { $1 } }
        wake.yield()
    }

    func post(own event: ByteBuffer) {
        waiting.withLock { waiting in
            if waiting.own.count == Self.mostOwnAnswers { waiting.own.removeFirst() }
            waiting.own.append(event)
        }
        wake.yield()
    }

    /// Removes all waiting events and returns them as one buffer, the page's own answers first.
    func drain() -> ByteBuffer {
        let events = waiting.withLock { waiting in
            defer { waiting = Waiting() }
            return waiting.own + PageEvent.allCases.compactMap { waiting.newest[$0] }
        }
        return events.reduce(into: ByteBuffer()) { $0.writeImmutableBuffer($1) }
    }

    func close() { wake.finish() }
}
