import JuiceDomain
import JuiceMessages
import NIOCore
import Testing

@testable import JuiceWeb

/// Tests what open pages get, without Kafka or HTTP, with a manual clock.
struct HubTests {
    private let clock = TestClock()
    private let hub: Hub

    init() {
        let clock = clock
        hub = Hub(menu: .standard, rule: StoreRule(stores: nil), mostPages: 10) { clock.seconds }
    }

    private func open(_ store: String = "gangnam", page: String = "p") throws -> OpenPage {
        try #require(hub.subscribe(to: Name(store), page: Name(page)))
    }

    /// The names and data of the events waiting for a page.
    private func events(_ page: OpenPage) -> [(name: String, data: String)] {
        String(buffer: page.drain()).split(separator: "\n\n").map { event in
            let lines = event.split(separator: "\n", omittingEmptySubsequences: false)
            #expect(lines.count == 2)
            return (String(lines[0].dropFirst("event: ".count)), String(lines[1].dropFirst("data: ".count)))
        }
    }

    /// The data of the events of this name that wait for a page.
    private func data(_ name: String, _ page: OpenPage) -> [String] { events(page).filter { $0.name == name }.map(\.data) }

    /// A second passes, and pages get what is new.
    private func apply(_ events: KioskState.Event...) {
        clock.advance(.seconds(1))
        hub.apply(events)
    }

    @Test func aNewPageGetsTheState() throws {
        let names = ["link", "stores", "stock", "board", "answers"]
        #expect(events(try open()).map(\.name) == names)
        apply(.answer(try Sample.answer("1")), .answer(try Sample.answer("2", store: "hongdae")))
        let received = events(try open("hongdae"))
        #expect(received.map(\.name) == names)
        #expect(received[2].data.contains("hongdae"))
        #expect(received[4].data.contains("hongdae") && received[4].data.contains("gangnam"))
    }

    @Test func aChangeReachesThePagesOfItsStoreAlone() throws {
        let (here, there) = (try open(), try open("hongdae"))
        for page in [here, there] { _ = page.drain() }
        apply(Sample.stock("gangnam", kiwi: 3))
        #expect(data("stock", here).count == 1)
        #expect(data("stock", there).isEmpty)
    }

    @Test func changesInQuickSuccessionAreSentTogether() throws {
        let page = try open()
        apply()
        _ = page.drain()
        for kiwi in 0..<5 { hub.apply([Sample.stock("gangnam", kiwi: kiwi)]) }
        #expect(events(page).isEmpty)
        clock.advance(.milliseconds(60))
        hub.apply([])
        let received = events(page)
        #expect(received.map(\.name) == ["stock"])
        let stock = try #require(received.first).data
        #expect([#"{"fruit":"kiwi","amount":4}"#, #"{"amount":4,"fruit":"kiwi"}"#].contains { stock.contains($0) })
    }

    @Test func anAnswerGoesToThePageThatAskedAtOnce() throws {
        let (mine, other) = (try open(page: "kiosk-mine"), try open(page: "kiosk-other"))
        apply()
        for page in [mine, other] { _ = page.drain() }
        hub.apply([.answer(try Sample.answer("kiosk-mine-1"))])
        #expect(events(mine).map(\.name) == ["own"])
        #expect(events(other).isEmpty)
    }

    @Test func hidesIDsOfAnswersFromOtherPages() throws {
        let (mine, till) = (try open(page: "kiosk-mine"), try open(page: "pos-7"))
        for page in [mine, till] { _ = page.drain() }
        for sample in AnswerSample.allCases { apply(.answer(try Sample.answer("pos-7-1", sample))) }
        apply(.answer(try Sample.answer("kiosk-mine-1", .rejected)))
        let received = events(mine)
        let own = received.filter { $0.name == "own" }
        #expect(own.count == 1)
        for field in [#""orderId":"kiosk-mine-1""#, #""reason":"unknownJuice""#, #""en":"no juice is called \"<b>durian<"#] {
            #expect(own[0].data.contains(field), "\(own)")
        }
        for page in [received, events(till), events(try open())] {
            let data = try #require(page.first { $0.name == "answers" }).data
            #expect(data.matches(of: /"type":/).count == AnswerSample.allCases.count + 1)
            #expect(["orderId", "restockId", "pos-7", "mine"].allSatisfy { !data.contains($0) })
        }
        #expect(!events(till).contains { $0.name == "own" })
    }

