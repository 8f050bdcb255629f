import JuiceMaker
import JuiceMessages
import Kafka
import Testing

@testable import JuiceKiosk

struct BoardTests {
    private func levels(_ board: Board, _ store: String) -> [Int] {
        board.stock(of: Name(store)).stock.map(\.amount)
    }

    @Test func aStoreHasTheMenusStockUntilItHasItsOwn() {
        var board = Board(menu: .standard, rule: StoreRule(stores: nil), now: 100)
        #expect(levels(board, "gangnam") == [10, 10, 10, 10, 10])
        board.apply(.stock(Sample.stock("gangnam", kiwi: 3)), now: 100)
        #expect(levels(board, "gangnam") == [10, 10, 10, 3, 10])
        #expect(levels(board, "hongdae") == [10, 10, 10, 10, 10])
        board.apply(.stockRemoved(store: "gangnam"), now: 100)
        #expect(levels(board, "gangnam") == [10, 10, 10, 10, 10])
    }

    @Test func onlyItsStoresAreShown() throws {
        var board = Board(menu: .standard, rule: StoreRule(stores: ["b", "a"]), now: 100)
        #expect(board.storeNames == ["b", "a"])
        #expect(board.apply(.stock(Sample.stock("c", kiwi: 3)), now: 100) == false)
        let isStrange = try board.apply(.answer(Sample.made("1", store: "c"), isHistory: false), now: 100)
        #expect(!isStrange)
        #expect(board.all.answers.isEmpty)
        let isOwn = try board.apply(.answer(Sample.made("1", store: "a"), isHistory: false), now: 100)
        #expect(isOwn)
        #expect(board.all.answers.count == 1)
    }

    @Test func aPageCanChooseFromSoManyStores() {
        var board = Board(menu: .standard, rule: StoreRule(stores: nil), now: 100)
        for number in 0..<2000 { board.apply(.stock(Sample.stock("junk-\(number)", kiwi: 1)), now: 100) }
        board.apply(.stock(Sample.stock("gangnam", kiwi: 3)), now: 100)
        #expect(board.storeNames.prefix(2) == ["main", "gangnam"])
        #expect(board.storeNames.count <= 1 + 2 * Board.offeredStores)
        board.apply(.stockRemoved(store: "gangnam"), now: 100)
        #expect(!board.storeNames.contains("gangnam"))
        _ = board.restart()
        #expect(board.storeNames == ["main"])
    }

    /// The configuration, and whether orders are accepted for `main`, for `a`, which has stock, and for `new`.
    @Test(
        arguments: [
            (nil, false, [true, true, false]), (nil, true, [true, true, true]),
            (["new"], false, [false, false, true]), (["new"], true, [true, true, true]),
        ] as [([String]?, Bool, [Bool])]
    )
    func ordersAreTakenForStoresThatAreThere(stores: [String]?, takesAny: Bool, expected: [Bool]) {
        let rule = StoreRule(stores: stores, takesAny: takesAny)
        var board = Board(menu: .standard, rule: rule, now: 100)
        board.apply(.stock(Sample.stock("a", kiwi: 3)), now: 100)
        board.restored()
        #expect(["main", "a", "new"].map { board.takesOrders(for: Name($0)) } == expected)
        #expect(board.storeNames.prefix(rule.named.count) == (stores ?? ["main"])[...])
    }

    @Test func whetherAStoreIsThereIsNotKnownBeforeTheStockIsRead() {
        var board = Board(menu: .standard, rule: StoreRule(stores: nil), now: 100)
        #expect(board.takesOrders(for: Name("main")) == true)
        #expect(board.takesOrders(for: Name("a")) == nil)
        board.apply(.stock(Sample.stock("a", kiwi: 3)), now: 100)
        #expect(board.takesOrders(for: Name("a")) == true)
        board.restored()
        #expect(board.takesOrders(for: Name("b")) == false)
        board.apply(.stockRemoved(store: "a"), now: 100)
        #expect(board.takesOrders(for: Name("a")) == false)
        _ = board.restart()
        #expect(board.takesOrders(for: Name("a")) == nil)
    }

    @Test func historyAndRepeatsAreListedAndNotCounted() throws {
        var board = Board(menu: .standard, rule: StoreRule(stores: nil), now: 100)
        try board.apply(.answer(Sample.made("1"), isHistory: true), now: 100)
        try board.apply(.answer(Sample.made("2", isDuplicate: true), isHistory: false), now: 100)
        try board.apply(.answer(Sample.made("3"), isHistory: false), now: 100)
        try board.apply(.answer(Sample.short("4"), isHistory: false), now: 100)
        try board.apply(.answer(Sample.cancelled("3"), isHistory: false), now: 100)
        try board.apply(.answer(Sample.cancelled("3", isDuplicate: true), isHistory: false), now: 100)
        var activity = board.activity(of: nil, now: 100)
        #expect(activity.answers.map(\.answer.id) == ["1", "2", "3", "4", "3", "3"])
        let counts = RateWindow.Counts(made: 1, outOfStock: 1, rejected: 0, cancelled: 1)
        #expect(activity.steps(of: 5, now: 100).last == counts)
    }

