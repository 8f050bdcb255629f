import JuiceDomain
import JuiceMessages
import NIOCore
import Testing

@testable import JuiceWeb

/// Tests what open pages get, without Kafka or HTTP, with a manual clock.
struct HubTests {
    private static let mostPages = 10

    private let clock = TestClock()
    private let hub: Hub

    init() {
        let clock = clock
        hub = Hub(menu: .standard, rule: StoreRule(stores: nil), mostPages: Self.mostPages) { clock.seconds }
    }

    private func open(_ store: String = "gangnam", all: Bool = true, page: String = "p") throws -> Subscriber {
        try #require(hub.subscribe(PageView(store: Name(store), scope: all ? nil : Name(store)), page: Name(page)))
    }

    /// The names and data of the events waiting for a page.
    private func events(_ page: Subscriber) -> [(name: String, data: String)] {
        String(buffer: page.drain()).split(separator: "\n\n").map { event in
            let lines = event.split(separator: "\n", omittingEmptySubsequences: false)
            #expect(lines.count == 2)
            return (String(lines[0].dropFirst("event: ".count)), String(lines[1].dropFirst("data: ".count)))
        }
    }

    /// The data of the events of this name that wait for a page.
    private func data(_ name: String, _ page: Subscriber) -> [String] { events(page).filter { $0.name == name }.map(\.data) }

    /// A second passes, and pages get what is new.
    private func apply(_ events: KioskState.Event...) {
        clock.advance(.seconds(1))
        hub.apply(events)
    }

    @Test func aNewPageIsToldHowThingsAre() throws {
        hub.apply([.answer(Sample.answer("1"), isHistory: false)])
        hub.apply([.answer(Sample.answer("2", store: "hongdae"), isHistory: false)])
        #expect(events(try open()).map(\.name) == ["link", "stores", "stock", "board", "answer", "answer"])
        let own = events(try open("hongdae", all: false))
        #expect(own.map(\.name) == ["link", "stores", "stock", "board", "answer"])
        #expect(own.first { $0.name == "stock" }?.data.contains("hongdae") == true)
    }

    @Test func aChangeReachesThePagesOfItsStoreAlone() throws {
        let (here, there) = (try open(), try open("hongdae"))
        for page in [here, there] { _ = page.drain() }
        apply(Sample.stock("gangnam", kiwi: 3))
        #expect(data("stock", here).count == 1)
        #expect(data("stock", there).isEmpty)
    }

    @Test func changesInQuickSuccessionAreToldTogether() throws {
        let page = try open()
        apply()
        _ = page.drain()
        for kiwi in 0..<5 { hub.apply([Sample.stock("gangnam", kiwi: kiwi)]) }
        #expect(events(page).isEmpty)
        clock.advance(.milliseconds(60))
        hub.apply([])
        let told = events(page)
        #expect(told.map(\.name) == ["stock"])
        let stock = try #require(told.first).data
        #expect([#"{"fruit":"kiwi","amount":4}"#, #"{"amount":4,"fruit":"kiwi"}"#].contains { stock.contains($0) })
    }

    @Test func anAnswerGoesToWhoAskedAtOnce() throws {
        let (mine, other) = (try open(page: "kiosk-mine"), try open(page: "kiosk-other"))
        apply()
        for page in [mine, other] { _ = page.drain() }
        hub.apply([.answer(Sample.answer("kiosk-mine-1"), isHistory: false)])
        #expect(events(mine).map(\.name) == ["own"])
        #expect(events(other).isEmpty)
    }

    @Test func aPageIsToldTheIDsThatItChoseAndNoOthers() throws {
        let (mine, till) = (try open(page: "kiosk-mine"), try open(page: "pos-7"))
        for page in [mine, till] { _ = page.drain() }
        apply(
            .answer(Sample.answer("kiosk-mine-1"), isHistory: false), .answer(Sample.answer("pos-7-000123"), isHistory: false))
        let told = events(mine)
        #expect(told.first { $0.name == "own" }?.data.contains(#""id":"kiosk-mine-1""#) == true)
        #expect(told.filter { $0.name == "own" }.count == 1)
        for page in [told, events(till), events(try open())] {
            let answers = page.filter { $0.name == "answer" }
            #expect(answers.count == 2)
            #expect(answers.allSatisfy { !$0.data.contains("id\"") && !$0.data.contains("pos-7") && !$0.data.contains("mine") })
        }
    }

    @Test func aCancelIsAnsweredToItsPageApartFromItsOrder() throws {
        let mine = try open(page: "kiosk-mine")
        hub.apply([.answer(Sample.answer("kiosk-mine-1", Sample.cancelled, to: .cancel), isHistory: false)])
        hub.apply([.answer(Sample.answer("kiosk-mine-1"), isHistory: false)])
        let own = data("own", mine)
        #expect(own.count == 2)
        #expect(own.first?.contains(#""kind":"cancel""#) == true)
        #expect(own.last?.contains(#""kind":"order""#) == true)
    }

