import Foundation
import JuiceMaker
import JuiceMessages
import NIOCore
import Synchronization
import Testing

@testable import JuiceKiosk

/// Tests the hub without Kafka or HTTP, with a manual clock.
struct HubTests {
    private final class Clock: Sendable {
        private let seconds = Mutex(1000.0)
        var now: Double { seconds.withLock { $0 } }
        func advance(_ by: Double) { seconds.withLock { $0 += by } }
    }

    private static let mostPages = 10

    private let clock = Clock()
    private let hub: Hub

    init() {
        let clock = clock
        hub = Hub(menu: .standard, rule: StoreRule(stores: nil), mostPages: Self.mostPages) { clock.now }
    }

    private func open(_ store: String = "gangnam", all: Bool = true, page: String = "p") throws -> Subscriber {
        let view = PageView(store: Name(store), showsAll: all)
        return try #require(hub.subscribe(view, page: Name(page)))
    }

    /// The names and data of the events waiting for a page.
    private func events(_ page: Subscriber) -> [(name: String, data: String)] {
        String(buffer: page.drain()).split(separator: "\n\n").map { event in
            let lines = event.split(separator: "\n", omittingEmptySubsequences: false)
            #expect(lines.count == 2)
            return (String(lines[0].dropFirst("event: ".count)), String(lines[1].dropFirst("data: ".count)))
        }
    }

    @Test func aNewPageIsToldHowThingsAre() throws {
        hub.apply([.answer(try Sample.made("1"), isHistory: false)])
        hub.apply([.answer(try Sample.made("2", store: "hongdae"), isHistory: false)])
        let page = try open()
        #expect(events(page).map(\.name) == ["link", "stores", "stock", "board", "answer", "answer"])
        let own = events(try open("hongdae", all: false))
        #expect(own.filter { $0.name == "answer" }.count == 1)
        #expect(own.first { $0.name == "stock" }?.data.contains("hongdae") == true)
    }

    @Test func aChangeReachesThePagesOfItsStoreAlone() throws {
        let (here, there) = (try open(), try open("hongdae"))
        for page in [here, there] { _ = page.drain() }
        clock.advance(0.06)
        hub.apply([.stock(Sample.stock("gangnam", kiwi: 3))])
        #expect(events(here).filter { $0.name == "stock" }.count == 1)
        #expect(events(there).filter { $0.name == "stock" }.isEmpty)
    }

