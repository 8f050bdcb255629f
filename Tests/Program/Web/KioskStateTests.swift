import JuiceDomain
import JuiceMessages
import Kafka
import Testing

@testable import JuiceWeb

struct KioskStateTests {
    private var state = KioskState(menu: .standard, rule: StoreRule(stores: nil), now: 100)

    private mutating func add(_ answers: TimedAnswer..., isHistory: Bool = false) {
        for answer in answers { state.apply(.answer(answer, isHistory: isHistory), now: 100) }
    }

    private func answers(_ store: String?, now: Int = 100) -> [String] {
        state.activity(of: store.map(Name.init), now: now).answers.map(\.answer.id)
    }

    private func levels(_ store: String) -> [Int] { state.stock(of: Name(store)).stock.map(\.amount) }

    @Test mutating func aStoreHasTheMenusStockUntilItHasItsOwn() {
        #expect(levels("gangnam") == [10, 10, 10, 10, 10])
        state.apply(Sample.stock("gangnam", kiwi: 3), now: 100)
        #expect(levels("gangnam") == [10, 10, 10, 3, 10])
        #expect(levels("hongdae") == [10, 10, 10, 10, 10])
        state.apply(.stockRemoved(store: "gangnam"), now: 100)
        #expect(levels("gangnam") == [10, 10, 10, 10, 10])
    }

    @Test mutating func onlyItsStoresAreShown() {
        state = KioskState(menu: .standard, rule: StoreRule(stores: ["b", "a"]), now: 100)
        #expect(state.storeNames == ["b", "a"])
        var isShown = ["a", "c"].map { state.apply(Sample.stock($0, kiwi: 3), now: 100) }
        isShown += ["a", "c"].map { state.apply(.answer(Sample.answer($0, store: $0), isHistory: false), now: 100) }
        #expect(isShown == [true, false, true, false])
        #expect(answers(nil) == ["a"])
    }

    @Test mutating func aPageCanChooseFromSoManyStores() {
        for number in 0..<2000 { state.apply(Sample.stock("junk-\(number)", kiwi: 1), now: 100) }
        state.apply(Sample.stock("gangnam", kiwi: 3), now: 100)
        #expect(state.storeNames.prefix(2) == ["main", "gangnam"])
        #expect(state.storeNames.count <= 1 + 2 * KioskState.offeredStores)
        state.apply(.stockRemoved(store: "gangnam"), now: 100)
        #expect(!state.storeNames.contains("gangnam"))
        _ = state.restart()
        #expect(state.storeNames == ["main"])
    }

    /// The configuration, and whether orders are accepted for `main`, for `a`, which has stock, and for `new`.
    @Test(
        arguments: [
            (nil, false, [true, true, false]), (nil, true, [true, true, true]),
            (["new"], false, [false, false, true]), (["new"], true, [true, true, true]),
        ] as [([String]?, Bool, [Bool])]
    )
    mutating func ordersAreTakenForStoresThatAreThere(stores: [String]?, takesAny: Bool, expected: [Bool]) {
        state = KioskState(menu: .standard, rule: StoreRule(stores: stores, takesAny: takesAny), now: 100)
        state.apply(Sample.stock("a", kiwi: 3), now: 100)
        state.connection.isRestored = true
        #expect(["main", "a", "new"].map { state.takesOrders(for: Name($0)) } == expected)
        #expect(state.storeNames.first == stores?.first ?? "main")
    }

    @Test mutating func whetherAStoreIsThereIsNotKnownBeforeTheStockIsRead() {
        #expect(state.takesOrders(for: Name("main")) == true)
        #expect(state.takesOrders(for: Name("a")) == nil)
        state.apply(Sample.stock("a", kiwi: 3), now: 100)
        #expect(state.takesOrders(for: Name("a")) == true)
        state.connection.isRestored = true
        #expect(state.takesOrders(for: Name("b")) == false)
        state.apply(.stockRemoved(store: "a"), now: 100)
        #expect(state.takesOrders(for: Name("a")) == false)
        _ = state.restart()
        #expect(state.takesOrders(for: Name("a")) == nil)
    }

    @Test mutating func historyAndRepeatsAreListedAndNotCounted() {
        add(Sample.answer("1"), isHistory: true)
        add(Sample.answer("2", isDuplicate: true), Sample.answer("3"), Sample.answer("4", Sample.short))
        for isDuplicate in [false, true] { add(Sample.answer("3", Sample.cancelled, to: .cancel, isDuplicate: isDuplicate)) }
        #expect(answers(nil) == ["1", "2", "3", "4", "3", "3"])
        let window = state.activity(of: nil, now: 100).window
        #expect(window.steps(of: 5, now: 100).last == .init(made: 1, outOfStock: 1, rejected: 0, cancelled: 1))
    }

    @Test mutating func aStoreHasAnswersOfItsOwn() {
        for number in 0..<40 { add(Sample.answer("g\(number)")) }
        add(Sample.answer("h", store: "hongdae"))
        #expect(answers("hongdae") == ["h"])
        #expect(answers("gangnam").count == Activity.mostAnswers)
        state.sweep(now: 100 + RateWindow.length + 1)
        #expect(answers("hongdae", now: 500).isEmpty)
        #expect(answers(nil).count == Activity.mostAnswers)
    }

