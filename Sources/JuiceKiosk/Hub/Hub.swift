import JuiceMaker
import JuiceMessages
import NIOCore
import Synchronization

/// Distributes what was read from Kafka to all pages. Each frame is encoded once, however many pages get it.
final class Hub: Sendable {
    /// The shortest time between two updates of the pages, in seconds.
    private static let shortestPause = 0.05

    private struct State {
        var board: Board
        var awaited = AwaitedAnswers()
        var subscribers: [ObjectIdentifier: Subscriber] = [:]
        var isClosed = false
        // Changes since the last update of the pages.
        var changedStores: Set<Name> = []
        var answers: [TimedAnswer] = []
        /// The stores to choose from, as they were last sent. A newly opened page gets the same frame.
        var stores: (names: [String], frame: ByteBuffer)
        var sentAt = 0.0
        var boardSentAt = 0
    }

    /// Which stores are shown, and which accept orders.
    let rule: StoreRule
    private let mostPages: Int
    private let metrics: KioskMetrics
    private let state: Mutex<State>
    private let clock: @Sendable () -> Double

    /// - Parameters:
    ///   - mostPages: how many pages can be open.
    ///   - clock: seconds since 1970.
    init(
        menu: Menu, rule: StoreRule, mostPages: Int = 2000, metrics: KioskMetrics = KioskMetrics(),
        clock: @escaping @Sendable () -> Double
    ) {
        (self.rule, self.mostPages, self.metrics, self.clock) = (rule, mostPages, metrics, clock)
        let board = Board(menu: menu, rule: rule, now: Int(clock()))
        let names = board.storeNames
        state = Mutex(State(board: board, stores: (names, Frames.stores(names))))
    }

    // MARK: - Pages

    /// Whether another page can be opened.
    var hasRoom: Bool { state.withLock { !$0.isClosed && $0.subscribers.count < mostPages } }

    /// Opens a page. It gets the current state, then the changes. The caller must balance this with ``unsubscribe(_:)``.
    ///
    /// - Returns: nil if too many pages are open, or if the kiosk is closing.
    func subscribe(_ view: PageView, page: Name) -> Subscriber? {
        let subscriber = Subscriber(view: view, page: page)
        let now = Int(clock())
        let isIn = state.withLock { state in
            guard !state.isClosed, state.subscribers.count < mostPages else { return false }
            // The new page gets the pending answers as part of the latest ones; sent later, they would arrive twice.
            Self.sendAnswers(&state)
            state.subscribers[ObjectIdentifier(subscriber)] = subscriber
            metrics.record(openPages: state.subscribers.count)
            let board = state.board
            subscriber.post { mailbox in
                mailbox.put(Frames.link(board), in: .link)
                mailbox.put(state.stores.frame, in: .stores)
                mailbox.put(Frames.stock(board, of: view.store), in: .stock)
                mailbox.put(Frames.board(board, scope: view.scope, now: now), in: .board)
                for answer in board.activity(of: view.scope, now: now).answers { mailbox.add(answer: Frames.answer(answer)) }
            }
            return true
        }
        return isIn ? subscriber : nil
    }

    /// Closes a page.
    func unsubscribe(_ subscriber: Subscriber) {
        state.withLock { state in
            state.subscribers[ObjectIdentifier(subscriber)] = nil
            metrics.record(openPages: state.subscribers.count)
        }
    }

    /// Registers a command whose answer the page must get. Call it before the command is sent.
    ///
    /// - Returns: false if the page has too many commands in flight.
    func await(_ command: AwaitedAnswers.Command, page: Name) -> Bool {
        state.withLock { $0.awaited.add(command, page: page) }
    }

    /// The connection to Kafka.
    var link: Link { state.withLock { $0.board.link } }

    /// Whether orders are accepted for a store; nil while that is unknown.
    func takesOrders(for store: Name) -> Bool? { state.withLock { $0.board.takesOrders(for: store) } }

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
    func apply(_ events: [Board.Event]) {
        let now = clock()
        state.withLock { state in
            for event in events where state.board.apply(event, now: Int(now)) {
                guard case .answer(let answer, let isHistory) = event else {
                    state.changedStores.insert(Name(event.store))
                    continue
                }
                // `sendAnswers` keeps only the last of a flood.
                if !isHistory { state.answers.append(answer) }
                if Self.sendOwnAnswer(answer, &state) { metrics.answered() }
            }
            Self.sendChanges(&state, now: now)
        }
    }

