import JuiceDomain
import JuiceMessages
import Testing

@testable import JuiceWeb

struct KioskStateTests {
    private var state = KioskState(menu: .standard, rule: StoreRule(stores: nil))

    private func levels(_ store: String) -> [Int] { state.stock(of: Name(store)).map(\.amount) }

    @Test mutating func aStoreHasTheMenusStockUntilItHasItsOwn() {
        #expect(levels("gangnam").isEmpty)
        state.connection.isRestored = true
        #expect(levels("gangnam") == [10, 10, 10, 10, 10])
        state.apply(Sample.stock("gangnam", kiwi: 3), now: 100)
        #expect(levels("gangnam") == [10, 10, 10, 3, 10])
        #expect(levels("hongdae") == [10, 10, 10, 10, 10])
        state.apply(.stock(nil, store: "gangnam"), now: 100)
        #expect(levels("gangnam") == [10, 10, 10, 10, 10])
    }

    @Test mutating func onlyItsStoresAreShown() throws {
        state = KioskState(menu: .standard, rule: StoreRule(stores: ["b", "a"]))
        #expect(state.storeNames == ["b", "a"])
        var isShown = ["a", "c"].map { state.apply(Sample.stock($0, kiwi: 3), now: 100) }
        isShown += try ["a", "c"].map { state.apply(.answer(try Sample.answer($0, store: $0)), now: 100) }
        #expect(isShown == [true, false, true, false])
        #expect(state.answers.map(\.answer.id) == ["a"])
    }

    @Test mutating func limitsTheOfferedStores() {
        state.apply(Sample.stock("gangnam", kiwi: 3), now: 100)
        #expect(state.storeNames == ["main", "gangnam"])
        state.apply(.stock(nil, store: "gangnam"), now: 100)
        #expect(state.storeNames == ["main"])
        for number in 0..<2000 { state.apply(Sample.stock("junk-\(number)", kiwi: 1), now: 100) }
        #expect(state.storeNames.count == 1 + KioskState.offeredStores)
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
        state = KioskState(menu: .standard, rule: StoreRule(stores: stores, takesAny: takesAny))
        state.apply(Sample.stock("a", kiwi: 3), now: 100)
        state.connection.isRestored = true
        #expect(["main", "a", "new"].map { state.takesOrders(for: Name($0)) } == expected)
        #expect(state.storeNames.first == stores?.first ?? "main")
    }

    @Test mutating func storesAreUndecidedUntilTheStockIsRead() {
        #expect(state.takesOrders(for: Name("main")) == true)
        #expect(state.takesOrders(for: Name("a")) == nil)
        state.apply(Sample.stock("a", kiwi: 3), now: 100)
        #expect(state.takesOrders(for: Name("a")) == true)
        state.connection.isRestored = true
        #expect(state.takesOrders(for: Name("b")) == false)
        state.apply(.stock(nil, store: "a"), now: 100)
        #expect(state.takesOrders(for: Name("a")) == false)
        _ = state.restart()
        #expect(state.takesOrders(for: Name("a")) == nil)
    }

    @Test mutating func aPageListsTheLatestAnswers() throws {
        for number in 0..<40 { state.apply(.answer(try Sample.answer("\(number)")), now: 100) }
        #expect(state.answers.map(\.answer.id) == (10..<40).map(String.init))
    }

    /// After a start the partitions are read one after the other. The writer of `future` has a fast clock.
    @Test mutating func answersAreListedByTheirTime() throws {
        for (id, time) in [("a", 10), ("c", 30), ("future", Int64.max / 1000), ("b", 20), ("c2", 30), ("now", 100)] {
            state.apply(.answer(try Sample.answer(id, time: time * 1000)), now: 100)
        }
        #expect(state.answers.map(\.answer.id) == ["a", "b", "c", "c2", "future", "now"])
    }
}

struct ConnectionStateTests {
    private enum Event { case reached, failed, restored, restarted }

