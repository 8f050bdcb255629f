import JuiceDomain
import JuiceMessages
import Testing

@testable import JuiceAudit
@testable import simulate

/// Two partitions: answers, repeats, dead letters, forwarded records and stock.
@Suite struct StoryTests {
    @Test func theContractIsKept() throws {
        let audit = try Audit(of: Story.topics.completed(), by: Story.rules)
        expect(audit, [])
        var counts = AuditCounts()
        (counts.commands, counts.answers, counts.duplicates) = (11, 11, 1)
        (counts.forwarded, counts.deadLetters, counts.stores) = (1, 2, 2)
        #expect(audit.counts == counts)
        #expect(AnswerType.allCases.map { audit.firstAnswers[$0] } == [3, 2, 3, 0, 2, 0])
        #expect(audit.starts.isEmpty && audit.anchors.isEmpty)
        #expect(audit.owners.map(\.instance) == ["till-1", "till-1"])
    }

    @Test func acceptsEmptyTopics() throws {
        expect(try Audit(of: AuditTopics(partitionCount: 2), by: Story.rules), [])
    }

    /// Each change causes the faults that it names, and no others.
    @Test(arguments: answers + repeats + letters + forwards + stock)
    func judgesEachChange(change: Case) throws { try change.check() }

    /// The duplicate window counts from this time. But topics may set times themselves.
    @Test(arguments: [(true, ["missing: orders 1@0"]), (false, [])] as [(Bool, [String])])
    func aCopyHasTheTimeOfItsOriginal(keepsTimes: Bool, expected: [String]) throws {
        var (topics, rules) = (Story.topics, Story.rules)
        topics["orders 0@4"] = topics["orders 0@4"]?.with(timestamp: 1_004)
        rules.keepsTimes = keepsTimes
        expect(try Audit(of: topics.completed(), by: rules), expected)
    }