    /// Drops the stock, before it is read again.
    func restart() {
        // Frees the dropped stock outside the lock, so that no page waits for that.
        _ = update { $0.restart() }
    }

    /// Changes the board. Pages get a change of the connection at once.
    func update<Result: Sendable>(_ change: (inout Board) -> Result) -> Result {
        let now = clock()
        return state.withLock { state in
            let before = state.board.link
            let result = change(&state.board)
            if state.board.link != before {
                let frame = Frames.link(state.board)
                for subscriber in state.subscribers.values { subscriber.post { $0.put(frame, in: .link) } }
                // Send the current stock again with the new state of the connection.
                for subscriber in state.subscribers.values { state.changedStores.insert(subscriber.view.store) }
            }
            Self.sendChanges(&state, now: now)
            return result
        }
    }

    // MARK: - Sending

    /// Sends an answer to the page that waits for it.
    ///
    /// - Returns: whether a page waited for it.
    private static func sendOwnAnswer(_ answer: TimedAnswer, _ state: inout State) -> Bool {
        guard !state.awaited.isEmpty else { return false }
        let command = AwaitedAnswers.Command(
            kind: answer.answer.command, store: Name(answer.answer.store), id: Name(answer.answer.id))
        guard let page = state.awaited.remove(command) else { return false }
        let frame = Frames.own(answer)
        for subscriber in state.subscribers.values where subscriber.page == page { subscriber.post { $0.add(own: frame) } }
        return true
    }

    private static func sendChanges(_ state: inout State, now: Double) {
        guard now - state.sentAt >= shortestPause || now < state.sentAt else { return }
        state.sentAt = now
        sendStock(&state)
        sendAnswers(&state)
        guard Int(now) != state.boardSentAt else { return }
        state.boardSentAt = Int(now)
        sendBoards(&state, now: Int(now))
    }

    private static func sendStock(_ state: inout State) {
        defer { state.changedStores = [] }
        guard !state.changedStores.isEmpty else { return }
        var frames: [Name: ByteBuffer] = [:]
        for subscriber in state.subscribers.values where state.changedStores.contains(subscriber.view.store) {
            let store = subscriber.view.store
            let frame = frames[store] ?? Frames.stock(state.board, of: store)
            frames[store] = frame
            subscriber.post { $0.put(frame, in: .stock) }
        }
    }

    private static func sendAnswers(_ state: inout State) {
        defer { state.answers = [] }
        guard !state.answers.isEmpty else { return }
        var frames: [Name?: [ByteBuffer]] = [:]
        for subscriber in state.subscribers.values {
            let scope = subscriber.view.scope
            let answers =
                frames[scope]
                ?? state.answers.filter { scope == nil || Name($0.answer.store) == scope }.suffix(Activity.mostAnswers).map(
                    Frames.answer)
            frames[scope] = answers
            if !answers.isEmpty { subscriber.post { for answer in answers { $0.add(answer: answer) } } }
        }
    }

    /// Runs once a second. That also detects pages that are gone: writing to them fails.
    private static func sendBoards(_ state: inout State, now: Int) {
        if now.isMultiple(of: 60) { state.board.sweep(now: now) }
        let names = state.board.storeNames
        let hasNewStores = names != state.stores.names
        if hasNewStores { state.stores = (names, Frames.stores(names)) }
        var frames: [Name?: ByteBuffer] = [:]
        for subscriber in state.subscribers.values {
            let scope = subscriber.view.scope
            let frame = frames[scope] ?? Frames.board(state.board, scope: scope, now: now)
            frames[scope] = frame
            subscriber.post { mailbox in
                mailbox.put(frame, in: .board)
                if hasNewStores { mailbox.put(state.stores.frame, in: .stores) }
            }
        }
    }
}
