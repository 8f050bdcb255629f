import JuiceMaker
import JuiceMessages
import NIOCore
import Synchronization

/// Brings what was read from Kafka to all pages: each frame is made once, however many pages get it.
final class Hub: Sendable {
    /// How often pages are told of changes, at most, in seconds.
    private static let shortestPause = 0.05

    private struct State {
        var board: Board
        var awaited = AwaitedAnswers()
        var subscribers: [ObjectIdentifier: Subscriber] = [:]
        var isClosed = false
        // What has changed since pages were told.
        var changedStores: Set<Name> = []
        var answers: [TimedAnswer] = []
        /// The stores to choose from, as pages were told. A page that opens is told the same, however many there are.
        var stores: (names: [String], frame: ByteBuffer)
        var toldAt = 0.0
        var boardToldAt = 0
    }

    /// Which stores there are.
    let rule: StoreRule
    private let mostPages: Int
    private let metrics: KioskMetrics
    private let state: Mutex<State>
    private let clock: @Sendable () -> Double

    /// - Parameters:
    ///   - mostPages: how many pages can be open.
    ///   - clock: seconds since 1970.
    init(
        menu: Menu,
        rule: StoreRule,
        mostPages: Int = 2000,
        metrics: KioskMetrics = KioskMetrics(),
        clock: @escaping @Sendable () -> Double
    ) {
        (self.rule, self.mostPages, self.metrics, self.clock) = (rule, mostPages, metrics, clock)
        let board = Board(menu: menu, rule: rule, now: Int(clock()))
        let names = board.storeNames
        state = Mutex(State(board: board, stores: (names, Frames.stores(names))))
    }

    // MARK: - Pages

    /// Whether one more page can be opened.
    var hasRoom: Bool { state.withLock { !$0.isClosed && $0.subscribers.count < mostPages } }

    /// A page is opened: it is told how things are, and then what changes. Whoever calls this must call ``unsubscribe(_:)``.
    ///
    /// - Returns: nil when there are too many already, or the kiosk closes.
    func subscribe(_ view: PageView, page: Name) -> Subscriber? {
        let subscriber = Subscriber(view: view, page: page)
        let now = Int(clock())
        let isIn = state.withLock { state in
            guard !state.isClosed, state.subscribers.count < mostPages else { return false }
            // What is not told yet is among the last answers that the page gets, and would come once more.
            Self.tellAnswers(&state)
            state.subscribers[ObjectIdentifier(subscriber)] = subscriber
            metrics.note(pages: state.subscribers.count)
            let board = state.board
            subscriber.post { mailbox in
                mailbox.put(Frames.link(board), in: .link)
                mailbox.put(state.stores.frame, in: .stores)
                mailbox.put(Frames.stock(board, of: view.store), in: .stock)
                mailbox.put(Frames.board(board, scope: view.scope, now: now), in: .board)
                for answer in board.activity(of: view.scope, now: now).answers {
                    mailbox.add(answer: Frames.answer(answer))
                }
            }
            return true
        }
        return isIn ? subscriber : nil
    }

    /// A page is closed.
    func unsubscribe(_ subscriber: Subscriber) {
        state.withLock { state in
            state.subscribers[ObjectIdentifier(subscriber)] = nil
            metrics.note(pages: state.subscribers.count)
        }
    }

    /// A page is about to send a command, and wants to be told the answer whatever else happens.
    func await(_ command: AwaitedAnswers.Command, page: Name) -> Bool {
        state.withLock { $0.awaited.add(command, page: page) }
    }

    /// Whether the kiosk is in touch with Kafka.
    var link: Link { state.withLock { $0.board.link } }

    /// Whether orders are taken for a store; nil while nobody knows.
    func takesOrders(for store: Name) -> Bool? { state.withLock { $0.board.takesOrders(for: store) } }

    /// Lets go of all pages, for good.
    func close() {
        let subscribers = state.withLock { state in
            state.isClosed = true
            defer { state.subscribers = [:] }
            return state.subscribers.values
        }
        for subscriber in subscribers { subscriber.close() }
    }

    // MARK: - What was read

    /// Takes in what was read, and tells pages if they were not told just before. To be called several times a second, also
    /// with nothing.
    func take(_ events: [Board.Event]) {
        let now = clock()
        state.withLock { state in
            for event in events where state.board.take(event, now: Int(now)) {
                guard case .answer(let answer, let isHistory) = event else {
                    state.changedStores.insert(Name(event.store))
                    continue
                }
                // Of a flood of answers only the last can be looked at.
                if !isHistory { state.answers.append(answer) }
                if Self.tellOwn(answer, &state) { metrics.answered() }
            }
            Self.tell(&state, now: now)
        }
    }

    /// The reader begins anew.
    func restart() {
        // Lets go of what was known after the update, when no page waits for it.
        _ = update { $0.restart() }
    }

    /// Changes what is known of Kafka. Pages are told at once.
    func update<Result: Sendable>(_ change: (inout Board) -> Result) -> Result {
        let now = clock()
        return state.withLock { state in
            let before = state.board.link
            let result = change(&state.board)
            if state.board.link != before {
                let frame = Frames.link(state.board)
                for subscriber in state.subscribers.values { subscriber.post { $0.put(frame, in: .link) } }
                // What was read while nobody could be told is the present state.
                for subscriber in state.subscribers.values {
                    state.changedStores.insert(subscriber.view.store)
                }
            }
            Self.tell(&state, now: now)
            return result
        }
    }

    // MARK: - Telling

    /// - Returns: whether a page waited for the answer.
    private static func tellOwn(_ answer: TimedAnswer, _ state: inout State) -> Bool {
        guard !state.awaited.isEmpty else { return false }
        let command = AwaitedAnswers.Command(
            kind: answer.answer.command,
            store: Name(answer.answer.store),
            id: Name(answer.answer.id)
        )
        guard let page = state.awaited.remove(command) else { return false }
        let frame = Frames.own(answer)
        for subscriber in state.subscribers.values where subscriber.page == page {
            subscriber.post { $0.add(own: frame) }
        }
        return true
    }

    private static func tell(_ state: inout State, now: Double) {
        guard now - state.toldAt >= shortestPause || now < state.toldAt else { return }
        state.toldAt = now
        tellStock(&state)
        tellAnswers(&state)
        guard Int(now) != state.boardToldAt else { return }
        state.boardToldAt = Int(now)
        tellBoards(&state, now: Int(now))
    }

    private static func tellStock(_ state: inout State) {
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

    private static func tellAnswers(_ state: inout State) {
        defer { state.answers = [] }
        guard !state.answers.isEmpty else { return }
        var frames: [Name?: [ByteBuffer]] = [:]
        for subscriber in state.subscribers.values {
            let scope = subscriber.view.scope
            let answers =
                frames[scope]
                ?? state.answers
                .filter { scope == nil || Name($0.answer.store) == scope }
                .suffix(Activity.mostAnswers).map(Frames.answer)
            frames[scope] = answers
            if !answers.isEmpty { subscriber.post { for answer in answers { $0.add(answer: answer) } } }
        }
    }

    /// Once a second, which also finds out which pages are gone: writing to them fails.
    private static func tellBoards(_ state: inout State, now: Int) {
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
