import Testing

@testable import JuiceAudit

/// The places that the journal names, its notes, and whose it is.
@Suite struct JournalTests {
    private static func made(_ id: String, _ left: Int, _ revision: Int) -> String {
        Line.made(id, "mango", #""mango":3"#, #""mango":\#(left)"#, revision)
    }

    /// Three orders, the last of which is out of stock, with position notes between them.
    private static let lines = [
        Line.position(#""orders":0,"restocks":0"#),
        Line.order("a", "mango"), made("a", 7, 1),
        Line.order("b", "mango"), made("b", 4, 2),
        Line.position(#""orders":2,"restocks":0"#),
        Line.order("c", "mango"), made("c", 1, 3),
        Line.stock(3, [10, 10, 10, 10, 1]),
    ]

    private static let again = [
        Line.again(made("a", 7, 1)).at(0), Line.again(made("b", 4, 2)).at(1), Line.again(made("c", 1, 3)).at(2),
    ]

    @Test(arguments: places + anchors + positions + claims + notes)
    func theJournalIsJudged(change: Lines) { expect(Conversation(change.lines).faults, change.expected) }

    private static let places = [
        Lines("right", from: lines) { _ in },
        Lines("without positions and stock", from: lines) { $0.removeAll { $0.hasPrefix("n") || $0.hasPrefix("s") } },
        Lines("gaps between offsets", from: lines) { $0.insert("- orders", at: 6) },
        Lines("a command passed over", #"missing: orders 0@1: order "b""#, "results 0@4", from: lines) {
            $0.remove(at: 4)
        },
        Lines("the last command", #"missing: orders 0@2: order "c""#, "stock 0@0", from: lines) {
            $0.remove(at: 7)
        },
        Lines("a command handled twice", "doubled: results 0@6: orders 0@2 is handled once more", from: lines) {
            $0.insert(made("c", 1, 3).at(2), at: 8)
        },
        Lines("a command that is not there", "wrong: results 0@6: orders 0@3 is not there", from: lines) {
            $0.append(Line.rejected("d", "unknownJuice").at(3))
        },
    ]

    private static let anchors = [
        Lines("moved back, repeats", from: lines) { $0 += [Line.anchored(0)] + again },
        Lines("moved back in part", from: lines) { $0 += [Line.anchored(2), again[2]] },
        Lines("moved back by nobody", "doubled", "doubled", "doubled", from: lines) { $0 += again },
        Lines("moved back, and made anew", "doubled: results 0@8: order \"c\"", from: lines) {
            $0 += [Line.anchored(2), Line.set("r", #""mango":9"#), Line.restocked("r", #""mango":9"#, 4), made("c", 6, 5).at(2)]
        },
        Lines("moved back after the window, and made anew", from: lines) {
            let late = Line.set("r", #""mango":9"#)
            $0 += [late, Line.restocked("r", #""mango":9"#, 4), "@9000 " + Line.order("d", "mango"), made("d", 6, 5)]
            $0 += [Line.anchored(2), made("c", 3, 6).at(2), Line.again(made("d", 6, 5)).at(3)]
        },
        Lines("moved back, and not read again", #"missing: orders 0@2: order "c""#, from: lines) {
            $0.append(Line.anchored(2))
        },
        Lines("moved back behind a command passed over", from: lines) {
            $0[4] = Line.anchored(1)
            $0[5] = made("b", 4, 2)
            $0[7] = made("c", 1, 3)
            $0.insert($0.remove(at: 4), at: 4)
        },
        Lines("moved on", from: lines) {
            $0[4] = Line.anchored(2)
            $0[7] = made("c", 4, 2)
            $0[8] = Line.stock(2, [10, 10, 10, 10, 4])
        },
        Lines("moved beyond the end", from: lines) { $0[7...8] = [Line.anchored(9)] },
        // The topic was made anew: what was answered of the former one is nowhere.
        Lines("moved to the beginning of another log", from: lines) {
            $0[1] = Line.order("x", "mango")
            $0[3] = Line.order("y", "mango")
            $0.remove(at: 6)
            $0[6] = made("c", 1, 3).at(2)
            $0 += [Line.anchored(0), Line.set("r", #""mango":10"#), Line.restocked("r", #""mango":10"#, 4)]
            $0 += [made("x", 7, 5).at(0), made("y", 4, 6).at(1)]
        },
        // One of the new commands is like the former at its place, but not the same.
        Lines("moved to the beginning of a similar log", from: lines) {
            $0[1] = Line.order("x", "mango")
            $0[3] = Line.order("b", "durian")
            $0 += [Line.anchored(0), made("x", -2, 4).at(0), Line.again(made("b", 4, 2)).at(1), Line.again(made("c", 1, 3)).at(2)]
            $0[$0.count - 3] = Line.short("x", "mango", "mango", 3, 1).at(0)
        },
        Lines("a wrong answer in a log that is read again", "wrong: results 0@3: order \"b\"", from: lines) {
            $0[4] = made("b", 5, 2)
            $0[7] = made("c", 2, 3)
            $0[8] = Line.stock(3, [10, 10, 10, 10, 2])
            $0 += [Line.anchored(1), Line.again(made("b", 5, 2)).at(1), Line.again(made("c", 2, 3)).at(2)]
        },
        Lines("another log, and no anchor", "answers orders 0@0", "answers orders 0@1", "0@2 is not there", from: lines) {
            $0[1] = Line.order("x", "mango")
            $0[3] = Line.order("y", "mango")
            $0.remove(at: 6)
            $0[6] = made("c", 1, 3).at(2)
        },
    ]

    private static let positions = [
        Lines("a position too low", "its position in orders/0 is 1, should be 2", from: lines) {
            $0[5] = Line.position(#""orders":1,"restocks":0"#)
        },
        Lines("a position too high", #"missing: orders 0@2: order "c""#, "doubled: results 0@5: orders 0@2", from: lines) {
            $0[5] = Line.position(#""orders":3,"restocks":0"#)
        },
        Lines("a position behind markers", from: lines) {
            $0.insert("- orders", at: 5)
            $0[6] = Line.position(#""orders":3,"restocks":0"#)
        },
        Lines("a position that is left out", "it does not say the position in orders/0, which is 2", from: lines) {
            $0[5] = Line.position(#""restocks":0"#)
        },
        Lines("no stock", "it does not say where the stock ends", from: lines) {
            $0[5] = $0[5].replacing(#""stock":0,"#, with: "")
        },
        Lines("another claim", "its writer claimed at 1, and is not the owner, who did at 0", from: lines) {
            $0[5] = Line.position(#""orders":2,"restocks":0"#, claim: 1)
        },
        Lines("another owner's ids", "its writer claimed at 0, and is not the owner", from: lines) {
            $0[5] = Line.position(#""orders":2,"restocks":0"#, ids: Line.ids("till-2"))
        },
        Lines("no ids", "it does not name its owner's claim", from: lines) {
            $0[5] = Line.position(#""orders":2,"restocks":0"#, ids: "[]")
        },
        Lines("forwards that nobody made", "its forwarded is", from: lines) {
            $0[5] = Line.position(#""orders":2,"restocks":0"#, #","forwarded":{"orders/3":4}"#)
        },
        // The group said how far the input was read.
        Lines("a first position", from: lines) {
            $0[0...5] = [Line.order("a", "mango"), Line.order("b", "mango"), Line.position(#""orders":2,"restocks":0"#)]
            $0[4...] = [made("c", 7, 1)]
        },
    ]

    private static let claims = [
        Lines("a new owner", from: lines) {
            $0[5] = "n " + Line.claim("till-2", since: 4)
            $0.insert(Line.position(#""orders":2,"restocks":0"#, claim: 4, ids: Line.ids("till-2")), at: 6)
        },
        Lines("a former owner writes on", "its writer claimed at 0, and is not the owner, who did at 4", from: lines) {
            $0.insert("n " + Line.claim("till-2", since: 4), at: 5)
        },
        // Whoever finds another claim in between writes nothing and claims again.
        Lines("a claim between reading and claiming", from: lines) {
            $0.insert("n " + Line.claim("till-2", since: 4), at: 5)
            $0.insert("n " + Line.claim("till-3", since: 4), at: 6)
            $0[7] = Line.position(#""orders":2,"restocks":0"#, claim: 4, ids: Line.ids("till-2"))
        },
        Lines("who should have claimed again", "its writer claimed at 5, and is not the owner, who did at 4", from: lines) {
            $0.insert("n " + Line.claim("till-2", since: 4), at: 5)
            $0.insert("n " + Line.claim("till-3", since: 4), at: 6)
            $0[7] = Line.position(#""orders":2,"restocks":0"#, claim: 5, ids: Line.ids("till-3"))
        },
        Lines("who has claimed again", from: lines) {
            $0.insert("n " + Line.claim("till-2", since: 4), at: 5)
            $0.insert("n " + Line.claim("till-3", since: 4), at: 6)
            $0.insert("n " + Line.claim("till-3", since: 6), at: 7)
            $0[8] = Line.position(#""orders":2,"restocks":0"#, claim: 6, ids: Line.ids("till-3"))
        },
        Lines("the same owner again", from: lines) {
            $0.insert("n " + Line.claim("till-1", set: 1, since: 3), at: 5)
            $0[6] = Line.position(#""orders":2,"restocks":0"#, claim: 4, ids: Line.ids("till-1", set: 1))
        },
        Lines("a since after the claim", "the claim's since is 9, after the claim itself", from: lines) {
            $0.append("n " + Line.claim("till-2", since: 9))
        },
        Lines("another number of partitions", "stores live in 8 partitions, of 1", from: lines) {
            $0.append("n " + Line.claim("till-2", since: 5).replacing(#""partitions":1"#, with: #""partitions":8"#))
        },
        Lines("a claim of nobody", "the claim does not say whose it is", from: lines) {
            $0.append(#"n {"type":"claim","since":0}"#)
        },
    ]

    private static let notes = [
        Lines("an unknown note", from: lines) { $0.append(#"n {"type":"weather","sky":"blue"}"#) },
        Lines("an unknown note of a record", from: lines) {
            $0[4] = #"n {"type":"skipped","topic":"orders","offset":1,"why":"?"}"#
            $0[7] = made("c", 4, 2)
            $0[8] = Line.stock(2, [10, 10, 10, 10, 4])
        },
        Lines("a note of no place", "the note is of no place that is journalled here", from: lines) {
            $0.append(#"n {"type":"copy","topic":"orders"}"#)
        },
        Lines("a note of no partition", "the note is of no place that is journalled here", from: lines) {
            $0.append(#"n {"type":"copy","topic":"orders","partition":-1,"offset":9}"#)
        },
        Lines("a note of no offset", "the note is of no place that is journalled here", from: lines) {
            $0.append(#"n {"type":"copy","topic":"orders","partition":0,"offset":9223372036854775807}"#)
        },
        Lines("an answer of no offset", "it does not begin like an answer", from: lines) {
            $0.append(Line.rejected("d", "unknownJuice").at(.max))
        },
        Lines("a note of another topic", "the note is of no place that is journalled here", from: lines) {
            $0.append(#"n {"type":"anchored","topic":"stock","offset":0,"by":"x"}"#)
        },
        Lines("a note of a store", "it does not begin like an answer", from: lines) {
            $0.append(#"n {"type":"copy","store":"g"}"#)
        },
        Lines("no object", "it is not a JSON object", from: lines) { $0.append("n []") },
    ]

    @Test func nobodyHasClaimed() {
        var topics = Conversation(Self.lines.filter { !$0.hasPrefix("n") }).topics
        topics[.results, 0, 0] = nil
        expect(Audit(of: topics, by: Conversation.rules).faults.map(\.problem), ["nobody has claimed the partition"])
    }

    @Test func aNoteHasNeitherKeyNorHeaders() {
        for (key, headers) in [([UInt8]("g".utf8), []), (nil, [Story.own])] as [([UInt8]?, [AuditHeader])] {
            var topics = Story.topics
            topics[.results, 0, 8] = topics[.results, 0, 8]?.with(key: key, headers: headers)
            expect(Audit(of: topics, by: Story.rules).faults.map(\.description), ["results 0@8: the note has a key or headers"])
        }
    }

    @Test func ownersAreTold() {
        let lines = [
            "n " + Line.claim("till-1", set: 1, since: 0), "n " + Line.claim("till-2", since: 2, group: "a/b"),
            "n " + Line.claim("till-1", since: 3),
        ]
        let (first, second, third) = (0, 2, 3)
        func moment(_ offset: Int) -> AuditMoment {
            AuditMoment(partition: 0, offset: Int64(offset), timestamp: 1_000 + Int64(offset))
        }
        #expect(
            Conversation(lines).audit.owners == [
                AuditOwner(group: "juice-maker", instance: "till-1", from: moment(first), to: moment(second)),
                AuditOwner(group: "a/b", instance: "till-2", from: moment(second), to: moment(third)),
                AuditOwner(group: "juice-maker", instance: "till-1", from: moment(third), to: nil),
            ])
    }

    @Test func anchorsAreTold() {
        let audit = Conversation([
            Line.order("a", "mango"), Line.order("b", "mango"), Line.anchored(1), Line.anchored(9),
            Line.anchored(2),
        ])
        .audit
        #expect(audit.faults.isEmpty)
        #expect(audit.counts.skipped == 2)
        #expect(audit.anchors.map(\.from) == [nil, 1, 9])
        #expect(audit.anchors.map(\.to) == [1, 9, 2])
        #expect(audit.anchors.map(\.skipped) == [1, 1, 0])
        #expect(audit.anchors.allSatisfy { $0.by == "root@host" && $0.reason == "a test" && $0.topic == .orders })
    }

    @Test func whatThePositionPassesOverIsCounted() {
        let lines = [Line.order("a", "mango"), Line.order("b", "mango"), Line.position(#""orders":2,"restocks":0"#)]
        #expect(Conversation(lines).audit.counts.skipped == 2)
    }

    /// Partition 2 of the orders was added later. Its journal is that of partition 0.
    @Test(
        arguments: [
            Change("added") { _ in },
            Change("not journalled", "missing: orders 2@0: a command of partition 1 is not in the journal") {
                $0[.results, 0, 12] = nil
            },
            Change(
                "journalled elsewhere",
                "missing: orders 2@0",
                "results 1@7: the note is of no place that is journalled here"
            ) {
                ($0[.results, 1, 7], $0[.results, 0, 12]) = ($0[.results, 0, 12], nil)
            },
            Change("its position", "its position in orders/2 is 0, should be 1") {
                $0.replace(.results, 0, 13, "/2\":1", "/2\":0")
            },
            Change("its position left out", "it does not say the position in orders/2, which is 1") {
                $0.replace(.results, 0, 13, #""added":{"orders/2":1},"#, "")
            },
            Change("answered there", "wrong: results 2@0: no store lives in this partition") {
                $0.results.append([Story.note(0, "{}")])
            },
        ]
    )
    func addedPartitionsAreJournalled(change: Change) {
        var topics = Story.topics
        let order = Story.record(0, Story.second, #"{"orderId":"o9","juice":"durian"}"#)
        topics.orders.append([order])
        topics[.orders, 1, 9] = order.with(headers: [Story.forwarded(from: "2/0")])
        topics[.results, 0, 12] = Story.note(12, #"{"type":"forwarded","topic":"orders","partition":2,"offset":0,"to":1}"#)
        topics[.results, 0, 13] = Story.note(13, Story.position(7, 3, #","added":{"orders/2":1},"forwarded":{"orders/1":0}"#))
        let answer = Story.rejected("orderId", "o9", 9, "unknownJuice").replacing(Story.first, with: Story.second)
        topics[.results, 1, 6] = Story.record(6, Story.second, answer.replacing(#""offset":9"#, with: #""offset":9,"from":"2/0""#))
        change.change(&topics)
        expect(Audit(of: topics, by: Story.rules).faults.map(\.description), change.expected)
    }
}

extension String {
    /// The answer of a line, to the command at an offset.
    fileprivate func at(_ offset: Int) -> String {
        replacing(#""store":"g""#, with: #""store":"g","offset":\#(offset)"#)
    }
}
