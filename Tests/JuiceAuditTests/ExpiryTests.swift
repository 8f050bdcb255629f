import Synchronization
import Testing

@testable import JuiceAudit

/// Topics whose beginning has expired, and whose latest commands are not answered yet.
@Suite struct ExpiryTests {
    typealias Line = Conversation

    /// Topics without their first records, read a few at a time.
    final class Source: AuditSource {
        private let topics: AuditTopics
        private let first: [AuditTopic: Int64]
        private let settled: Int64
        private let read = Mutex<[AuditTopic: Int]>([:])

        init(_ topics: AuditTopics, first: [AuditTopic: Int64] = [:], settled: Int64 = .max) {
            (self.topics, self.first, self.settled) = (topics, first, settled)
        }

        func partitionCount(of topic: AuditTopic) -> Int { 1 }

        func bounds(of topic: AuditTopic, partition: Int) -> AuditBounds {
            AuditBounds(first: first[topic] ?? 0, settled: settled)
        }

        func nextRecords(of topic: AuditTopic, partition: Int) -> [AuditRecord] {
            let kept = topics[topic][0].filter { $0.offset >= first[topic] ?? 0 }
            let start = read.withLock { $0[topic, default: 0] }
            let records = kept.dropFirst(start).prefix(3)
            read.withLock { $0[topic] = start + records.count }
            return Array(records)
        }

        func record(of topic: AuditTopic, partition: Int, offset: Int64) -> AuditRecord? { nil }

        func audit() throws -> Audit {
            let session = AuditSession(self, by: Conversation.rules)
            try session.audit(0)
            return try session.finish()
        }
    }

    /// Twenty orders, then a repeat and the cancel of an old one.
    private static let lines: [String] = {
        var lines = [Line.set("r", #""kiwi":1000"#), Line.restocked("r", #""kiwi":1000"#, 1)]
        for number in 1...20 {
            let left = 1000 - 3 * number
            lines += [
                Line.order("o\(number)", "kiwi"),
                Line.made("o\(number)", "kiwi", #""kiwi":3"#, #""kiwi":\#(left)"#, number + 1),
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
            [.results: 12], [.orders: 12], [.orders: 5, .results: 12], [.orders: 12, .results: 5],
            [.results: 23], [.results: 24], [.orders: 22, .restocks: 1, .results: 6],
        ] as [[AuditTopic: Int64]]
    )
    func whatHasExpiredIsNoFault(first: [AuditTopic: Int64]) throws {
        let audit = try Source(Conversation(Self.lines).topics, first: first).audit()
        #expect(audit.faults.map(\.description) == [])
        #expect(audit.counts.unjudged > 0)
        #expect(audit.starts.count <= 1)
    }

    @Test func whatFollowsIsJudged() throws {
        var lines = Self.lines
        let place = lines.count - 8
        lines[place] = lines[place].replacing(#""kiwi":940"#, with: #""kiwi":941"#)
        let audit = try Source(Conversation(lines).topics, first: [.results: 12]).audit()
        #expect(audit.faults.map(\.description).count == 1)
        #expect(audit.faults.first?.problem.contains("its left of \"kiwi\" is 941, should be 940") == true)
        #expect(audit.starts == [AuditStart(partition: 0, offset: 12, timestamp: 1_026)])
    }

    @Test func theLatestCommandsMayBeUnanswered() throws {
        let open = Self.lines + [Line.order("x", "kiwi"), Line.order("y", "kiwi")]
        let topics = Conversation(open).topics
        let audit = try Source(topics, settled: 23).audit()
        #expect(audit.faults.map(\.description) == [])
        #expect(audit.counts.open == 2)
        let settled = try Source(topics, settled: 24).audit()
        #expect(
            settled.faults.map(\.description) == [
                #"missing: orders 0@23: order "x" of store "g" has no answer"#
            ]
        )
    }

    @Test func theLatestStockMayNotBeWritten() throws {
        let lines = Self.lines.dropLast() + [Line.stock(21, [10, 10, 10, 940, 10])]
        let topics = Conversation(Array(lines)).topics
        #expect(try Source(topics, settled: 21).audit().faults.map(\.description) == [])
        #expect(try Source(topics, settled: 22).audit().faults.count == 1)
    }
}