    /// The board shows the last gap for longer than the latest answers.
    @Test func aGapIsShownWithTheAnswerAfterItAndOnTheBoard() throws {
        let page = try open()
        apply(.answer(Sample.answer("1", gap: 5...7), isHistory: false))
        func showsGap(_ data: String) -> Bool { data.contains(#""first":5"#) && data.contains(#""last":7"#) }
        #expect(data("answer", page).map(showsGap) == [true])
        for id in 2...(Activity.mostAnswers + 1) { apply(.answer(Sample.answer("\(id)"), isHistory: true)) }
        let opened = events(try open())
        #expect(!opened.contains { $0.name == "answer" && $0.data.contains("gap") })
        #expect(opened.contains { $0.name == "board" && showsGap($0.data) && $0.data.contains(#""store":"gangnam""#) })
    }

    /// JavaScript's `Date` cannot show all times of records.
    @Test(
        arguments: [
            (Int64.min, 0), (-1, 0), (0, 0), (1_700_000_000_000, 1_700_000_000_000), (.max, 8_640_000_000_000_000),
        ] as [(Int64, Int64)])
    func pagesGetTimesThatTheyCanShow(time: Int64, shown: Int64) throws {
        hub.apply([.answer(Sample.answer("1", time: time), isHistory: false)])
        let answers = data("answer", try open())
        #expect(answers.count == 1 && answers[0].contains("\"time\":\(shown)"))
    }

    @Test func anAnswerThatIsNotToldYetComesOnceToANewPage() throws {
        apply()
        hub.apply([.answer(Sample.answer("1"), isHistory: false)])
        let page = try open()
        apply()
        #expect(data("answer", page).count == 1)
    }

    @Test func manyStoresMakeNoPageLargeAndAreToldOfOnceASecond() throws {
        let page = try open()
        clock.advance(.seconds(1))
        hub.apply((0..<10_000).map { Sample.stock("store-\($0)", kiwi: 1) })
        let told = try #require(data("stores", page).first)
        #expect(told.utf8.count < 20 * 2 * KioskState.offeredStores)
        #expect(data("stores", try open()) == [told])
        apply()
        #expect(data("stores", page).isEmpty)
    }

    @Test func aPageIsToldWhetherOrdersAreTaken() throws {
        hub.update { $0.connection.isRestored = true }
        let page = try open("new")
        #expect(data("stock", page).first?.contains(#""takesOrders":false"#) == true)
        apply(Sample.stock("new", kiwi: 1))
        #expect(data("stock", page).first?.contains(#""takesOrders":true"#) == true)
    }

    @Test func aBrokerThatKeepsTheStockIsNamed() {
        hub.update { $0.connection.reached(failure: "b:1: connection refused") }
        #expect(hub.connection.obstacle == "the stock is still being read: b:1: connection refused")
        hub.update { $0.connection.isRestored = true }
        #expect(hub.connection.obstacle == nil)
    }

    @Test func aLostBrokerIsToldAtOnce() throws {
        hub.update { $0.connection.reached() }
        hub.update { $0.connection.isRestored = true }
        let page = try open()
        _ = page.drain()
        hub.update { $0.failed("no broker") }
        #expect(data("link", page).first?.contains(#""state":"lost""#) == true)
        hub.update { $0.connection.reached() }
        #expect(data("link", page).first?.contains(#""state":"live""#) == true)
    }

    @Test func everySecondSomethingIsSaid() throws {
        let page = try open()
        for _ in 0..<3 {
            _ = page.drain()
            apply()
            #expect(data("board", page).count == 1)
        }
    }

    @Test func thereAreSoManyPagesAndNoMore() throws {
        let pages = try (0..<Self.mostPages).map { try open(page: "\($0)") }
        let view = PageView(store: Name("main"), scope: nil)
        #expect(hub.subscribe(view, page: Name("more")) == nil)
        hub.unsubscribe(pages[0])
        #expect(hub.subscribe(view, page: Name("more")) != nil)
    }

    @Test func closingLetsGoOfAllPages() async throws {
        let page = try open()
        hub.close()
        // The stream must end, otherwise the test hangs.
        for await _ in page.wakes {}
        #expect(hub.subscribe(page.view, page: page.page) == nil)
    }
}

struct MailboxTests {
    private func drain(_ mailbox: inout Mailbox) -> [String] { mailbox.drain().map { String(buffer: $0) } }

    @Test func ownAnswersComeFirstThenStateThenOthers() {
        var mailbox = Mailbox()
        mailbox.add(answer: ByteBuffer(string: "other"))
        mailbox.put(ByteBuffer(string: "board"), in: .board)
        mailbox.put(ByteBuffer(string: "link"), in: .link)
        mailbox.add(own: ByteBuffer(string: "own"))
        #expect(drain(&mailbox) == ["own", "link", "board", "other"])
        #expect(drain(&mailbox) == [])
    }

    @Test func aSlowPageGetsTheNewestStateAndItsOwnAnswers() {
        var mailbox = Mailbox()
        mailbox.add(own: ByteBuffer(string: "mine"))
        for revision in 0..<10_000 {
            mailbox.put(ByteBuffer(string: "stock \(revision)"), in: .stock)
            mailbox.add(answer: ByteBuffer(string: "\(revision)"))
        }
        #expect(drain(&mailbox) == ["mine", "stock 9999"] + (9970..<10_000).map(String.init))
        for number in 0..<1000 { mailbox.add(own: ByteBuffer(string: "\(number)")) }
        #expect(drain(&mailbox) == (800..<1000).map(String.init))
    }
}
