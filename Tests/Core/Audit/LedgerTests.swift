import JuiceDomain
import JuiceMessages
import Testing

@testable import JuiceAudit
@testable import simulate

/// Baskets, cancels and revisions.
@Suite struct LedgerTests {
    private static let pair = "2 kiwi, strawberryBanana"
    private static let taken = "kiwi 6, strawberry 10, banana 1"
    private static let mangos = "kiwi, 2 mangoKiwi"
    private static let full = "kiwi 1000000000"

    private static let lines = [
        // 0: a basket, whose cancel gives back all of it
        Line.order("a", pair),
        Line.made("a", pair, taken, "kiwi 4, strawberry 0, banana 9", 1),
        // 2: each of its items could be made, but not both
        Line.order("b", "kiwi, mangoKiwi, mangoKiwi"),
        Line.short("b", mangos, "kiwi", 5, 4),
        Line.cancel("a"),
        Line.cancelled("a", taken, "kiwi 10, strawberry 10, banana 10", 2),
        // 6: the order of a cancelled id, and the cancel again
        Line.order("a", "mango"), Line.rejected("a", "cancelled"), Line.cancel("a"),
        Line.again(Line.cancelled("a", taken, "kiwi 10, strawberry 10, banana 10", 2)),
        // 10: cancels with nothing to give back, one of them before its order
        Line.cancel("b"), Line.cancelled("b"),
        Line.cancel("z"), Line.cancelled("z"),
        Line.order("z", "mango"), Line.rejected("z", "cancelled"),
        Line.order("z", "durian"), Line.rejected("z", "cancelled"),
        // 18: a cancel for which there is no room
        Line.order("c", "kiwi"), Line.made("c", "kiwi", "kiwi 3", "kiwi 7", 3),
        Line.set("c", full), Line.restocked("c", full, 4),
        Line.cancel("c"), Line.rejected("c", "wouldOverflow"),
        Line.cancel("c"), Line.again(Line.rejected("c", "wouldOverflow")),
        Line.order("c", "kiwi"), Line.again(Line.made("c", "kiwi", "kiwi 3", "kiwi 7", 3)),
        Line.stock(4, [10, 10, 10, 1_000_000_000, 10]),
    ]

    @Test func aRightHistoryHasNoFaults() throws {
        let audit = try Audit(Self.lines)
        expect(audit, [])
        #expect((audit.firstAnswers[.cancelled], audit.firstAnswers[.rejected], audit.counts.duplicates) == (3, 4, 3))
    }

    /// What a service may answer to repeats, and to the cancel of an order that was made, once it has lost the first answers.
    @Test func acceptsLostAnswersThatNameTheFormerOutcome() throws {
        let added = [
            Line.order("c", "kiwi"), Line.lost("c", "made"), Line.cancel("c"), Line.lostCancel("c", "made"),
            Line.cancel("a"), Line.lostCancel("a", "cancelled"),
            Line.order("d", "durian"), Line.rejected("d", "unknownJuice"), Line.order("d", "kiwi"), Line.lost("d", "notMade"),
            Line.set("c", Self.full), Line.lost("c", "made", member: "restockId"),
            // It was never answered.
            Line.order("never", "kiwi"), Line.lost("never", "made"),
        ]
        let audit = try Audit(Self.lines + added)
        expect(audit, [])
        #expect(audit.counts.unjudged == 1)
    }

    @Test(arguments: breaches)
    func aBreachIsFound(change: Case) throws { try change.check() }

    /// A text replaced in a line, and in the line that repeats it.
    private static func edit(_ line: Int, again: Int? = nil, _ text: String, _ other: String, _ expected: String...) -> Case {
        var lines = lines
        lines[line] = lines[line].replacing(text, with: other)
        if let again { lines[again] = Line.again(lines[line]) }
        return Case(lines, "\(line): \(text) -> \(other)", expected)
    }

    private static func adding(_ added: String..., expected: String...) -> Case { Case(lines + added, "\(added)", expected) }