    private static let answers = [
        Case("missing at the end", #"missing: restocks 0@2: restock "r3""#) { $0["results 0@11"] = nil },
        Case("swapped", "missing: orders 1@2", #"results 1@3: order "o8""#, "doubled: results 1@4: orders 1@2 is handled once more")
        {
            ($0["results 1@3"], $0["results 1@4"]) = ($0["results 1@4"], $0["results 1@3"])
        },
        Case("an answer without a command", "wrong: results 0@12: orders 0@7 is not there") {
            $0.add("results 0@12", Line.rejected("o9", "unknownJuice").at(7))
        },
        Case(
            "to no command", "wrong: results 0@8: it answers orders 0@5, which is no command (notJSON)",
            "wrong: dead-letters 0@0: the journal does not say that"
        ) {
            $0.add("results 0@8", Line.rejected("o9", "unknownJuice").at(5))
        },
        .edit("results 0@9", #""o3""#, #""o4""#, #"wrong: results 0@9: it answers orders 0@6, which is order "o3""#),
        .edit(
            "results 0@9", #""m","offset""#, #""g","offset""#, #"wrong: results 0@9: it answers orders 0@6, which is order "o3""#),
        .edit("results 0@9", #"{"type""#, #"["type""#, "wrong: results 0@9: it is no record of the journal", "missing: orders 0@6"),
        .edit(
            "results 0@9", "unknownJuice", "badQuantity",
            #"wrong: results 0@9: order "o3" of store "m" is rejected,"reason":"badQuantity", should be rejected,"reason":"unk"#),
        .edit("results 0@9", #":"m"}"#, #":""}"#, #"wrong: results 0@9: order "o3" of store "m" has an answer that does not end"#),
        .edit("results 0@5", #"{"kiwi":4}"#, #"{"kiwi":5}"#, #"wrong: results 0@5: order "o5""#, "wrong: results 0@6"),
        Case("another key", #"wrong: results 0@2: order "o1" of store "m" has an answer whose key is not its store"#) {
            $0["results 0@2"] = $0["results 0@2"]?.with(key: Array("g".utf8))
        },
        Case("lost trace", #"wrong: results 0@2: order "o1" of store "m" has an answer whose trace headers"#) {
            $0["results 0@2"] = $0["results 0@2"]?.with(headers: [])
        },
        Case("records without a key are about main") {
            for (offset, key) in [(20, nil), (21, ""), (22, "main")] as [(Int, String?)] {
                $0.add("orders 1@\(offset)", Line.order("m\(offset)", "durian"), key: .some(key))
                let answer = Line.rejected("m\(offset)", "unknownJuice").at(offset, store: "main")
                $0.add("results 1@\(offset)", answer, key: "main")
            }
        },
    ]

    private static let repeats: [Case] = [
        .edit("results 0@4", ":9}", ":8}", #"wrong: results 0@4: order "o1" of store "m" is answered otherwise"#),
        .edit("results 0@4", #":"m"}"#, #":"n"}"#, #"wrong: results 0@4: order "o1" of store "m" is answered otherwise"#),
        .edit("results 0@4", #""duplicate":true,"#, "", "doubled: results 0@4"),
        .edit(
            "results 0@9", #","orderId""#, #","duplicate":true,"orderId""#,
            #"wrong: results 0@9: order "o3" of store "m" is answered as a duplicate, and was not answered before"#),
        Case("restock carried out again to the same effect", #"doubled: results 0@12: restock "r2""#) {
            $0["restocks 0@9"] = $0["restocks 0@1"]
            $0.add("results 0@12", Line.restocked("r2", "mango 30", 5).at(9))
        },
    ]

    private static let letters = [
        Case("missing", "missing: orders 0@5: it has no such dead letter") { $0["dead-letters 0@0"] = nil },
        Case("doubled") { $0["dead-letters 1@9"] = $0["dead-letters 0@0"] },
        Case("in another partition") { ($0["dead-letters 1@9"], $0["dead-letters 0@0"]) = ($0["dead-letters 0@0"], nil) },
        .edit("dead-letters 0@0", "p", "n", "missing: orders 0@5", "wrong: dead-letters 0@0: it is not the dead letter"),
        Case("a second letter altered", "wrong: dead-letters 0@1: it is not the dead letter") {
            $0["dead-letters 0@1"] = $0["dead-letters 0@0"]?.with(value: "none")
        },
        Case("key lost", "missing: orders 0@5", "wrong: dead-letters 0@0") {
            $0["dead-letters 0@0"] = $0["dead-letters 0@0"]?.with(key: .some(nil))
        },
        letter("header lost", Story.reasons("notJSON", 0, 5), "missing: orders 0@5", "wrong: dead-letters 0@0"),
        letter(
            "without a source", [Story.own] + Story.reasons("notJSON", 0, 5).dropLast(),
            "wrong: dead-letters 0@0: its headers do not say where it is from, and why", "missing: orders 0@5"),
        letter("wrong code", [Story.own] + Story.reasons("missingID", 0, 5), "missing: orders 0@5", "wrong: dead-letters 0@0"),
        .edit(
            "results 0@8", "notJSON", "missingID",
            #"wrong: results 0@8: it makes orders 0@5 a dead letter, "missingID": no command"#),
        huge("cut", kept: 128 * 1024),
        huge("cut too short", kept: 64 * 1024, "missing: orders 0@31", "wrong: dead-letters 0@31"),
        Case("a dead letter that is sent in again") {
            let letter = $0["dead-letters 0@0"]
            $0["orders 0@30"] = letter
            $0.add("results 0@30", Line.deadLetter(30, "notJSON"))
            $0["dead-letters 0@30"] = letter.map { $0.with(headers: $0.headers + Story.reasons("notJSON", 0, 30)) }
            let note = [
                MessageHeader(name: "juice.resent.letter", value: "0/0"), MessageHeader(name: "juice.resent.to", value: nil),
            ]
            $0.add("dead-letters 0@31", nil, key: .some(nil), note)
        },
    ]

    private static func letter(_ name: String, _ headers: [MessageHeader], _ expected: String, _ other: String) -> Case {
        Case(name, expected, other) { $0["dead-letters 0@0"] = $0["dead-letters 0@0"]?.with(headers: headers) }
    }

    /// A record that arrived compressed and is too large for the dead-letter topic, and its dead letter.
    private static func huge(_ name: String, kept: Int, _ expected: String...) -> Case {
        let value = String(repeating: "x", count: 300_000)
        let size = MessageHeader(name: "juice.truncated.from", value: "\(300_001 + "traceparent".utf8.count + 9)")
        var topics = Story.topics
        topics.add("orders 0@31", value, key: "k", [Story.trace])
        topics.add("results 0@31", Line.deadLetter(31, "tooLarge"))
        let letter = String(value.prefix(kept))
        topics.add("dead-letters 0@31", letter, key: String("k".prefix(kept)), [size] + Story.reasons("tooLarge", 0, 31))
        return Case("a huge letter: \(name)", expected, topics)
    }

    /// The order at 1@0 has its copy at 0@4.
    private static let forwards = [
        Case(
            "never", "missing: orders 1@0: it was forwarded to partition 0", "wrong: results 0@5: orders 0@4 is not there",
            #"wrong: results 0@10: it has "forwarded""#
        ) {
            $0["orders 0@4"] = nil
        },
        .edit("results 1@1", #""to":0"#, #""to":1"#, "wrong: results 1@1: orders 1@0 belongs to partition 0"),
        Case("a command that belongs here", #"wrong: results 0@9: it forwards orders 0@6: order "o3""#) {
            $0.add("results 0@9", Line.note("forwarded", 6, #","to":1"#))
        },
        Case("copied twice") {
            $0["orders 0@9"] = $0["orders 0@4"]
            $0.add("results 0@12", Line.note("copy", 9))
        },
        Case("answered twice", "doubled: orders 0@9: it was forwarded from orders 1@0, and handled before as orders 0@4") {
            $0["orders 0@9"] = $0["orders 0@4"]
            $0["results 0@12"] = $0["results 0@5"]
            $0.replace(
                "results 0@12", #","orderId":"o5","store":"m","offset":4"#,
                #","duplicate":true,"orderId":"o5","store":"m","offset":9"#)
        },
        Case(
            "answered, and then a dead letter", "doubled: orders 0@9: it was forwarded from orders 1@0, and handled before",
            #"wrong: results 0@12: it makes orders 0@9 a dead letter, "badHeaders": order "o5""#
        ) {
            $0["orders 0@9"] = $0["orders 0@4"]
            $0.add("results 0@12", Line.deadLetter(9, "badHeaders"))
            $0["dead-letters 0@9"] = $0["orders 0@9"].map { $0.with(headers: Story.reasons("badHeaders", 0, 9)) }
        },
        Case(
            "taken for a copy", #"missing: orders 0@4: order "o5""#, #"wrong: results 0@10: it has "forwarded""#,
            "wrong: results 0@6"
        ) {
            $0.add("results 0@5", Line.note("copy", 4))
        },
        Case("a command that is no copy", #"wrong: results 0@9: it takes orders 0@6 for a copy: order "o3""#) {
            $0.add("results 0@9", Line.note("copy", 6))
        },
        .edit("orders 0@4", "{", "{ ", "missing: orders 1@0: it was forwarded to partition 0, which has no such copy"),
        Case("headers lost", "missing: orders 1@0") {
            $0["orders 0@4"] = $0["orders 0@4"]?.with(headers: [Story.forwarded(from: "1/0")])
        },
        Case("headers refused") {
            let large = MessageHeader(name: "large", value: Array(repeating: 0, count: 300_000))
            $0["orders 1@0"] = $0["orders 1@0"]?.with(headers: [large] + ($0["orders 1@0"]?.headers ?? []))
            let traces = $0["orders 1@0"]?.headers.ofTraces ?? []
            $0["orders 0@4"] = $0["orders 0@4"]?.with(headers: traces + [Story.forwarded(from: "1/0")]).with(timestamp: 1_003)
        },
        Case("another time counts than the command's") {
            $0["orders 1@0"] = $0["orders 1@0"]?.with(timestamp: 2_000)
            $0["results 1@1"] = $0["results 1@1"]?.with(headers: [MessageHeader(name: HeaderName.sent, value: "1003")])
            $0["orders 0@4"] = $0["orders 0@4"]?.with(timestamp: 1_003)
        },
        .edit("results 0@5", "1/0", "1/1", #"wrong: results 0@5: order "o5" of store "m" is answered as from 1/1, should be 1/0"#),
        Case("copied to another log, and then not") {
            $0["orders 0@4"] = nil
            $0["results 0@5"] = nil
            $0.replace("results 0@6", #""kiwi":2},"revision":3"#, #""kiwi":8},"revision":2"#)
            $0.replace("results 0@7", #""revision":4"#, #""revision":3"#)
            $0.replace("results 0@10", #","forwarded":{"orders/1":0}"#, "")
            $0[.stock][0] = []
            $0.add("results 1@9", Line.anchored(0))
            $0.add("results 1@10", Line.anchored(4))
        },
        // A client writes the header itself.
        forged("1/7", answeredFrom: "1/7"), forged("1/0", answeredFrom: "1/0"), forged("01/2"),
        forged("1/0", answeredFrom: "1/0", isCopy: true),
        forged("1/7", isCopy: true, #"missing: orders 0@6: order "o3""#),
    ]

    private static func forged(_ header: String, answeredFrom from: String? = nil, isCopy: Bool = false, _ expected: String...)
        -> Case
    {
        var topics = Story.topics
        topics["orders 0@6"] = topics["orders 0@6"]?.with(headers: [Story.forwarded(from: header)])
        if let from { topics.replace("results 0@9", #""offset":6,"#, #""offset":6,"from":"\#(from)","#) }
        if let from, from.hasPrefix("1/") { topics.replace("results 0@10", #""orders/1":0"#, #""orders/1":\#(from.dropFirst(2))"#) }
        if isCopy { topics.add("results 0@9", Line.note("copy", 6)) }
        return Case("forged \(header) \(from ?? "") \(isCopy)", expected, topics)
    }

    private static let stock: [Case] = [
        .edit(
            "stock 0@2", "30", "10",
            #"wrong: stock 0@2: store "m", revision 4: it should be {"store":"m","revision":4,"stock":{"strawberry":16,"#),
        Case("none") { $0[.stock] = [[], []] },
        Case("revision too high", #"wrong: stock 0@7: store "m", revision 5: its last change was the one numbered 4"#) {
            $0.add("stock 0@7", Line.stock(5, [16, 9, 10, 2, 30]))
        },
        Case("revision again") { $0["stock 0@7"] = $0["stock 0@2"] },
        Case("revision back", #"wrong: stock 0@7: store "m", revision 1: it comes after revision 4"#) {
            $0["stock 0@7"] = $0["stock 0@0"]
        },
        Case("of another store", #"wrong: stock 0@0: store "m", revision 1: its key is another store"#) {
            $0["stock 0@0"] = $0["stock 0@0"]?.with(key: Array(Story.second.utf8))
        },
        Case("of an unknown store", #"wrong: stock 0@8: store "x", revision 1: the store was never changed"#) {
            $0.add("stock 0@8", Line.stock(1, [10, 10, 10, 10, 10], store: "x"), key: "x")
        },
        Case("in another partition", #"wrong: stock 1@8: store "m", revision 4: the store belongs to another partition"#) {
            $0["stock 1@8"] = $0["stock 0@2"]
        },
        Case("a tombstone", "wrong: stock 0@9: it has no key or no value") { $0.add("stock 0@9", nil) },
    ]
}
