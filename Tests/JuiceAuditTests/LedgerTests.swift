import Testing

@testable import JuiceAudit

/// Lines of a conversation that were changed, and the faults that are found then.
struct Lines: CustomTestStringConvertible, Sendable {
    let name: String
    let expected: [String]
    let lines: [String]

    init(_ name: String, _ expected: String..., from lines: [String] = LedgerTests.lines, changing: (inout [String]) -> Void) {
        var changed = lines
        changing(&changed)
        (self.name, self.expected, self.lines) = (name, expected, changed)
    }

    var testDescription: String { name }
}

/// Baskets, cancels and revisions.
@Suite struct LedgerTests {
    private static let pair = #"{"juice":"kiwi","quantity":2},{"juice":"strawberryBanana","quantity":1}"#
    private static let taken = #""kiwi":6,"strawberry":10,"banana":1"#
    private static let mangos = #"{"juice":"kiwi","quantity":1},{"juice":"mangoKiwi","quantity":2}"#
    private static let full = #""kiwi":1000000000"#

    static let lines = [
        // 0: a basket, whose cancel gives back all of it
        Line.order("a", #"{"juice":"kiwi","quantity":2},{"juice":"strawberryBanana"}"#),
        Line.made("a", pair, taken, #""kiwi":4,"strawberry":0,"banana":9"#, 1),
        // 2: each of its items could be made, but not both
        Line.order("b", #"{"juice":"kiwi"},{"juice":"mangoKiwi"},{"juice":"mangoKiwi"}"#),
        Line.short("b", mangos, "kiwi", 5, 4),
        Line.cancel("a"),
        Line.cancelled("a", taken, #""kiwi":10,"strawberry":10,"banana":10"#, 2),
        // 6: the order of a cancelled id, and the cancel again
        Line.order("a", "mango"), Line.rejected("a", "cancelled"), Line.cancel("a"),
        Line.again(Line.cancelled("a", taken, #""kiwi":10,"strawberry":10,"banana":10"#, 2)),
        // 10: cancels with nothing to give back, one of them before its order
        Line.cancel("b"), Line.cancelled("b"),
        Line.cancel("z"), Line.cancelled("z"),
        Line.order("z", "mango"), Line.rejected("z", "cancelled"),
        Line.order("z", "durian"), Line.rejected("z", "cancelled"),
        // 18: a cancel for which there is no room
        Line.order("c", "kiwi"), Line.made("c", "kiwi", #""kiwi":3"#, #""kiwi":7"#, 3),
        Line.set("c", full), Line.restocked("c", full, 4),
        Line.cancel("c"), Line.rejected("c", "wouldOverflow"),
        Line.cancel("c"), Line.again(Line.rejected("c", "wouldOverflow")),
        Line.order("c", "kiwi"), Line.again(Line.made("c", "kiwi", #""kiwi":3"#, #""kiwi":7"#, 3)),
        Line.stock(4, [10, 10, 10, 1_000_000_000, 10]),
    ]

    private static let breaches = answers + cancels + revisions

    private static let answers = [
        Lines("items in another order", #"should be juiceMade,"items":[{"juice":"kiwi","quantity":2},"#) {
            let items = #"{"juice":"strawberryBanana","quantity":1},{"juice":"kiwi","quantity":2}"#
            $0[1] = Line.made("a", items, taken, #""kiwi":4,"strawberry":0,"banana":9"#, 1)
        },
        Lines(
            "a juice that is not added up",
            #""items":[{"juice":"kiwi","quantity":1},{"juice":"mangoKiwi","quantity":2}]"#
        ) {
            $0[3] = $0[3].replacing(
                #""quantity":2}"#,
                with: #""quantity":1},{"juice":"mangoKiwi","quantity":1}"#
            )
        },
        Lines("an item with a member too many", #""quantity":2,"x":1"#) {
            $0[1] = $0[1].replacing(#""quantity":2"#, with: #""quantity":2,"x":1"#)
        },
        Lines("a basket without items", #"is juiceMade,"things":"#) {
            $0[1] = $0[1].replacing("items", with: "things")
        },
        Lines("a basket that also names a juice", #"is juiceMade,"juice":"kiwi","items":"#) {
            $0[1] = $0[1].replacing(#""items""#, with: #""juice":"kiwi","items""#)
        },
        Lines("used in another order", "should be juiceMade", "results 0@3: cancel") {
            $0[1] = $0[1].replacing(taken, with: #""strawberry":10,"kiwi":6,"banana":1"#)
        },
        Lines("short of what one item needs", #"should be outOfStock"#) {
            $0[3] = $0[3].replacing(#""needed":5"#, with: #""needed":2"#)
        },
        Lines(
            "a basket judged item by item", #""left":{"mango":-9,"kiwi":999999995},"revision":5, should be outOfStock"#, "stock 0@1"
        ) {
            let items = #"{"juice":"mango","quantity":3},{"juice":"mangoKiwi","quantity":5}"#
            $0 += [
                Line.order("d", items), Line.made("d", items, #""mango":19,"kiwi":5"#, #""mango":-9,"kiwi":999999995"#, 5),
                Line.stock(5, [10, 10, 10, 999_999_995, -9]),
            ]
        },
        Lines("a basket made in part", #""used":{"banana":2,"mango":3}"#, "wrong: stock 0@1") {
            let items = #"{"juice":"banana","quantity":1},{"juice":"mango","quantity":1}"#
            $0 += [
                Line.order("d", items), Line.made("d", items, #""banana":2"#, #""banana":8"#, 5),
                Line.stock(5, [10, 8, 10, 1_000_000_000, 7]),
            ]
        },
    ]

    private static let cancels = [
        Lines("a cancel that returns twice", #"doubled: results 0@15: cancel "a""#) {
            $0 += [
                Line.set("d", #""kiwi":0"#), Line.restocked("d", #""kiwi":0"#, 5), Line.cancel("a"),
                Line.cancelled("a", taken, #""kiwi":6,"strawberry":20,"banana":11"#, 6), Line.stock(6, [20, 11, 10, 6, 10]),
            ]
            $0.remove(at: 17)
            $0.remove(at: 16)
        },
        Lines("a repeated cancel that is new and returns nothing", #"doubled: results 0@5: cancel "a""#, "wrong: results 0@5") {
            $0[9] = Line.cancelled("a")
        },
        Lines("an order that is made after its cancel", #"should be rejected,"reason":"cancelled""#) {
            $0 += [
                Line.order("a", "mango"), Line.made("a", "mango", #""mango":3"#, #""mango":7"#, 5),
                Line.stock(5, [10, 10, 10, 1_000_000_000, 7]),
            ]
        },
        Lines("a forgotten cancel before its order", #"should be rejected,"reason":"cancelled""#) {
            $0 += [
                Line.cancel("y"), Line.cancelled("y"), Line.order("y", "mango"),
                Line.made("y", "mango", #""mango":3"#, #""mango":7"#, 5), Line.stock(5, [10, 10, 10, 1_000_000_000, 7]),
            ]
        },
        Lines("a cancelled order that is judged", #"should be rejected,"reason":"cancelled""#) {
            $0[17] = Line.rejected("z", "unknownJuice")
        },
        Lines("a cancelled order that gets its first answer", "is answered as a duplicate, and is none") {
            $0[7] = Line.again($0[1])
        },
        Lines("a rejection called a duplicate", "is answered as a duplicate, and is none") {
            $0[7] = Line.again($0[7])
        },
        Lines("returned altered", #""returned":{"kiwi":5"#) {
            $0[5] = $0[5].replacing(#""kiwi":6"#, with: #""kiwi":5"#)
            $0[9] = Line.again($0[5])
        },
        Lines("returned in another order", #"should be cancelled,"returned":{"kiwi":6"#) {
            $0[5] = $0[5].replacing(taken, with: #""strawberry":10,"kiwi":6,"banana":1"#)
            $0[9] = Line.again($0[5])
        },
        Lines("returned, and none left", #""left":{},"revision":2, should be"#, "results 0@10", "stock 0@0") {
            $0[5] = $0[5].replacing(#""left":{"kiwi":10,"strawberry":10,"banana":10}"#, with: #""left":{}"#)
            $0[9] = Line.again($0[5])
        },
        Lines(
            "the cancel of an unknown order returns something",
            #"should be cancelled,"returned":{},"left":{}"#
        ) {
            $0 += [
                Line.cancel("y"), Line.cancelled("y", #""mango":3"#, #""mango":13"#, 5),
                Line.stock(5, [10, 10, 10, 1_000_000_000, 13]),
            ]
        },
        Lines(
            "the cancel of an order that was not made returns something",
            #"should be cancelled,"returned":{},"left":{}"#
        ) {
            $0.removeSubrange(12...)
            $0[11] = Line.cancelled("b", #""kiwi":5,"mango":4"#, #""kiwi":15,"mango":14"#, 3)
            $0.append(Line.stock(3, [10, 10, 10, 15, 14]))
        },
        Lines(
            "a made order whose cancel returns nothing",
            #"should be cancelled,"returned":{"mango":3},"left":{"mango":10}"#
        ) {
            $0 += [
                Line.order("d", "mango"), Line.made("d", "mango", #""mango":3"#, #""mango":7"#, 5),
                Line.cancel("d"), Line.cancelled("d"), Line.stock(5, [10, 10, 10, 1_000_000_000, 7]),
            ]
        },
        Lines("a cancel above the limit", "should be rejected", "is answered otherwise than at 12", "is none") {
            $0[23] = Line.cancelled("c", #""kiwi":3"#, #""kiwi":1000000003"#, 5)
        },
        Lines("a rejected cancel that looks like an order's", #"it answers orders 0@10, which is cancel "c""#) {
            $0[23] = $0[23].replacing(#""cancel":true,"#, with: "")
        },
        Lines("a rejected order that looks like a cancel's", #"it answers orders 0@3, which is order "a""#) {
            $0[7] = $0[7].replacing(#""reason""#, with: #""cancel":true,"reason""#)
        },
        Lines("a cancel that has no answer", #"missing: orders 0@5: cancel "b" of store "g" is not in the journal"#) {
            $0.remove(at: 11)
        },
        Lines("an order that is cancelled by nobody", "should be juiceMade") {
            $0 += [Line.order("d", "mango"), Line.rejected("d", "cancelled")]
        },
    ]

    private static let revisions = [
        Lines(
            "a revision that is altered", #""revision":9, should be juiceMade"#,
            #"should be restocked,"left":{"kiwi":1000000000},"revision":10"#
        ) {
            $0[19] = $0[19].replacing(#""revision":3"#, with: #""revision":9"#)
            $0[27] = Line.again($0[19])
        },
        Lines("a revision beyond all", #""revision":9223372036854775807, should be"#, "results 0@11") {
            $0[19] = $0[19].replacing(#""revision":3"#, with: #""revision":9223372036854775807"#)
            $0[27] = Line.again($0[19])
        },
        Lines("a revision that repeats", #""revision":2, should be juiceMade"#) {
            for index in 19...28 {
                $0[index] = $0[index].replacing(#""revision":3"#, with: #""revision":2"#).replacing(
                    #""revision":4"#, with: #""revision":3"#)
            }
        },
        Lines("a revision that is skipped", #""revision":4, should be juiceMade"#) {
            for index in 19...28 {
                $0[index] = $0[index].replacing(#""revision":4"#, with: #""revision":5"#).replacing(
                    #""revision":3"#, with: #""revision":4"#)
            }
        },
        Lines("a revision in another place", "does not end with a message") {
            $0[21] = $0[21].replacing(#","revision":4,"message":"m""#, with: #","message":"m","revision":4"#)
        },
        Lines("a revision that is no number", #""revision":"4", should be restocked"#) {
            $0[21] = $0[21].replacing(#""revision":4"#, with: #""revision":"4""#)
        },
        Lines("a revision without a change", #""revision":1, should be outOfStock"#) {
            $0[3] = $0[3].replacing(#","message""#, with: #","revision":1,"message""#)
        },
        Lines("a cancel of nothing with a revision", #"should be cancelled,"returned":{},"left":{}"#) {
            $0[11] = Line.cancelled("b", "", "", 2)
        },
    ]

    @Test func aRightHistoryHasNoFaults() {
        let audit = Conversation(Self.lines).audit
        #expect(audit.faults.map(\.description) == [])
        #expect(audit.counts.cancelled == 3)
        #expect(audit.counts.rejected == 4)
        #expect(audit.counts.duplicates == 3)
    }

    @Test(arguments: breaches)
    func aBreachIsFound(change: Lines) { expect(Conversation(change.lines).faults, change.expected) }

    /// Beyond the window both are right: what the service does if it still knows an answer, and if it does not.
    @Test(
        arguments: [
            // The cancel of an order from before the window.
            ([Line.cancel("a"), Line.cancelled("a")], 1, [7]),
            ([Line.cancel("a"), Line.cancelled("a", #""mango":3"#, #""mango":10"#, 2)], 2, [10]),
            // The order of a cancel from before the window.
            ([Line.order("x", "mango"), Line.rejected("x", "cancelled")], 1, [7]),
            ([Line.order("x", "mango"), Line.made("x", "mango", #""mango":3"#, #""mango":4"#, 2)], 2, [4]),
            // A cancel again.
            ([Line.cancel("x"), Line.cancelled("x")], 1, [7]),
            ([Line.cancel("x"), Line.again(Line.cancelled("x"))], 1, [7]),
        ] as [([String], Int, [Int])]
    )
    func beyondTheWindowBothAreRight(lines: [String], revision: Int, mangos: [Int]) {
        let first = [
            Line.order("a", "mango"), Line.made("a", "mango", #""mango":3"#, #""mango":7"#, 1),
            Line.cancel("x"), Line.cancelled("x"),
        ]
        let stock = Line.stock(revision, [10, 10, 10, 10] + mangos)
        let late = lines.enumerated().map { "@\(9_000 + $0) \($1)" }
        #expect(Conversation(first + late + [stock]).faults == [])
    }

    /// The id stays dead for a window from the later of the two commands.
    @Test func theLaterCommandCounts() {
        let lines = [
            "@1900 " + Line.order("a", "mango"),
            Line.made("a", "mango", #""mango":3"#, #""mango":7"#, 1),
            "@1000 " + Line.cancel("a"),
            "@1902 " + Line.cancelled("a", #""mango":3"#, #""mango":10"#, 2),
            "@2800 " + Line.order("a", "mango"), Line.made("a", "mango", #""mango":3"#, #""mango":7"#, 3),
            Line.stock(3, [10, 10, 10, 10, 7]),
        ]
        expect(Conversation(lines).faults, [#"should be rejected,"reason":"cancelled""#])
    }
}
