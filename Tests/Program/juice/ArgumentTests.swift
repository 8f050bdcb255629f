import Foundation
import JuiceDomain
import JuiceMessages
import Testing

@testable import juice

struct NamesTests {
    let menu = Menu.standard

    @Test(arguments: [
        ("mangoKiwi", "mangoKiwi"), ("mango", "mango"), ("딸바쥬스", "strawberryBanana"),
        ("strawberry banana juice", "strawberryBanana"), ("mangokiwi", "mangoKiwi"), ("MANGO", "mango"),
        ("Mango Kiwi Juice", "mangoKiwi"), ("망고 키위 쥬스", "mangoKiwi"), ("망키쥬스", "mangoKiwi"),
        // Decomposed, as some keyboards and file systems write it.
        ("\u{1106}\u{1161}\u{11BC}\u{1100}\u{1169}\u{110C}\u{1172}\u{1109}\u{1173}", "mango"),
    ])
    func findsJuicesByIDNameAndAlias(text: String, id: String) throws {
        #expect(try menu.juiceID(for: text) == id)
    }

    @Test func asksForTheIDIfSeveralShareAName() throws {
        func spec(_ id: String) -> JuiceSpec {
            JuiceSpec(id: id, name: LocalizedName(english: "Fig Juice", korean: "무화과쥬스"), recipe: [("fig", 1)])
        }
        let menu = try Menu(
            fruits: [Fruit(id: "fig", name: LocalizedName(english: "fig", korean: "무화과"))],
            juices: ["small", "large", "tall"].map(spec))
        let failure = #expect(throws: Failure.self) { try menu.juiceID(for: "fig juice") }
        #expect(failure?.message == #"more than one juice is called "fig juice"; did you mean small, large or tall?"#)
        #expect(failure?.status == .usage)
        #expect(try menu.juiceID(for: "small") == "small")
    }