    @Test func changesInQuickSuccessionAreToldTogether() throws {
        let page = try open()
        clock.advance(1.1)
        hub.apply([])
        _ = page.drain()
        for kiwi in 0..<5 { hub.apply([.stock(Sample.stock("gangnam", kiwi: kiwi))]) }
        #expect(events(page).isEmpty)
        clock.advance(0.06)
        hub.apply([])
        let told = events(page)
        #expect(told.map(\.name) == ["stock"])
        #expect(
            told.first?.data.contains(#"{"fruit":"kiwi","amount":4}"#) == true
                || told.first?.data.contains(#"{"amount":4,"fruit":"kiwi"}"#) == true)
    }

    @Test func anAnswerGoesToWhoAskedAtOnce() throws {
        let (mine, other) = (try open(page: "mine"), try open(page: "other"))
        clock.advance(1)
        hub.apply([])
        for page in [mine, other] { _ = page.drain() }
        let command = AwaitedAnswers.Command(kind: .order, store: Name("gangnam"), id: Name("1"))
        #expect(hub.await(command, page: Name("mine")))
        hub.apply([.answer(try Sample.made("1"), isHistory: false)])
        #expect(events(mine).map(\.name) == ["own"])
        #expect(events(other).isEmpty)
    }

    @Test func aPageIsToldTheIDsThatItChoseAndNoOthers() throws {
        let mine = try open(page: "mine")
        _ = mine.drain()
        let command = AwaitedAnswers.Command(kind: .order, store: Name("gangnam"), id: Name("kiosk-own"))
        #expect(hub.await(command, page: Name("mine")))
        clock.advance(1)
        hub.apply([
            .answer(try Sample.made("kiosk-own"), isHistory: false), .answer(try Sample.made("pos-7-000123"), isHistory: false),
        ])
        let told = events(mine)
        #expect(told.first { $0.name == "own" }?.data.contains(#""id":"own""#) == true)
        for page in [told, events(try open())] {
            let answers = page.filter { $0.name == "answer" }
            #expect(answers.count == 2)
            #expect(answers.allSatisfy { !$0.data.contains("id\"") && !$0.data.contains("pos-7") })
        }
    }

    @Test func aCancelIsAnsweredToItsPageApartFromItsOrder() throws {
        let mine = try open(page: "mine")
        _ = mine.drain()
        for kind in [CommandKind.order, .cancel] {
            let command = AwaitedAnswers.Command(kind: kind, store: Name("gangnam"), id: Name("kiosk-1"))
            #expect(hub.await(command, page: Name("mine")))
        }
        hub.apply([.answer(try Sample.cancelled("kiosk-1"), isHistory: false)])
        hub.apply([.answer(try Sample.made("kiosk-1"), isHistory: false)])
        let own = events(mine).filter { $0.name == "own" }.map(\.data)
        #expect(own.count == 2)
        #expect(own.first?.contains(#""kind":"cancel""#) == true)
        #expect(own.last?.contains(#""kind":"order""#) == true)
    }

    @Test func aGapIsShownWithTheAnswerAfterIt() throws {
        let page = try open()
        _ = page.drain()
        clock.advance(1)
        var answer = try Sample.cancelled("1")
        answer.gap = 5...7
        hub.apply([.answer(answer, isHistory: false)])
        let data = try #require(events(page).first { $0.name == "answer" }?.data)
        let frame = try JSONDecoder().decode(GapFrame.self, from: Data(data.utf8))
        #expect(frame.gap == ["first": 5, "last": 7])
    }

    @Test func theLastGapOutlivesTheLatestAnswers() throws {
        var answer = try Sample.cancelled("1")
        answer.gap = 5...7
        hub.apply([.answer(answer, isHistory: true)])
        for id in 2...(Activity.mostAnswers + 1) { hub.apply([.answer(try Sample.made("\(id)"), isHistory: true)]) }
        let opened = events(try open())
        #expect(!opened.contains { $0.name == "answer" && $0.data.contains("gap") })
        let board = try #require(opened.first { $0.name == "board" }?.data)
        let gap = try JSONDecoder().decode(BoardGapFrame.self, from: Data(board.utf8)).gap
        #expect((gap.store, gap.first, gap.last) == (answer.answer.store, 5, 7))
    }

    private struct GapFrame: Decodable { let gap: [String: Int] }

    private struct BoardGapFrame: Decodable {
        struct Gap: Decodable {
            let store: String
            let first: Int
            let last: Int
        }

        let gap: Gap
    }

    @Test func anAnswerThatIsNotToldYetComesOnceToANewPage() throws {
        clock.advance(1)
        hub.apply([])
        hub.apply([.answer(try Sample.made("1"), isHistory: false)])
        let page = try open()
        clock.advance(1)
        hub.apply([])
        #expect(events(page).filter { $0.name == "answer" }.count == 1)
    }

    @Test func manyStoresMakeNoPageLargeAndAreToldOfOnceASecond() throws {
        let page = try open()
        clock.advance(1)
        hub.apply((0..<10_000).map { .stock(Sample.stock("store-\($0)", kiwi: 1)) })
        let told = try #require(events(page).first { $0.name == "stores" })
        #expect(told.data.utf8.count < 20 * 2 * Board.offeredStores)
        #expect(events(try open()).first { $0.name == "stores" }?.data == told.data)
        clock.advance(1)
        hub.apply([])
        #expect(!events(page).contains { $0.name == "stores" })
    }

    @Test func aPageIsToldWhetherOrdersAreTaken() throws {
        hub.update { $0.restored() }
        let page = try open("new")
        #expect(events(page).first { $0.name == "stock" }?.data.contains(#""takesOrders":false"#) == true)
        clock.advance(1)
        hub.apply([.stock(Sample.stock("new", kiwi: 1))])
        #expect(events(page).first { $0.name == "stock" }?.data.contains(#""takesOrders":true"#) == true)
    }

    @Test func aLostBrokerIsToldAtOnce() throws {
        hub.update { $0.reached() }
        hub.update { $0.restored() }
        let page = try open()
        _ = page.drain()
        hub.update { $0.failed("no broker") }
        #expect(events(page).first { $0.name == "link" }?.data.contains(#""state":"lost""#) == true)
        hub.update { $0.reached() }
        #expect(events(page).first { $0.name == "link" }?.data.contains(#""state":"live""#) == true)
    }

    @Test func everySecondSomethingIsSaid() throws {
        let page = try open()
        for _ in 0..<3 {
            _ = page.drain()
            clock.advance(1)
            hub.apply([])
            #expect(events(page).contains { $0.name == "board" })
        }
    }

    @Test func thereAreSoManyPagesAndNoMore() throws {
        let pages = try (0..<Self.mostPages).map { try open(page: "\($0)") }
        let view = PageView(store: Name("main"), showsAll: true)
        #expect(hub.subscribe(view, page: Name("more")) == nil)
        hub.unsubscribe(pages[0])
        #expect(hub.subscribe(view, page: Name("more")) != nil)
    }

    @Test func closingLetsGoOfAllPages() async throws {
        let page = try open()
        hub.close()
        var wakes = 0
        // The stream must end, otherwise the test hangs.
        for await _ in page.wakes { wakes += 1 }
        #expect(wakes <= 1)
        #expect(hub.subscribe(page.view, page: page.page) == nil)
    }
}