    @Test func onlyTheBoardIsSentEverySecond() throws {
        let page = try open()
        apply(.answer(try Sample.answer("1")))
        #expect(events(page).contains { $0.name == "answers" })
        for _ in 0..<3 {
            apply()
            #expect(events(page).map(\.name) == ["board"])
        }
    }

    /// JavaScript's `Date` cannot show all times of records. The first second here is 1001.
    @Test(
        arguments: [
            (Int64.min, 0), (-1, 0), (0, 0), (1_000_500, 1_000_500), (1_700_000_000_000, 1_001_000), (.max, 1_001_000),
        ] as [(Int64, Int64)])
    func pagesGetTimesThatTheyCanShow(time: Int64, shown: Int64) throws {
        apply(.answer(try Sample.answer("1", time: time)))
        let answers = data("answers", try open())
        #expect(answers.count == 1 && answers[0].contains("\"time\":\(shown)"))
    }

    @Test func manyStoresMakeNoPageLargeAndAreSentOnceASecond() throws {
        let page = try open()
        _ = page.drain()
        clock.advance(.seconds(1))
        hub.apply((0..<10_000).map { Sample.stock("store-\($0)", kiwi: 1) })
        let received = try #require(data("stores", page).first)
        #expect(received.utf8.count < 20 * KioskState.offeredStores)
        #expect(data("stores", try open()) == [received])
        apply()
        #expect(data("stores", page).isEmpty)
    }

    @Test func aLostBrokerIsShownAtOnce() throws {
        hub.update { $0.connection.asked(isReached: true, failure: nil) }
        hub.update { $0.connection.isRestored = true }
        let page = try open()
        _ = page.drain()
        hub.update { $0.connection.asked(isReached: false, failure: "no broker") }
        #expect(data("link", page).first?.contains(#""state":"lost""#) == true)
        hub.update { $0.connection.asked(isReached: true, failure: nil) }
        #expect(data("link", page).first?.contains(#""state":"live""#) == true)
    }

    @Test func pagesLearnThatOrdersWait() throws {
        hub.update { $0.connection.asked(isReached: true, failure: nil) }
        hub.update { $0.connection.isRestored = true }
        func state(after seconds: Int = 1) throws -> String? {
            clock.advance(.seconds(seconds - 1))
            apply()
            return data("link", try open()).last
        }
        func answer(_ id: String) throws { apply(.answer(try Sample.answer("kiosk-p-\(id)"))) }
        let (live, unanswered) = (#"{"state":"live"}"#, #"{"state":"unanswered"}"#)
        hub.expectAnswer(to: Name("kiosk-p-1"))
        #expect(try state(after: 9) == live)
        hub.expectAnswer(to: Name("kiosk-p-2"))
        try answer("2")
        #expect(try state() == unanswered)
        // Sent again, it has waited since the first time.
        hub.expectAnswer(to: Name("kiosk-p-1"))
        #expect(try state() == unanswered)
        try answer("1")
        #expect(try state() == live)
        hub.expectAnswer(to: Name("kiosk-p-3"))
        hub.expectNoAnswer(to: Name("kiosk-p-3"))
        #expect(try state(after: 100) == live)
        // Lost answers are not awaited for ever, however many there are.
        for number in 0..<2000 { hub.expectAnswer(to: Name("kiosk-lost-\(number)")) }
        #expect(try state(after: 3599) == unanswered)
        #expect(try state(after: 2) == live)
        hub.expectAnswer(to: Name("kiosk-p-4"))
        #expect(try state(after: 20) == unanswered)
        hub.update { $0.connection.asked(isReached: false, failure: nil) }
        #expect(try state() == #"{"state":"lost"}"#)
    }

    @Test func closingLetsGoOfAllPages() async throws {
        let page = try open()
        hub.close()
        // The stream must end, otherwise the test hangs.
        for await _ in page.wakes {}
        #expect(hub.subscribe(to: page.store, page: page.name) == nil)
    }
}

struct OpenPageTests {
    @Test func aSlowPageGetsItsOwnAnswersAndThenTheNewestState() {
        let page = OpenPage(store: Name("s"), name: Name("p"))
        for number in 0..<1000 {
            page.post([.board: ByteBuffer(string: "board \(number)."), .stock: ByteBuffer(string: "stock \(number).")])
            page.post(own: ByteBuffer(string: "\(number)."))
        }
        #expect(String(buffer: page.drain()) == (800..<1000).map { "\($0)." }.joined() + "stock 999.board 999.")
        #expect(page.drain().readableBytes == 0)
    }
}
