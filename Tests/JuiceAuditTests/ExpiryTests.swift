import Testing

@testable import JuiceAudit

/// Topics whose beginning has expired, and whose latest commands are not handled yet.
@Suite struct ExpiryTests {
    /// Topics without their first records, read a few at a time.
    struct Source: AuditSource {
        let topics: AuditTopics
        let first: [AuditTopic: Int64]

        func partitionCount(of topic: AuditTopic) -> Int { topics[topic].count }

        func firstOffset(of topic: AuditTopic, partition: Int) -> Int64 { first[topic] ?? 0 }

        func records(of topic: AuditTopic, partition: Int, from offset: Int64) -> [AuditRecord] {
            Array(topics[topic][partition].filter { $0.offset >= max(offset, first[topic] ?? 0) }.prefix(3))
        }
    }

    private func audit(_ lines: [String], _ first: [AuditTopic: Int64] = [:], allowsOpen: Bool = false) throws -> Audit {
        var rules = Conversation.rules
        rules.allowsOpen = allowsOpen
        let session = AuditSession(Source(topics: Conversation(lines).topics, first: first), by: rules)
        try session.audit(0)
        return try session.finish()
    }

    /// A restock and twenty orders, then a repeat and the cancel of an old one. The journal has position notes at 1 and 13.
    private static let lines: [String] = {
        var lines = [
            Line.position(#""orders":0,"restocks":0"#), Line.set("r", #""kiwi":1000"#), Line.restocked("r", #""kiwi":1000"#, 1),
        ]
        for number in 1...20 {
            if number == 11 { lines.append(Line.position(#""orders":10,"restocks":1"#)) }
            let left = 1000 - 3 * number
            lines += [
                Line.order("o\(number)", "kiwi"), Line.made("o\(number)", "kiwi", #""kiwi":3"#, #""kiwi":\#(left)"#, number + 1),
            ]
        }
        let first = Line.made("o1", "kiwi", #""kiwi":3"#, #""kiwi":997"#, 2)
        return lines + [
            Line.order("o1", "kiwi"), Line.again(first),
            Line.cancel("o2"), Line.cancelled("o2", #""kiwi":3"#, #""kiwi":943"#, 22),
            Line.order("o2", "kiwi"), Line.rejected("o2", "cancelled"),
            Line.stock(22, [10, 10, 10, 943, 10]),
        ]
    }()

    @Test(
        arguments: [
            [.results: 10], [.results: 13], [.results: 14], [.orders: 12], [.orders: 5, .results: 13], [.orders: 15, .results: 5],
            [.results: 25], [.results: 26], [.orders: 22, .restocks: 1, .results: 6],
        ] as [[AuditTopic: Int64]]
    )
    func whatHasExpiredIsNoFault(first: [AuditTopic: Int64]) throws {
        let audit = try audit(Self.lines, first)
        #expect(audit.faults.map(\.description) == [])
        #expect(audit.counts.unjudged > 0 || first[.results] == 26)
        #expect(audit.starts.map(\.offset) == (first[.results].map { [$0] } ?? []))
        // The first owner is known from the next position note.
        let owner = AuditOwner(
            group: "juice-maker", instance: "till-1",
            from: AuditMoment(
                partition: 0, offset: first[.results] == nil ? 0 : 13, timestamp: first[.results] == nil ? 1_000 : 1_024))
        #expect(audit.owners == (first[.results] ?? 0 > 13 ? [] : [owner]))
    }

    @Test(
        arguments: [
            Lines("a wrong level", #""left":{"kiwi":941}"#, "wrong: results 0@25", from: lines) {
                $0[$0.count - 8] = $0[$0.count - 8].replacing(#""kiwi":940"#, with: #""kiwi":941"#)
            },
            Lines("a missing answer", "missing: orders 0@18", "wrong: results 0@22", from: lines) {
                $0.remove(at: $0.count - 10)
            },
            Lines("a doubled answer", "doubled: results 0@23", from: lines) {
                $0.insert($0[$0.count - 10], at: $0.count - 9)
            },
            Lines("a wrong duplicate", "is answered otherwise", from: lines) {
                $0[$0.count - 7] = Line.order("o15", "kiwi")
                $0[$0.count - 6] = Line.again(Line.made("o15", "kiwi", #""kiwi":3"#, #""kiwi":1"#, 16))
            },
            Lines("a wrong position", "its position in orders/0 is 9, should be 10", from: lines) {
                $0[23] = $0[23].replacing(#""orders":10"#, with: #""orders":9"#)
            },
            Lines("wrong stock", "wrong: stock 0@0", from: lines) {
                $0[$0.count - 1] = Line.stock(23, [10, 10, 10, 943, 10])
            },
        ]
    )
    func whatFollowsIsJudged(change: Lines) throws {
        expect(try audit(change.lines, [.results: 12]).faults.map(\.description), change.expected)
    }

    @Test func theLatestCommandsMayBeUnanswered() throws {
        let open = Self.lines + [Line.order("x", "kiwi"), Line.order("y", "kiwi")]
        let audit = try audit(open, allowsOpen: true)
        #expect(audit.faults.map(\.description) == [])
        #expect(audit.counts.open == 2)
        expect(try self.audit(open).faults.map(\.description), ["orders 0@23: order \"x\"", "orders 0@24: order \"y\""])
    }

    /// A forwarded copy or a dead letter may have expired before the note of it.
    @Test func whatWasHandedOnMayHaveExpired() throws {
        for (topic, problem) in [
            (AuditTopic.orders, "partition 0, which has no such copy"), (.deadLetters, "no such dead letter"),
        ] {
            var topics = Story.topics
            for partition in 0..<2 where topic == .deadLetters { topics[.deadLetters, partition, 0] = nil }
            topics[.orders, 0, 4] = topic == .orders ? nil : topics[.orders, 0, 4]
            topics[.deadLetters, 0, 9] = Story.record(9, nil, nil, [AuditHeader("juice.resent.letter", nil)]).with(timestamp: 9_000)
            for first in [[topic: Int64(5)], [:]] {
                let session = AuditSession(Source(topics: topics, first: first), by: Story.rules)
                for partition in 0..<2 { try session.audit(partition) }
                let faults = try session.finish().faults.map(\.description)
                #expect(faults.contains { $0.contains(problem) } == first.isEmpty, "\(faults)")
            }
        }
    }

    @Test func theClaimsTellTheNumberOfPartitions() throws {
        var topics = Story.topics
        topics.stock.append([])
        #expect(try AuditSession.storePartitionCount(of: Source(topics: topics, first: [:])) == 2)
        #expect(try AuditSession.storePartitionCount(of: Source(topics: topics, first: [.results: 3])) == 3)
    }
}
