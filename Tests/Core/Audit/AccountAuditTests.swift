import JuiceDomain
import JuiceMessages
import Testing

@testable import JuiceAudit
@testable import simulate

/// The account of the journal in its position notes.
@Suite struct AccountAuditTests {
    /// Members of the account.
    private static let eight = #","records":8,"changes":4,"sum":"16127208202196969700""#
    private static let nine = #","records":9,"changes":4,"sum":"16127208202196969700""#
    private static let menu = #","menu":"0aa3d1b74f877d1a""#

    /// The story with a position note at the end of each journal. The accounts are written out.
    private static let story: AuditTopics = {
        var topics = Story.topics
        topics.add("results 0@1", Line.position(0, 0, #","records":0,"changes":0,"sum":"0"\#(menu)"#))
        topics.add("results 0@10", position(#","before":1\#(eight),"oldest":6\#(menu)"#, restocks: 2))
        topics.add("results 0@13", position(#","before":10\#(nine),"oldest":7\#(menu)"#))
        topics.add(
            "results 1@7", Line.position(4, 1, #","records":5,"changes":2,"sum":"3957812060858573370","oldest":3\#(menu)"#))
        return topics
    }()

    /// A position note of partition 0.
    private static func position(_ account: String, restocks: Int = 3) -> String {
        Line.position(7, restocks, #","forwarded":{"orders/1":0}\#(account)"#)
    }

    /// The story with a change.
    private static func change(_ name: String, _ expected: String..., change: (inout AuditTopics) -> Void) -> Case {
        var topics = story
        change(&topics)
        return Case(name, expected, topics)
    }

    /// The story with a text of the last note replaced.
    private static func edit(_ text: String, _ other: String, _ expected: String...) -> Case {
        var topics = story
        topics.replace("results 0@13", text, other)
        return Case("\(text) -> \(other)", expected, topics)
    }

    @Test(arguments: members + records + digests + anchors)
    func theAccountIsJudged(change: Case) throws { try change.check() }

    @Test func aPositionNoteHasAnAccount() throws {
        expect(try Audit(of: AuditTopics([Line.position(0, 0)]), by: Line.rules), ["wrong: results 0@1: it has"])
    }

    private static let members = [
        change("right") { _ in },
        edit(#""records":9"#, #""records":8"#, #"wrong: results 0@13: it has "records":8, should be "records":9"#),
        edit(#""changes":4"#, #""changes":5"#, #"it has "changes":5, should be "changes":4"#),
        edit(#""sum":"1"#, #""sum":""#, "it has"), edit(#""before":10"#, #""before":1"#),
        edit(#""before":10"#, #""before":9"#, #"it has "before":9, should be "before":10"#),
        edit(#""before":10,"#, "", #"it has "records":9, should be "before":10,"records":9"#),
        // The oldest answer may be older than necessary.
        edit(#""oldest":7"#, #""oldest":0"#), edit(#""oldest":7"#, #""oldest":8"#, #"it has "oldest":8, should be "oldest":7"#),
        edit(#""oldest":7,"#, "", #"should be "oldest":7"#), edit(#""oldest":7"#, #""oldest":13"#, #"should be "oldest":7"#),
    ]

    private static let records = [
        change("a note is removed", #"results 0@13: it has "before":10, should be "before":1"#) { $0["results 0@10"] = nil },
        change("a repeat is removed", "missing: orders 0@3", #"results 0@10: it has "records":8, should be "records":7"#) {
            $0["results 0@4"] = nil
        },
        // The first note of a journal may come late.
        change("only the last note") {
            ($0["results 0@1"], $0["results 0@10"]) = (nil, nil)
            $0.replace("results 0@13", #","before":10"#, "")
        },
        // Written again, since its writer did not learn that the first one was committed.
        change("a note twice") { $0["results 0@14"] = $0["results 0@13"] },
        change("an unknown note of a record") {
            $0.add("orders 0@7", "nope")
            $0.add("results 0@12", Line.note("skipped", 7))
            $0.replace("results 0@13", #""orders":7"#, #""orders":8"#)
            $0.replace("results 0@13", #""records":9"#, #""records":10"#)
        },
        change("an unknown note") { $0.add("results 0@12", #"{"type":"weather"}"#) },
        // Another program's record, which the owner has not counted.
        change("no record of the contract", "wrong: results 0@12: it is no record of the journal: ") {
            $0.add("results 0@12", "junk")
        },
    ]

    /// What the notes say about handled records.
    private static let digests = [
        change("no last records", #"results 0@10: it has "menu":"0aa3d1b74f877d1a"}, should be "menu""#) {
            $0.replace("results 0@10", menu, #"\#(menu),"last":{}"#)
        },
        change("another last record", #"results 1@7: it has "digest":"\#(nope)"}}}, should be "digest":"#) {
            $0.replace("results 1@7", menu, #"\#(menu),"last":{"orders/1":{"offset":3,"digest":"\#(nope)"}}"#)
        },
        change("another digest", "results 0@8: its digest is not that of orders 0@5") {
            $0.replace("results 0@8", "}", #","digest":"\#(nope)"}"#)
        },
        // An anchor clears the last record, but only of its own input.
        change("an anchor leaves it", #"results 0@13: it has "last":{"orders/0""#) {
            let noted = $0.completed()["results 0@10"]?.text ?? ""
            $0.add("results 0@12", Line.anchored(7))
            $0.replace("results 0@13", #""before":10,"#, "")
            $0.replace("results 0@13", "\(menu)}", menu + (noted.firstRange(of: #","last""#).map { noted[$0.lowerBound...] } ?? ""))
        },
    ]

    /// The digest of the value `nope` without a key.
    private static let nope = "367026dc90519f37e788e7705d3de2b4"

    private static let anchors = [
        // The operator has accepted whatever is missing before an anchor. After that, only the next answers show what the stores
        // hold.
        change("anchored, and a change was lost") {
            let sum = 16_127_208_202_196_969_700 &+ Array(Story.first.utf8).withUnsafeBytes(StockChanges.weight)
            $0.add("results 0@14", Line.anchored(7))
            $0.add("results 0@15", position(#","records":9,"changes":5,"sum":"\#(sum)","oldest":7\#(menu)"#))
            $0.add("orders 0@7", Line.order("o9", "mango"))
            $0.add("results 0@16", Line.mango("o9", left: 20, 6).at(7))
        },
        change("anchored, and nothing was lost", "results 0@16: order \"o9\"") {
            $0.add("results 0@14", Line.anchored(7))
            $0.add("results 0@15", position(#"\#(nine),"oldest":7\#(menu)"#))
            $0.add("orders 0@7", Line.order("o9", "mango"))
            $0.add("results 0@16", Line.mango("o9", left: 20, 6).at(7))
        },
        change("anchored, and wrong from then on", #"results 0@14: it has "records":9, should be "records":7"#) {
            $0.add("results 0@12", Line.anchored(7))
            $0.replace("results 0@13", #""before":10,"records":9"#, #""records":7"#)
            $0.add("results 0@14", position(#","before":13\#(nine),"oldest":7\#(menu)"#))
        },
        // The anchor's note is in a later transaction.
        change("anchored without a note") {
            $0.add("results 0@12", Line.anchored(7))
            $0.replace("results 0@13", #""records":9"#, #""records":7"#)
        },
    ]

    /// Where the beginning has expired, the first note that is left says what there was.
    @Test(
        arguments: [
            (5, #""records":8"#, #""records":8"#, []), (5, #""before":1"#, #""before":4"#, []),
            (5, #""before":1"#, #""before":6"#, [#"results 0@10: it has "before":6"#]),
            (5, #","before":1"#, "", []), (11, #""records":9"#, #""records":70"#, []),
            (5, #""records":8"#, #""records":7"#, [#"results 0@13: it has "records":9, should be "records":8"#]),
        ] as [(Int64, String, String, [String])])
    func theBeginningMayHaveExpired(first: Int64, text: String, other: String, expected: [String]) throws {
        var topics = Self.story.completed().starting(at: [.results: [first, 0]])
        topics.replace(first == 11 ? "results 0@13" : "results 0@10", text, other)
        expect(try Audit(of: topics, by: Story.rules), expected)
    }
}