    @Test mutating func storesBeyondTheLimitAreAmongAllAlone() {
        for number in 0...KioskState.mostActiveStores { add(Sample.answer("1", store: "\(number)")) }
        #expect(answers("0").count == 1)
        #expect(answers("\(KioskState.mostActiveStores)").isEmpty)
        let window = state.activity(of: nil, now: 100).window
        #expect(window.steps(of: 5, now: 100).last?.made == KioskState.mostActiveStores + 1)
    }
}

struct ConnectionStateTests {
    private enum Event { case reached, failed, restored, restarted }

    @Test(
        arguments: [
            ([], .connecting), ([.failed], .connecting), ([.reached], .restoring), ([.reached, .restored], .live),
            ([.restored], .connecting), ([.restored, .reached], .live), ([.reached, .restored, .failed], .lost),
            ([.reached, .failed], .connecting), ([.reached, .restored, .failed, .reached], .live),
            ([.reached, .restored, .restarted], .restoring), ([.reached, .restored, .failed, .restarted], .connecting),
        ] as [([Event], ConnectionState.Phase)]
    )
    private func followsItsEvents(events: [Event], phase: ConnectionState.Phase) {
        var connection = ConnectionState()
        for event in events {
            switch event {
            case .reached: connection.reached()
            case .failed: connection.failed("no broker")
            case .restored: connection.isRestored = true
            case .restarted: connection.isRestored = false
            }
        }
        #expect(connection.phase == phase)
        #expect((connection.obstacle == nil) == (phase == .live))
    }

    @Test func theReasonGoesWithTheFailure() {
        var connection = ConnectionState()
        connection.failed("no broker")
        #expect(connection.reason == "no broker")
        #expect(connection.obstacle == "no Kafka broker answers: no broker")
        connection.reached()
        #expect(connection.reason == nil)
        #expect(connection.obstacle == "the stock is still being read")
    }
}

@Test(
    arguments: [
        ([0: 5, 1: 2], 6), ([0: 10, 1: 4], 0), ([0: 12, 1: nil], 0), ([0: nil, 1: 1], 3), ([0: nil, 1: nil], nil),
    ] as [([Int32: Offset?], Int?)]
)
func lagIsWhatIsNotCommitted(committed: [Int32: Offset?], lag: Int?) {
    func byPartition<Value>(_ values: [Int32: Value]) -> [TopicPartition: Value] {
        Dictionary(uniqueKeysWithValues: values.map { (TopicPartition(topic: "stock", partition: $0), $1) })
    }
    #expect(KafkaFeed.lag(committed: byPartition(committed), ends: byPartition([0: 9, 1: 4])) == lag)
}

struct RateWindowTests {
    private var window = RateWindow()

    private func made(now: Int = 1000) -> Int { window.steps(of: 5, now: now).map(\.made).reduce(0, +) }

    /// The current time, the rate, and the last two steps of 5 s.
    @Test(arguments: [
        (now: 1000, rate: 0.0, before: 0, last: 1), (now: 1001, rate: 0.1, before: 0, last: 1),
        (now: 1005, rate: 0.1, before: 1, last: 0), (now: 1010, rate: 0.1, before: 0, last: 0),
        (now: 1011, rate: 0.0, before: 0, last: 0),
    ])
    mutating func anOrderAges(now: Int, rate: Double, before: Int, last: Int) {
        window.count(\.made, at: 1000, now: 1000)
        #expect(window.rate(now: now) == rate)
        let steps = window.steps(of: 5, now: now)
        #expect(steps.count == 60)
        #expect(steps.suffix(2).map(\.made) == [before, last])
    }

    @Test mutating func outcomesAreCountedApart() {
        for outcome in [\RateWindow.Counts.made, \.made, \.outOfStock, \.rejected, \.cancelled] {
            window.count(outcome, at: 1000, now: 1000)
        }
        #expect(window.steps(of: 5, now: 1000).last == .init(made: 2, outOfStock: 1, rejected: 1, cancelled: 1))
        // A cancel is no order.
        #expect(window.rate(now: 1001) == 0.4)
    }

    @Test mutating func whatIsTooOldCountsNowhereAndTheFutureIsNow() {
        window.count(\.made, at: 1000 - RateWindow.length, now: 1000)
        #expect(made() == 0)
        window.count(\.made, at: 1000 - RateWindow.length + 5, now: 1000)
        window.count(\.made, at: 5000, now: 1000)
        #expect(made() == 2)
        #expect(window.steps(of: 5, now: 1000).last?.made == 1)
        // A long pause empties it.
        #expect(made(now: 1000 + RateWindow.length * 3) == 0)
    }

    @Test mutating func aClockThatGoesBackChangesNothing() {
        window.count(\.made, at: 1000, now: 1000)
        window.count(\.made, at: 990, now: 990)
        #expect(made() == 2)
    }
}