    @Test(arguments: [Int64.min, -1, 0, 1_700_000_000_000, .max])
    func pagesGetTimesThatTheyCanShow(time: Int64) throws {
        var board = Board(menu: .standard, rule: StoreRule(stores: nil), now: 100)
        let answer = try Sample.made("1", time: time)
        board.apply(.answer(answer, isHistory: false), now: 100)
        #expect(board.all.answers.count == 1)
        #expect((0...8_640_000_000_000_000).contains(Frames.AnswerFrame(answer).time))
    }

    @Test func aStoreHasAnswersOfItsOwn() throws {
        var board = Board(menu: .standard, rule: StoreRule(stores: nil), now: 100)
        for number in 0..<40 { try board.apply(.answer(Sample.made("g\(number)"), isHistory: false), now: 100) }
        try board.apply(.answer(Sample.made("h", store: "hongdae"), isHistory: false), now: 100)
        #expect(board.activity(of: Name("hongdae"), now: 100).answers.map(\.answer.id) == ["h"])
        #expect(board.activity(of: Name("gangnam"), now: 100).answers.count == Activity.mostAnswers)
        board.sweep(now: 100 + RateWindow.length + 1)
        #expect(board.activity(of: Name("hongdae"), now: 500).answers.isEmpty)
        #expect(board.all.answers.count == Activity.mostAnswers)
    }

    @Test func storesBeyondTheLimitAreAmongAllAlone() throws {
        var board = Board(menu: .standard, rule: StoreRule(stores: nil), now: 100)
        for number in 0...Board.mostActiveStores {
            try board.apply(.answer(Sample.made("1", store: "\(number)"), isHistory: false), now: 100)
        }
        #expect(board.activity(of: Name("0"), now: 100).answers.count == 1)
        #expect(board.activity(of: Name("\(Board.mostActiveStores)"), now: 100).answers.isEmpty)
        var all = board.all
        let last = all.steps(of: 5, now: 100).last
        #expect(last?.made == Board.mostActiveStores + 1)
    }
}

struct LinkTests {
    private enum Event { case reached, failed, restored, restarted }

    @Test(
        arguments: [
            ([], Link.State.connecting),
            ([.failed], .connecting),
            ([.reached], .restoring),
            ([.reached, .restored], .live),
            ([.restored], .connecting),
            ([.restored, .reached], .live),
            ([.reached, .restored, .failed], .lost),
            ([.reached, .failed], .connecting),
            ([.reached, .restored, .failed, .reached], .live),
            ([.reached, .restored, .restarted], .restoring),
            ([.reached, .restored, .failed, .restarted], .connecting),
        ] as [([Event], Link.State)]
    )
    private func followsItsEvents(events: [Event], state: Link.State) {
        var link = Link()
        for event in events {
            switch event {
            case .reached: link.reached()
            case .failed: link.failed("no broker")
            case .restored: link.restored()
            case .restarted: link.restarted()
            }
        }
        #expect(link.state == state)
        #expect((link.obstacle == nil) == (state == .live))
    }

    @Test func theReasonGoesWithTheFailure() {
        var link = Link()
        link.failed("no broker")
        #expect(link.reason == "no broker")
        #expect(link.obstacle == "no Kafka broker answers: no broker")
        link.reached()
        #expect(link.reason == nil)
        #expect(link.obstacle == "the stock is still being read")
    }
}

struct LagTests {
    private let first = TopicPartition(topic: "stock", partition: 0)
    private let second = TopicPartition(topic: "stock", partition: 1)

    @Test(
        arguments: [
            ([0: 5, 1: 2], 6), ([0: 10, 1: 4], 0), ([0: 12, 1: nil], 0), ([0: nil, 1: 1], 3),
            ([0: nil, 1: nil], nil),
        ] as [([Int32: Offset?], Int?)]
    )
    func lagIsWhatIsNotCommitted(committed: [Int32: Offset?], lag: Int?) {
        let offsets = Dictionary(
            uniqueKeysWithValues: committed.map { (TopicPartition(topic: "stock", partition: $0), $1) }
        )
        #expect(Lag.sum(committed: offsets, ends: [first: 9, second: 4]) == lag)
    }
}
