import Testing

@testable import JuiceAudit

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
    private static func position(_ account: String, restocks: Int = 3, claim: Int = 0) -> String {
        Line.position(7, restocks, claim: claim, #","forwarded":{"orders/1":0}\#(account)"#)
    }

    /// Topics whose accounts are not corrected.
    private struct Change: CustomTestStringConvertible {
        let testDescription: String
        let expected: [String]
        let topics: AuditTopics

        init(_ name: String, _ expected: String..., change: (inout AuditTopics) -> Void) {
            self.init(name, expected, change: change)
        }

        /// The last note with a text replaced.
        static func edit(_ text: String, _ other: String, _ expected: String...) -> Change {
            Change("\(text) -> \(other)", expected.map { "wrong: results 0@13: \($0)" }) {
                $0.replace("results 0@13", text, other)
            }
        }

        private init(_ name: String, _ expected: [String], change: (inout AuditTopics) -> Void) {
            var topics = AccountAuditTests.story
            change(&topics)
            (testDescription, self.expected, self.topics) = (name, expected, topics.digested)
        }
    }

    @Test(arguments: members + records + digests + anchors)
    private func theAccountIsJudged(change: Change) throws {
        expect(try Audit(of: change.topics, by: Story.rules), change.expected)
    }

    private static let (none, account) = ("it does not say its account", "its account is ")
    private static let noNote = "it names the position note before it, and there is none at "

    private static let members: [Change] = [
        Change("right") { _ in },
        .edit(nine, "", none), .edit(menu, "", none),
        .edit(
            #""records":9"#, #""records":8"#,
            "\(account)8 records, 4 changes and the sum 16127208202196969700, should be 9 records"),
        .edit(#""records":9"#, #""records":-9"#, none), .edit(#""records":9"#, #""records":"9""#, none),
        .edit(#""changes":4"#, #""changes":5"#, "\(account)9 records, 5 changes"), .edit(#""changes":4,"#, "", none),
        .edit(#""sum":"1"#, #""sum":""#, account), .edit(#""sum":"1"#, #""sum":"01"#, none),
        .edit(#""sum":"1"#, #""sum":"9"#, none), .edit(#""sum":"16127208202196969700""#, #""sum":1"#, none),
        .edit(#""before":10"#, #""before":1"#),
        .edit(#""before":10"#, #""before":9"#, "\(noNote)9"),
        .edit(#""before":10"#, #""before":13"#, "\(noNote)13"), .edit(#""before":10"#, #""before":99"#, "\(noNote)99"),
        .edit(#""before":10"#, #""before":-1"#, "\(noNote)-1"), .edit(#""before":10"#, #""before":"10""#, noNote),
        .edit(#""before":10,"#, "", "it begins another account, and no anchor precedes it"),
        // An older answer than must be is right.
        .edit(#""oldest":7"#, #""oldest":0"#), .edit(#""oldest":7"#, #""oldest":8"#, "its oldest answer should be at 7"),
        .edit(#""oldest":7,"#, "", "its oldest answer should be at 7"),
        .edit(#""oldest":7"#, #""oldest":13"#, "its oldest answer is not before it"),
        .edit(#""oldest":7"#, #""oldest":-1"#, "its oldest"), .edit(#""oldest":7"#, #""oldest":"0""#, "its oldest"),
        .edit("1a\"}", "1b\"}"), .edit("1a\"}", "1A\"}", none), .edit("1a\"}", "1\"}", none),
        // A note has one fault, whatever is wrong with it.
        .edit(
            #""before":10,"records":9"#, #""before":9,"records":1"#,
            "\(account)1 records, 4 changes and the sum 16127208202196969700, should be 9 records, 4 changes and the sum "
                + "16127208202196969700; it names the position note before it"),
    ]

    private static let records: [Change] = [
        Change("a note is removed", "results 0@13: \(noNote)10") {
            $0["results 0@10"] = nil
        },
        Change("the first note is removed", "results 0@10: it names the position note before it") { $0["results 0@1"] = nil },
        Change("a repeat is removed", "missing: orders 0@3", "results 0@10: \(account)8 records") { $0["results 0@4"] = nil },
        Change(
            "a change is removed", "missing: restocks 0@1", "results 0@10: \(account)8 records, 4 changes",
            "results 0@13: its oldest",
            "stock 0@2"
        ) { $0["results 0@7"] = nil },
        Change(
            "the beginning is removed", "orders 0@0", "orders 0@1", "orders 0@3", "results 0@5", "results 0@6", "stock 0@2",
            "results 0@10: \(account)8 records, 4 changes"
        ) {
            for offset in 2...4 { $0["results 0@\(offset)"] = nil }
        },
        // The first note of a journal may come late.
        Change("only the last note") {
            ($0["results 0@1"], $0["results 0@10"]) = (nil, nil)
            $0.replace("results 0@13", #","before":10"#, "")
        },
        Change("only the last note, and it is wrong", "results 0@13: \(account)8 records") {
            ($0["results 0@1"], $0["results 0@10"]) = (nil, nil)
            $0.replace("results 0@13", #","before":10,"records":9"#, #","records":8"#)
        },
        // Written again, since nobody knew whether the first one was committed.
        Change("a note twice") { $0["results 0@14"] = $0["results 0@13"] },
        Change("an unknown note of a record") {
            $0.add("orders 0@7", "nope")
            $0.add("results 0@12", Line.note("skipped", 7))
            $0.replace("results 0@13", #""orders":7"#, #""orders":8"#)
            $0.replace("results 0@13", #""records":9"#, #""records":10"#)
        },
        Change("an unknown note") { $0.add("results 0@12", #"{"type":"weather"}"#) },
        // What nobody can read may have been counted or not.
        Change("no record of the contract", "results 0@12: it is not a JSON object") {
            $0.add("results 0@12", "junk")
            $0.replace("results 0@13", #""records":9"#, #""records":7"#)
        },
        Change("and then the next note", "results 0@12: it is not a JSON object", "results 0@14: \(account)9 records") {
            $0.add("results 0@12", "junk")
            $0["results 0@14"] = $0["results 0@13"]
            $0.replace("results 0@13", #""records":9"#, #""records":7"#)
        },
    ]

    /// What the notes say of handled records.
    private static let digests: [Change] = [
        Change("no last records", "results 0@10: its last of orders/0 is left out", "results 0@10: its last of restocks/0 is left")
        {
            $0.replace("results 0@10", menu, #"\#(menu),"last":{}"#)
        },
        Change("another last record", "results 1@7: its last of orders/1 is {", "results 1@7: its last of restocks/1 is left out") {
            $0.replace("results 1@7", menu, #"\#(menu),"last":{"orders/1":{"offset":3,"digest":"\#(nope)"}}"#)
        },
        Change("another digest", "results 0@8: its digest is not that of orders 0@5") {
            $0.replace("results 0@8", "}", #","digest":"\#(nope)"}"#)
        },
        // An anchor clears it for its input alone.
        Change("an anchor leaves it", "results 0@13: its last of orders/0 is {", "results 0@13: its last of restocks/0 is {") {
            $0.add("results 0@12", Line.anchored(7))
            $0.replace("results 0@13", #""before":10,"#, "")
            $0.replace("results 0@13", menu, #"\#(menu),\#(last(of: $0, "results 0@10"))"#)
        },
    ]

    /// The digest of the value `nope` without a key.
    private static let nope = Account.digest(Array(repeating: 0xFF, count: 8) + Array("nope".utf8))

    private static func last(of topics: AuditTopics, _ place: String) -> Substring {
        let text = String(decoding: topics.digested[place]?.value ?? [], as: UTF8.self)
        return text[(text.firstRange(of: #""last""#)?.lowerBound ?? text.endIndex)...].dropLast()
    }

    private static let anchors: [Change] = [
        // What is missing before an anchor was accepted.
        Change("anchored") {
            $0.add("results 0@12", Line.anchored(7))
            $0.replace("results 0@13", #""before":10,"records":9,"changes":4"#, #""records":7,"changes":2"#)
            $0.add(
                "results 0@14", position(#","before":13,"records":7,"changes":2,"sum":"16127208202196969700","oldest":7\#(menu)"#))
        },
        // Nothing is known of the stores then, but what their next answers say.
        Change("anchored, and a change was lost") {
            let sum = 16_127_208_202_196_969_700 &+ Account.weight(Story.first)
            $0.add("results 0@14", Line.anchored(7))
            $0.add("results 0@15", position(#","records":9,"changes":5,"sum":"\#(sum)","oldest":7\#(menu)"#))
            $0.add("orders 0@7", Line.order("o9", "mango"))
            $0.add("results 0@16", Line.made("o9", "mango", #""mango":3"#, #""mango":20"#, 6).at(7))
        },
        Change("anchored, and nothing was lost", "results 0@16: order \"o9\"") {
            $0.add("results 0@14", Line.anchored(7))
            $0.add("results 0@15", position(#"\#(nine),"oldest":7\#(menu)"#))
            $0.add("orders 0@7", Line.order("o9", "mango"))
            $0.add("results 0@16", Line.made("o9", "mango", #""mango":3"#, #""mango":20"#, 6).at(7))
        },
        Change("anchored, and wrong from then on", "results 0@14: \(account)9 records, 4 changes") {
            $0.add("results 0@12", Line.anchored(7))
            $0.replace("results 0@13", #""before":10,"records":9"#, #""records":7"#)
            $0.add("results 0@14", position(#","before":13\#(nine),"oldest":7\#(menu)"#))
        },
        // The anchor's transaction was torn before its note.
        Change("anchored without a note") {
            $0.add("results 0@12", Line.anchored(7))
            $0.replace("results 0@13", #""records":9"#, #""records":7"#)
        },
        Change("begun once more", "results 0@14: it begins another account") {
            $0.add("results 0@12", Line.anchored(7))
            $0.replace("results 0@13", #""before":10,"#, "")
            $0["results 0@14"] = $0["results 0@13"]
        },
    ]

    /// Where the beginning has expired, the first note that is left says what there was.
    @Test(
        arguments: [
            (5, #""records":8"#, #""records":8"#, []), (5, #""before":1"#, #""before":4"#, []),
            (5, #""before":1"#, #""before":6"#, ["results 0@10: it names the position note before it"]),
            (5, #","before":1"#, "", []), (11, #""records":9"#, #""records":70"#, []),
            (5, #""records":8"#, #""records":7"#, ["results 0@13: its account is 9 records"]),
        ] as [(Int64, String, String, [String])])
    func theBeginningMayHaveExpired(first: Int64, text: String, other: String, expected: [String]) throws {
        var records: [AuditTopic: [[AuditRecord]]] = [:]
        for topic in AuditTopic.allCases { records[topic] = Self.story.digested[topic] }
        var topics = AuditTopics(records, starts: [.results: [first, 0]])
        topics.replace(first == 11 ? "results 0@13" : "results 0@10", text, other)
        expect(try Audit(of: topics, by: Story.rules), expected)
    }

    /// After a change of the menu the notes before it have another one.
    @Test func anotherMenuIsCounted() throws {
        let change = Change("another menu") { $0.replace("results 0@10", "7d1a", "7d1b") }
        #expect(try Audit(of: change.topics, by: Story.rules).counts.unjudged == 1)
        #expect(try Audit(of: Self.story.digested, by: Story.rules).counts.unjudged == 0)
    }

    /// Values from an implementation in another language, which agrees with Python's hash of bytes (SipHash-1-3 with a key of zeros
    /// if PYTHONHASHSEED is 0).
    @Test(
        arguments: [
            ("m", 0x77f3_d69a_83ad_da38), ("g", 0x9b76_7c8c_cb9d_b11c), ("main", 0xf529_c3db_81a7_2a51),
            ("gangnam", 0x4c97_d2c6_8ee8_5bf8), ("강남", 0xa3e9_a7a7_1cea_650d),
            (#"{"strawberry":10,"banana":10,"pineapple":10,"kiwi":10,"mango":10}"#, 0x0aa3_d1b7_4f87_7d1a),
        ] as [(String, UInt64)])
    func theDigestIsSipHash(text: String, digest: UInt64) {
        #expect(Array(text.utf8).withUnsafeBufferPointer(AccountAudit.digest) == digest)
        #expect(Account.sipHash(text) == digest)
    }

    /// The examples of the contract.
    @Test func theDigestOfARecordHas128Bits() {
        #expect(Self.nope == "367026dc90519f37e788e7705d3de2b4")
        #expect(AccountAudit.digest(of: Array("o\u{7}gangnampos-7-000123".utf8)) == "4a756f8c1180ca81b1c50f7ec9a76d94")
    }

    @Test func digestsOfAllLengths() {
        for length in 0...300 {
            let text = String(repeating: "가나x", count: 100).prefix(length)
            #expect(Array(text.utf8).withUnsafeBufferPointer(AccountAudit.digest) == Account.sipHash(String(text)))
            #expect(AccountAudit.digest(of: Array(text.utf8)) == Account.digest(Array(text.utf8)))
        }
    }
}