    private static let breaches = [
        // Answers that name the former outcome.
        adding(Line.order("c", "kiwi"), Line.lost("c", "notMade"), expected: "as of a command that was made"),
        adding(Line.order("a", "mango"), Line.lost("a", "cancelled"), expected: "is answered as lost"),
        adding(
            Line.order("d", "durian"), Line.rejected("d", "unknownJuice"), Line.cancel("d"), Line.lostCancel("d", "notMade"),
            expected: "is answered as lost"),
        // Cancels.
        // The service writes no such answer. Its cancel must not stop the audit.
        adding(
            Line.order("d", "mango"), Line.made("d", "mango", "mango 3, mango 3", "mango 7", 5),
            Line.cancel("d"), Line.cancelled("d", "mango 6", "mango 13", 6),
            expected: #""used":{"mango":3,"mango":3}"#),
        Case(
            lines[..<9] + [Line.cancelled("a")] + lines[10...], "a repeated cancel that returns nothing",
            [#"doubled: results 0@5: cancel "a""#, "wrong: results 0@5"]),
        adding(
            Line.order("a", "mango"), Line.mango("a", left: 7, 5), Line.stock(5, [10, 10, 10, 1_000_000_000, 7]),
            expected: #"should be rejected,"reason":"cancelled""#),
        adding(
            Line.cancel("y"), Line.cancelled("y", "mango 3", "mango 13", 5),
            Line.stock(5, [10, 10, 10, 1_000_000_000, 13]), expected: #"should be cancelled,"returned":{},"left":{}"#),
        adding(
            Line.order("d", "mango"), Line.mango("d", left: 7, 5), Line.cancel("d"), Line.cancelled("d"),
            Line.stock(5, [10, 10, 10, 1_000_000_000, 7]),
            expected: #"should be cancelled,"returned":{"mango":3},"left":{"mango":10}"#),
        edit(23, #""cancel":true,"#, "", #"it answers orders 0@10, which is cancel "c""#),
        adding(
            Line.order("d", "mango"), Line.rejected("d", "cancelled"), expected: #"is rejected,"reason":"cancelled", should be"#),
        // Revisions.
        edit(
            19, again: 27, #""revision":3"#, #""revision":9223372036854775807"#, #""revision":9223372036854775807, should be"#,
            "results 0@11"),
        edit(21, #","revision":4,"message":"m""#, #","message":"m","revision":4"#, "does not end with a message"),
    ]

    /// Beyond the window both are right for a while: what the service does if it still knows an answer, and if it does not.
    @Test(
        arguments: [
            // The cancel of an order from before the window.
            ([Line.cancel("a"), Line.cancelled("a")], 1, 7),
            ([Line.cancel("a"), Line.cancelled("a", "mango 3", "mango 10", 2)], 2, 10),
            // The order of a cancel from before the window.
            ([Line.order("x", "mango"), Line.rejected("x", "cancelled")], 1, 7),
            ([Line.order("x", "mango"), Line.mango("x", left: 4, 2)], 2, 4),
            // A cancel again.
            ([Line.cancel("x"), Line.cancelled("x")], 1, 7), ([Line.cancel("x"), Line.again(Line.cancelled("x"))], 1, 7),
        ] as [([String], Int, Int)])
    func beyondTheWindowBothAreRight(lines: [String], revision: Int, mangos: Int) throws {
        let first = [
            Line.order("a", "mango"), Line.mango("a", left: 7, 1), Line.cancel("x"), Line.cancelled("x"),
        ]
        let stock = Line.stock(revision, [10, 10, 10, 10, mangos])
        try Case(first + ["@2500 \(lines[0])", lines[1], stock]).check()
        let tooLate = "is answered as a repeat, but was sent too long after"
        try Case(first + ["@9000 \(lines[0])", lines[1], stock], "", lines[1].contains("duplicate") ? [tooLate] : []).check()
    }

    /// The menu may have changed. A kiwi juice took two kiwis, and there were no mangos.
    private static func formerMenu() throws -> Menu {
        let name = LocalizedName(english: "kiwi", korean: "키위")
        return try Menu(
            fruits: [Fruit(id: "kiwi", name: name, initialStock: 20)],
            juices: [JuiceSpec(id: "kiwi", name: name, recipe: [("kiwi", 2)])])
    }

    /// The lines of an owner with the former menu, then of one with the built-in menu.
    private static func menus(_ former: UInt64) -> [String] {
        [
            Line.position(0, 0, #","menu":"\#(String(former, radix: 16))""#),
            Line.order("a", "kiwi"), Line.made("a", "kiwi", "kiwi 2", "kiwi 18", 1),
            #"{"store":"m","revision":1,"stock":{"kiwi":18}}"#,
            Line.order("b", "mango"), Line.rejected("b", "unknownJuice"),
            Line.claim("till-2", since: 4),
            // A kiwi juice follows the current recipe, and mangos are new.
            Line.order("c", "kiwi"), Line.made("c", "kiwi", "kiwi 3", "kiwi 15", 2),
            Line.order("d", "mango"), Line.mango("d", left: 7, 3),
            Line.stock(3, [10, 10, 10, 15, 7]),
        ]
    }

    @Test func eachOwnerHasItsMenu() throws {
        let former = try Self.formerMenu()
        let topics = AuditTopics(Self.menus(JournalAccount.digest(of: former))).completed()
        var rules = Line.rules
        // With the current menu alone, the former owner's answers are not judged, but its stock is.
        rules.menus = [.standard, former]
        let audit = try Audit(of: topics, by: rules)
        expect(audit, [])
        #expect(audit.counts.unjudged == 0)
        #expect(try Audit(of: topics, by: Line.rules).counts.unjudged == 2)
        rules.menus = [former]
        #expect(try Audit(of: topics, by: rules).faults.count == 3)
    }

    /// The first note of an owner says which menu it has had since its claim.
    @Test func anUnknownMenuIsNotJudged() throws {
        let kiwi = Line.made("a", "kiwi", "kiwi 2", "kiwi 18", 1)
        let lines = [
            Line.order("a", "kiwi"), kiwi, Line.position(1, 0, #","menu":"7""#), Line.order("b", "kiwi"),
            Line.rejected("b", "unknownJuice"),
        ]
        let audit = try Audit(lines)
        expect(audit, [])
        #expect(audit.counts.unjudged == 2)
        expect(try Audit(Array(lines[..<2])), [#""used":{"kiwi":2},"left":{"kiwi":18},"revision":1, should be"#])
    }

    private static let unknown = [
        Line.order("a", "mango"), Line.mango("a", left: 7, 1),
        // 2: from here on the store is unknown
        Line.order("d", "kiwi"), Line.rejected("d", "unknownStore"),
        Line.set("r", "kiwi 5"), Line.rejected("r", "unknownStore", of: "restockId"),
        Line.cancel("y"), Line.rejected("y", "unknownStore", isCancel: true),
        Line.cancel("y"), Line.rejected("y", "unknownStore", isCancel: true),
        // 10: what was answered before
        Line.order("a", "mango"), Line.again(Line.mango("a", left: 7, 1)),
        Line.cancel("a"), Line.cancelled("a", "mango 3", "mango 10", 2),
        Line.order("d", "kiwi"), Line.again(Line.rejected("d", "unknownStore")),
        Line.cancel("d"), Line.cancelled("d"),
        Line.stock(2, [10, 10, 10, 10, 10]),
    ]

    /// The stores that the service knows, nil if they are not given, and the faults that are then found.
    @Test(
        arguments: [
            (nil, []), ([], ["wrong: results 0@1"]), (["x"], [#"should be rejected,"reason":"unknownStore""#]),
            (["m"], ["results 0@2", "results 0@3", "results 0@4", "results 0@5"]),
        ] as [([String]?, [String])])
    func aStoreMayBeUnknown(stores: [String]?, expected: [String]) throws {
        var rules = Line.rules
        rules.stores = stores.map { Set($0.map { Array($0.utf8) }) }
        expect(try Audit(of: AuditTopics(Self.unknown), by: rules), expected)
    }

    /// Faults that an unknown store does not excuse.
    @Test(arguments: [
        (13, Line.rejected("a", "unknownStore", isCancel: true), #"should be cancelled,"returned":{"mango":3}"#),
        (9, Line.again(unknown[9]), "was not answered before"),
    ])
    func anUnknownStoreDoesNotExcuseOtherFaults(line: Int, answer: String, expected: String) throws {
        var lines = Self.unknown
        lines[line] = answer
        let faults = try Audit(lines).faults.map(\.description)
        #expect(faults.contains { $0.contains(expected) }, "\(faults)")
    }

    /// The id stays dead for a window from the later of the two commands.
    @Test func theLaterCommandCounts() throws {
        let lines = [
            "@1900 " + Line.order("a", "mango"), Line.mango("a", left: 7, 1),
            "@1000 " + Line.cancel("a"), "@1902 " + Line.cancelled("a", "mango 3", "mango 10", 2),
            "@2800 " + Line.order("a", "mango"), Line.mango("a", left: 7, 3),
            Line.stock(3, [10, 10, 10, 10, 7]),
        ]
        try Case(lines, "", [#"should be rejected,"reason":"cancelled""#]).check()
    }
}
