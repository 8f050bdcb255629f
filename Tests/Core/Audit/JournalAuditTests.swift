import JuiceDomain
import JuiceMessages
import Testing

@testable import JuiceAudit
@testable import simulate

/// The places that the journal names, its notes, and its owners.
@Suite struct JournalTests {
    /// Three orders that are made, and two position notes.
    private static let lines = [
        Line.position(0, 0),
        Line.order("a", "mango"), Line.mango("a", left: 7, 1),
        Line.order("b", "mango"), Line.mango("b", left: 4, 2),
        Line.position(2, 0),
        Line.order("c", "mango"), Line.mango("c", left: 1, 3),
        Line.stock(3, [10, 10, 10, 10, 1]),
    ]

    private static let again = [Line.mango("a", left: 7, 1), Line.mango("b", left: 4, 2), Line.mango("c", left: 1, 3)]
        .enumerated().map { Line.again($1).at($0) }

    @Test(arguments: places + anchors + claims)
    func theJournalIsJudged(change: Case) throws { try change.check() }

    /// The lines with some replaced, or removed if nil, and others added at the end.
    private static func change(
        _ name: String, _ changed: [Int: String?], adding added: [String] = [], _ expected: String...
    ) -> Case {
        let changed = lines.enumerated().compactMap { line, value in changed[line, default: value] } + added
        return Case(changed, name, expected)
    }

    private static func adding(_ added: String..., expected: String...) -> Case { Case(lines + added, "\(added)", expected) }

    /// Lines in place of the second position note.
    private static func noting(_ notes: String..., expected: String...) -> Case {
        Case(lines[..<5] + notes + lines[6...], "\(notes)", expected)
    }