    @Test(
        arguments: [
            ([], .connecting), ([.failed], .lost), ([.reached], .restoring), ([.reached, .restored], .live),
            ([.restored], .connecting), ([.restored, .reached], .live), ([.reached, .restored, .failed], .lost),
            ([.reached, .failed], .lost), ([.reached, .restored, .failed, .reached], .live),
            ([.reached, .restored, .restarted], .restoring), ([.reached, .restored, .failed, .restarted], .lost),
        ] as [([Event], ConnectionState.Phase)]
    )
    private func followsItsEvents(events: [Event], phase: ConnectionState.Phase) {
        var connection = ConnectionState()
        for event in events {
            switch event {
            case .reached: connection.asked(isReached: true, failure: nil)
            case .failed: connection.asked(isReached: false, failure: "no broker")
            case .restored: connection.isRestored = true
            case .restarted: connection.isRestored = false
            }
        }
        #expect(connection.phase == phase)
        #expect((connection.obstacle == nil) == (phase == .live))
    }

    @Test func theReasonGoesWithTheFailure() {
        var connection = ConnectionState()
        connection.asked(isReached: false, failure: "no broker")
        #expect(connection.obstacle == "no Kafka broker answers: no broker")
        connection.asked(isReached: true, failure: nil)
        #expect(connection.obstacle == "the stock is still being read")
        connection.asked(isReached: true, failure: "b:1: connection refused")
        #expect(connection.obstacle == "the stock is still being read: b:1: connection refused")
    }
}

struct RecentCountsTests {
    private var counts = RecentCounts()

    private mutating func add(_ sample: AnswerSample = .made, isDuplicate: Bool = false, at time: Int64, now: Int = 1000) throws {
        counts.add(try Sample.answer("1", sample, isDuplicate: isDuplicate, time: time * 1000), now: now)
    }

    private func made(now: Int = 1000) -> Int { counts.steps(now: now).map { $0.answers[.juiceMade] }.reduce(0, +) }

    /// The current time, the rate, and the last two steps of 5 s.
    @Test(arguments: [
        (now: 1000, rate: 0.0, before: 0, last: 1), (now: 1004, rate: 0.0, before: 0, last: 1),
        (now: 1005, rate: 0.1, before: 1, last: 0), (now: 1010, rate: 0.1, before: 0, last: 0),
        (now: 1015, rate: 0.0, before: 0, last: 0),
    ])
    mutating func anOrderAges(now: Int, rate: Double, before: Int, last: Int) throws {
        try add(at: 1000)
        #expect(counts.rate(now: now) == rate)
        let steps = counts.steps(now: now)
        #expect(steps.count == 60)
        #expect(steps.suffix(2).map { $0.answers[.juiceMade] } == [before, last])
    }

    @Test mutating func outcomesAreCountedApartAndRepeatsAreNot() throws {
        for sample in AnswerSample.allCases + [.made] {
            for isDuplicate in [false, true] { try add(sample, isDuplicate: isDuplicate, at: 1000) }
        }
        let last = try #require(counts.steps(now: 1000).last)
        #expect((last.orders, last.answers[.juiceMade], last.answers[.outOfStock], last.answers[.cancelled]) == (4, 2, 1, 1))
    }

    @Test mutating func doesNotCountOldAnswers() throws {
        for time in [Int64.min / 1000, 0, 700] { try add(at: time) }
        #expect(made() == 0)
        for time in [705, 1000] as [Int64] { try add(at: time) }
        #expect(made() == 2)
        #expect(counts.steps(now: 1000).last?.answers[.juiceMade] == 1)
        // A long pause empties it.
        #expect(made(now: 1900) == 0)
    }

    @Test mutating func aClockThatGoesBackChangesNothing() throws {
        try add(at: 1000)
        try add(at: 990, now: 990)
        #expect(made() == 2)
    }
}