    @Test(arguments: [
        ("mango kwi", #"no juice is called "mango kwi"; did you mean mangoKiwi or mango?"#),
        ("망키쥬수", #"no juice is called "망키쥬수"; did you mean 망키쥬스?"#),
        ("딸기 주수", #"no juice is called "딸기 주수"; did you mean 딸기쥬스?"#),
        ("strawbery juice", #"no juice is called "strawbery juice"; did you mean strawberry juice?"#),
        ("kwii", #"no juice is called "kwii"; did you mean kiwi?"#),
        ("망고쥬수", #"no juice is called "망고쥬수"; did you mean 망고쥬스?"#),
        ("durian", #"no juice is called "durian""#),
    ])
    func suggestsTheNearest(text: String, message: String) {
        let failure = #expect(throws: Failure.self) { try menu.juiceID(for: text) }
        #expect(failure?.message == message)
        #expect(failure?.status == .usage)
    }
}

struct OrderItemsTests {
    private static let menu = Menu.standard

    private static func items(_ arguments: [String], on menu: Menu = menu) throws -> [String] {
        try OrderedJuice.items(arguments, on: menu).map(\.description)
    }

    @Test(arguments: [
        (["kiwi"], ["kiwi"]), (["키위쥬스:3"], ["3 × kiwi"]), (["kiwi:100"], ["100 × kiwi"]),
        (["kiwi:2", "strawberryBanana"], ["2 × kiwi", "strawberryBanana"]),
        // The service adds them up.
        (["kiwi", "키위쥬스:2"], ["kiwi", "2 × kiwi"]),
    ])
    func readsJuicesAndTheirCounts(arguments: [String], items: [String]) throws {
        #expect(try Self.items(arguments) == items)
    }

    @Test(arguments: [
        (["kiwi:0"], #"the count in "kiwi:0" must be a whole number, from 1 to 100"#), (["kiwi:101"], "the count in"),
        (["kiwi:99999999999999999999"], "the count in"), (["kiwi:"], #"no juice is called "kiwi:""#),
        (["kiwi:-1"], "no juice is called"), (["kiwi:two"], "no juice is called"), (["kiwi:٣"], "no juice is called"),
        (["durian:2"], #"no juice is called "durian""#),
        (Array(repeating: "kiwi", count: 21), "an order has at most 20 juices, not 21"),
    ])
    func refuses(arguments: [String], message: String) {
        let failure = #expect(throws: Failure.self) { try Self.items(arguments) }
        #expect(failure?.message.hasPrefix(message) == true, "\(failure?.message ?? "")")
        #expect(failure?.status == .usage)
    }

    @Test func aNameOnTheMenuMayLookLikeACount() throws {
        let names = LocalizedName(english: "seven:7", korean: "칠:7")
        let menu = try Menu(fruits: Menu.standard.fruits, juices: [JuiceSpec(id: "seven:7", name: names, recipe: [("kiwi", 3)])])
        let table = [("seven:7", "seven:7"), ("seven:7:2", "2 × seven:7"), ("칠:7:3", "3 × seven:7")]
        for (argument, item) in table { #expect(try Self.items([argument], on: menu) == [item]) }
    }
}

struct RestockAmountsTests {
    @Test(arguments: [
        (["strawberry=+16", "kiwi=-2"], StockEdit.Kind.add, [("strawberry", 16), ("kiwi", -2)]),
        (["mango=30"], .set, [("mango", 30)]),
        (["mango==30", "kiwi=0"], .set, [("mango", 30), ("kiwi", 0)]),
        (["딸기=+6", "Mango=+1", "파인 애플=+1"], .add, [("strawberry", 6), ("mango", 1), ("pineapple", 1)]),
        (["mango==-1"], .set, [("mango", -1)]),
    ])
    func readsTheThreeForms(arguments: [String], kind: StockEdit.Kind, amounts: [(String, Int)]) throws {
        let read = try RestockAmounts(arguments, on: .standard)
        #expect(read.kind == kind)
        #expect(read.amounts == amounts.map { FruitAmount(fruit: $0.0, amount: $0.1) })
    }

    @Test(arguments: [
        [], ["mango"], ["=3"], ["mango="], ["mango=+"], ["mango=three"], ["mango=1.5"], ["mango=++3"], ["mango===3"],
        ["mango=99999999999999999999"], ["mango=+1", "kiwi=2"], ["mango=+1", "mango=+2"],
        ["딸기=+6", "strawberry=+1"], ["durian=+1"],
    ])
    func refusesAnythingElse(arguments: [String]) {
        let failure = #expect(throws: Failure.self) { try RestockAmounts(arguments, on: .standard) }
        #expect(failure?.status == .usage)
    }
}

struct TimeTextTests {
    private static let now = Date(timeIntervalSince1970: 1_000_000)
    private static let seoul = { @Sendable (_: Double) in 9 * 3600 }

    @Test(
        arguments: [
            ("90s", 999_910), ("10m", 999_400), ("1h30m", 994_600), ("7d", 395_200), ("0s", 1_000_000),
            ("1970-01-02", 54000), ("1970-01-02T12:34", 99240),
            ("1970-01-02 00:00:05", 54005), ("1970-01-02T00:00:05Z", 86405),
            ("2024-02-29T00:00Z", 1_709_164_800), ("12:34", 963_240), ("12:34Z", 995_640),
            // A time of day means its last occurrence, even just after midnight and in another zone.
            ("23:59:58", 917_998), ("22:46:40", 1_000_000), ("22:46:41", 913_601), ("13:47Z", 913_620), ("08:46-05:00", 999_960),
            ("1970-01-02T00:00:05+09:00", 54005),
        ] as [(String, Int64)]
    )
    func readsTimes(text: String, seconds: Int64) throws {
        #expect(TimeText.milliseconds(text, now: Self.now, offset: Self.seoul) == seconds * 1000)
    }

    /// The zone is an hour ahead of UTC, two hours from a million seconds since 1970, and one again from two million.
    @Test(
        arguments: [
            ("1970-01-12T14:46:39", 999_999), ("1970-01-12T14:46:40", nil), ("1970-01-12T15:46:39", nil),
            ("1970-01-12T15:46:40", 1_000_000), ("1970-01-24T04:33:19", 1_996_399), ("1970-01-24T04:33:20", 1_996_400),
            ("1970-01-24T05:33:19", 1_999_999), ("1970-01-24T05:33:20", 2_003_600), ("1970-01-12T14:46:40Z", 1_003_600),
        ] as [(String, Int64?)]
    )
    func clocksArePutForwardAndBack(text: String, seconds: Int64?) throws {
        let time = TimeText.milliseconds(text, now: Self.now) { (1_000_000..<2_000_000).contains($0) ? 7200 : 3600 }
        #expect(time == seconds.map { $0 * 1000 })
    }

    /// It is 22:46:40. The end of a period comes after its beginning, and may be in the future.
    @Test(
        arguments: [
            ("22:00", nil, 997_200), ("23:00", nil, 914_400), ("23:00", "22:00", 1_000_800), ("23:00", "20:00", 1_000_800),
            ("00:10", "23:50", 918_600), ("12:00", "7d", 961_200),
        ] as [(String, String?, Int64)]
    )
    func anEndComesAfterItsBeginning(text: String, since: String?, seconds: Int64) throws {
        let since = since.flatMap { TimeText.milliseconds($0, now: Self.now, offset: Self.seoul) } ?? 0
        #expect(TimeText.milliseconds(text, now: Self.now, after: since, offset: Self.seoul) == seconds * 1000)
    }

    @Test(arguments: [
        "", "10", "m", "-5m", "1.5h", "2w", "yesterday", "2026-13-01", "2026-02-29", "2026-01-31T25:00", "2026-1-31",
        "2026-01-31T12", "2026-01-31Z", "2026-01-31T12:34+9", "24:34", "12", "12:3", "9999999999s",
    ])
    func refusesAnythingElse(text: String) {
        #expect(TimeText.milliseconds(text, now: Self.now) == nil)
    }

    @Test func aPeriodIsBetweenTwoTimes() throws {
        func period(_ options: String...) throws -> TopicReader.Period { try PeriodOptions.parse(options).period() }
        #expect(try period() == TopicReader.always)
        #expect(try period("--since", "1960-01-01", "--until", "1970-01-02T00:00Z") == 0..<86_400_000)
        let failure = #expect(throws: Failure.self) { try period("--since", "2026-01-02T00:00Z", "--until", "2026-01-01T00:00Z") }
        #expect(failure?.message.contains(/^--since \(2026-01-0.*\) must be before --until \(202/) == true)
    }
}