    private static let anchors = [
        change(
            "moved back, and recreated", [:],
            adding: [
                Line.anchored(2), Line.set("r", "mango 9"), Line.restocked("r", "mango 9", 4),
                Line.mango("c", left: 6, 5).at(2),
            ],
            #"doubled: results 0@8: order "c""#),
        change(
            "moved back after the window, and recreated", [:],
            adding: [
                Line.set("r", "mango 9"), Line.restocked("r", "mango 9", 4), "@9000 " + Line.order("d", "mango"),
                Line.mango("d", left: 6, 5), "- results", Line.anchored(2), Line.mango("c", left: 3, 6).at(2),
                Line.again(Line.mango("d", left: 6, 5)).at(3),
            ]),
        adding(Line.anchored(2), expected: #"missing: orders 0@2: order "c""#),
        change(
            "moved back behind a command passed over",
            [4: Line.anchored(1), 5: Line.mango("b", left: 4, 2), 7: Line.mango("c", left: 1, 3)]),
        change("moved on", [4: Line.anchored(2), 7: Line.mango("c", left: 4, 2), 8: Line.stock(2, [10, 10, 10, 10, 4])]),
        change("moved beyond the end", [7: Line.anchored(9), 8: nil]),
        // The topic was recreated, so the commands that were answered before are gone.
        change(
            "moved to the beginning of another log", otherLog,
            adding: [
                Line.anchored(0), Line.set("r", "mango 10"), Line.restocked("r", "mango 10", 4),
                Line.mango("x", left: 7, 5).at(0), Line.mango("y", left: 4, 6).at(1),
            ]),
        // One of the new commands has the id of the former one at its offset, but is not the same.
        change(
            "moved to the beginning of a similar log", [1: Line.order("x", "mango"), 3: Line.order("b", "durian")],
            adding: [Line.anchored(0), Line.short("x", "mango", "mango", 3, 1).at(0), again[1], again[2]]),
        change(
            "a wrong answer in a log that is read again",
            [4: Line.mango("b", left: 5, 2), 7: Line.mango("c", left: 2, 3), 8: Line.stock(3, [10, 10, 10, 10, 2])],
            adding: [
                Line.anchored(1), Line.again(Line.mango("b", left: 5, 2)).at(1), Line.again(Line.mango("c", left: 2, 3)).at(2),
            ],
            #"wrong: results 0@3: order "b""#),
    ]

    private static let otherLog = [
        1: Line.order("x", "mango"), 3: Line.order("y", "mango"), 6: nil, 7: Line.mango("c", left: 1, 3).at(2),
    ]

    private static let places = [
        change("right", [:]), change("without positions and stock", [0: nil, 5: nil, 8: nil]),
        adding(Line.note("copy", .max), expected: "wrong: results 0@6: \(noPlace)"),
        noting(Line.position(1, 0), expected: #"wrong: results 0@4: it has "orders":1, should be "orders":2"#),
        noting(Line.position(3, 0), expected: #"missing: orders 0@2: order "c""#, "doubled: results 0@5: orders 0@2"),
        noting(Line.position(2, 0, claim: 1), expected: #"wrong: results 0@4: it has "claim":1, should be "claim":0"#),
        noting(Line.position(2, 0, ids: Line.ids("till-2")), expected: #"it has "ids":["juice-maker/till-2"#),
        noting(Line.position(2, 0, #","forwarded":{"orders/3":4}"#), expected: #"it has "forwarded":{"orders/3":4}"#),
        noting("- orders", Line.position(3, 0)),
    ]

    private static let claims = [
        noting(Line.claim("till-2", since: 4), Line.position(2, 0, claim: 4, ids: Line.ids("till-2"))),
        noting(
            Line.claim("till-2", since: 4), Line.position(2, 0),
            expected: #"it has "claim":0,"ids":["juice-maker/till-1"#),
        // A worker that finds another claim in between writes nothing, and claims again.
        noting(
            Line.claim("till-2", since: 4), Line.claim("till-3", since: 4), Line.position(2, 0, claim: 4, ids: Line.ids("till-2"))),
        noting(
            Line.claim("till-2", since: 4), Line.claim("till-3", since: 4), Line.position(2, 0, claim: 5, ids: Line.ids("till-3")),
            expected: #"it has "claim":5"#),
        noting(
            Line.claim("till-2", since: 4), Line.claim("till-3", since: 4),
            Line.claim("till-3", since: 6, fenced: Line.ids("till-2")), Line.position(2, 0, claim: 6, ids: Line.ids("till-3"))),
        noting(Line.claim("till-1", set: 1, since: 3), Line.position(2, 0, claim: 4, ids: Line.ids("till-1", set: 1))),
        // The claim was in flight while the journal was recreated. Its writer has fenced an owner of the old journal.
        noting(Line.claim("till-2", since: 4, fenced: Line.ids("till-3")), Line.position(2, 0)),
        noting(
            Line.claim("till-2", since: 4, fenced: Line.ids("till-3")), Line.claim("till-3", since: 5),
            Line.position(2, 0, claim: 5, ids: Line.ids("till-3"))),
        adding(Line.claim("till-2", since: 9), expected: "wrong: results 0@6: the claim's since is 9, after the claim itself"),
        adding(Line.claim("till-2", since: 5, partitions: 8), expected: "wrong: results 0@6: the claim's count of partitions is 8"),
    ]

    private static let noPlace = "it is about no place that is journalled here"

    @Test func aJournalMayLackAClaim() throws {
        var topics = AuditTopics(Self.lines.filter { !$0.hasPrefix(#"{"type":"position""#) })
        topics["results 0@0"] = nil
        expect(try Audit(of: topics, by: Line.rules), ["the partition has no claim"])
    }

    @Test(arguments: [([UInt8]("m".utf8), []), (nil, [Story.own])] as [([UInt8]?, [MessageHeader])])
    func aNoteHasNeitherKeyNorHeaders(key: [UInt8]?, headers: [MessageHeader]) throws {
        try Case("a note", "results 0@8: the note has a key or headers") {
            $0["results 0@8"] = $0["results 0@8"]?.with(key: .some(key), headers: headers)
        }.check()
    }

    @Test func ownersAreReported() throws {
        let claims = [
            Line.claim("till-1", set: 1, since: 0),
            Line.claim("till-2", since: 2, fenced: Line.ids("till-1", set: 1), group: "a/b"),
            Line.claim("till-1", since: 3, fenced: Line.ids("till-2", "a/b")),
        ]
        let (first, second, third) = (0, 2, 3)
        func moment(_ offset: Int) -> AuditMoment {
            AuditMoment(partition: 0, offset: Int64(offset), timestamp: 1_000 + Int64(offset))
        }
        #expect(
            try Audit(claims).owners == [
                AuditOwner(group: "juice-maker", instance: "till-1", from: moment(first), to: moment(second)),
                AuditOwner(group: "a/b", instance: "till-2", from: moment(second), to: moment(third)),
                AuditOwner(group: "juice-maker", instance: "till-1", from: moment(third), to: nil),
            ])
    }

    @Test func anchorsAreReported() throws {
        let lines = [
            Line.order("a", "mango"), Line.order("b", "mango"), Line.anchored(1), Line.anchored(9), Line.anchored(2),
        ]
        let audit = try Audit(lines)
        expect(audit, [])
        #expect(audit.counts.skipped == 2)
        #expect(audit.anchors.map(\.from) == [nil, 1, 9])
        #expect(audit.anchors.map(\.to) == [1, 9, 2])
        #expect(audit.anchors.map(\.skipped) == [1, 1, 0])
        #expect(audit.anchors.allSatisfy { $0.by == "root@host" && $0.reason == "a test" && $0.topic == "orders" })
    }

    /// The group's committed offset said how far the input had been read.
    @Test func theFirstPositionMaySkipCommands() throws {
        let lines = [
            Line.order("a", "mango"), Line.order("b", "mango"), Line.position(2, 0), Line.order("c", "mango"),
            Line.mango("c", left: 7, 1),
        ]
        let audit = try Audit(lines)
        expect(audit, [])
        #expect(audit.counts.skipped == 2)
    }

    /// Partition 2 of the orders was added later. Its journal is that of partition 0.
    @Test(arguments: [
        added("added") { _ in },
        added("not journalled", "missing: orders 2@0: a command of partition 1 is not in the journal") { $0["results 0@12"] = nil },
        added("journalled elsewhere", "missing: orders 2@0", "results 1@7: \(noPlace)") {
            ($0["results 1@7"], $0["results 0@12"]) = ($0["results 0@12"], nil)
        },
        added("its position", #"it has "added":{"orders/2":0}"#) { $0.replace("results 0@13", #"/2":1"#, #"/2":0"#) },
        added("answered there", "wrong: results 2@0: no store lives in this partition") {
            $0[.results].append([AuditRecord(offset: 0, timestamp: 1_000, key: nil, value: Array("{}".utf8))])
        },
    ])
    func addedPartitionsAreJournalled(change: Case) throws { try change.check() }

    private static func added(_ name: String, _ expected: String..., change: (inout AuditTopics) -> Void) -> Case {
        var topics = Story.topics
        topics[.orders].append([])
        topics.add("orders 2@0", Line.order("o9", "durian"), key: Story.second)
        topics["orders 1@9"] = topics["orders 2@0"]?.with(headers: [Story.forwarded(from: "2/0")])
        topics.add("results 0@12", Line.note("forwarded", 0, #","partition":2,"to":1"#))
        topics.add("results 0@13", Line.position(7, 3, #","added":{"orders/2":1},"forwarded":{"orders/1":0}"#))
        topics.add("results 1@6", Line.rejected("o9", "unknownJuice").at(9, from: "2/0", store: Story.second))
        change(&topics)
        return Case(name, expected, topics)
    }
}
