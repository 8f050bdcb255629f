import JuiceDomain
import JuiceMessages
import Testing

@testable import JuiceAudit
@testable import simulate

/// Topics whose beginning has expired, and whose latest commands are not handled yet.
@Suite struct ExpiryTests {
    /// Topics without their first records, read a few at a time. Others become unreadable just before the audit reads them: they
    /// expire, or their batch is damaged.
    private struct Source: AuditSource {
        let topics: AuditTopics
        let gaps: [Topic: AuditGap]

        init(_ topics: AuditTopics, without first: [Topic: Int64] = [:], gaps: [Topic: AuditGap] = [:]) {
            let starts = first.map { topic, offset in (topic, topics[topic].map { _ in offset }) }
            self.topics = topics.starting(at: Dictionary(uniqueKeysWithValues: starts))
            self.gaps = gaps
        }

        func partitionCount(of topic: Topic) -> Int32 { topics.partitionCount(of: topic) }

        func firstOffset(of topic: Topic, partition: Int32) -> Int64 { topics.firstOffset(of: topic, partition: partition) }

        func reader(of topic: Topic, partition: Int32, from offset: Int64) -> (any AuditReader)? {
            let records = topics.records(of: topic, partition: partition, from: offset)
            guard let gap = gaps[topic] else { return MemoryReader(records, most: 3) }
            return FailingReader(records, gap)
        }
    }

    private final class FailingReader: AuditReader {
        private var rest: ArraySlice<AuditRecord>
        private let gap: AuditGap
        private(set) var gaps: [AuditGap] = []

        init(_ records: ArraySlice<AuditRecord>, _ gap: AuditGap) { (rest, self.gap) = (records, gap) }

        func next() -> [AuditRecord] {
            var records = rest.prefix(3)
            if records.contains(where: { gap.offsets.contains($0.offset) }) {
                gaps = [gap]
                records = records.prefix { $0.offset < gap.offsets.lowerBound }
                if records.isEmpty {
                    rest = rest.drop { $0.offset < gap.offsets.upperBound }
                    records = rest.prefix(3)
                }
            }
            rest = rest.dropFirst(records.count)
            return Array(records)
        }
    }

    private func audit(_ lines: [String], without first: [Topic: Int64] = [:], allowsOpen: Bool = false) throws -> Audit {
        var rules = Line.rules
        rules.allowsOpen = allowsOpen
        return try Audit(of: Source(AuditTopics(lines).completed(), without: first), by: rules)
    }

    /// A restock and twenty orders, then a repeat and the cancel of an old one. The journal has position notes at 1 and 13.
    private static let lines: [String] = {
        var lines = [
            Line.position(0, 0), Line.set("r", "kiwi 1000"), Line.restocked("r", "kiwi 1000", 1),
        ]
        for number in 1...20 {
            if number == 11 { lines.append(Line.position(10, 1)) }
            let left = 1000 - 3 * number
            lines += [
                Line.order("o\(number)", "kiwi"), Line.made("o\(number)", "kiwi", "kiwi 3", "kiwi \(left)", number + 1),
            ]
        }
        let first = Line.made("o1", "kiwi", "kiwi 3", "kiwi 997", 2)
        return lines + [
            Line.order("o1", "kiwi"), Line.again(first),
            Line.cancel("o2"), Line.cancelled("o2", "kiwi 3", "kiwi 943", 22),
            Line.order("o2", "kiwi"), Line.rejected("o2", "cancelled"),
            Line.stock(22, [10, 10, 10, 943, 10]),
        ]
    }()

    @Test(
        arguments: [
            [.results: 10], [.results: 13], [.results: 14], [.orders: 12], [.orders: 5, .results: 13], [.orders: 15, .results: 5],
            [.results: 25], [.results: 26], [.orders: 22, .restocks: 1, .results: 6],
        ] as [[Topic: Int64]]
    )
    func expiredRecordsAreNoFault(first: [Topic: Int64]) throws {
        let audit = try audit(Self.lines, without: first)
        expect(audit, [])
        #expect(audit.counts.unjudged > 0 || first[.results] == 26)
        #expect(audit.starts.map(\.offset) == (first[.results].map { [$0] } ?? []))
        // The first owner is known from the next position note.
        let owner = AuditOwner(
            group: "juice-maker", instance: "till-1",
            from: AuditMoment(
                partition: 0, offset: first[.results] == nil ? 0 : 13, timestamp: first[.results] == nil ? 1_000 : 1_024))
        #expect(audit.owners == (first[.results] ?? 0 > 13 ? [] : [owner]))
    }

    /// The senders' clocks were ahead of the clock that wrote the first remaining claim.
    @Test func acceptsRepeatsOfExpiredAnswersDespiteClockSkew() throws {
        let made = Line.made("a", "kiwi", "kiwi 3", "kiwi 7", 1)
        let lines = [
            "@9000000 " + Line.order("a", "kiwi"), made, "@1000 " + Line.claim("till-2", since: 2),
            "@9000100 " + Line.order("a", "kiwi"), Line.again(made), Line.stock(1, [10, 10, 10, 7, 10]),
        ]
        expect(try audit(lines, without: [.results: 2]), [])
    }

    @Test(
        arguments: [
            [.results: 0..<10], [.results: 5..<10], [.results: 8..<14], [.results: 1..<26], [.orders: 3..<9],
            [.orders: 0..<23], [.orders: 5..<8, .results: 12..<20], [.restocks: 0..<1], [.results: 20..<30], [.stock: 0..<1],
        ] as [[Topic: Range<Int64>]], [nil, "failed CRC32C check"])
    func reportsOnlyDamageOfUnreadableRanges(ranges: [Topic: Range<Int64>], problem: String?) throws {
        let topics = AuditTopics(Self.lines).completed()
        let audit = try Audit(of: Source(topics, gaps: ranges.mapValues { AuditGap($0, problem) }), by: Line.rules)
        let named = ranges.sorted { $0.key.name < $1.key.name }.map { "wrong: \($0.key.name) 0@\($0.value.lowerBound)" }
        expect(audit, problem == nil ? [] : named)
        if ranges[.results] == 5..<10 { #expect(audit.starts.map(\.offset) == [10]) }

        // The records around it are judged, and it is a fault if the same records are missing for another reason.
        var lacking = topics
        for (topic, range) in ranges { lacking[topic][0].removeAll { range.contains($0.offset) } }
        let silent = try Audit(of: Source(lacking), by: Line.rules)
        #expect(!silent.faults.isEmpty || ranges[.stock] != nil)
    }

    @Test(
        arguments: [
            (43, #""kiwi":940"#, #""kiwi":941"#, [#"wrong: results 0@23: order "o20""#, "wrong: results 0@25"]),
            (23, #""orders":10"#, #""orders":9"#, [#"wrong: results 0@13: it has "orders":9, should be "orders":10"#]),
            (50, #""revision":22"#, #""revision":23"#, ["wrong: stock 0@0"]),
        ] as [(Int, String, String, [String])])
    func judgesRecordsAfterTheExpiredOnes(line: Int, text: String, other: String, expected: [String]) throws {
        var lines = Self.lines
        lines[line] = lines[line].replacing(text, with: other)
        expect(try audit(lines, without: [.results: 12]), expected)
    }

    @Test func requiresLaterAnswersExactlyOnce() throws {
        var lines = Self.lines
        let answer = lines.remove(at: 41)
        expect(try audit(lines, without: [.results: 12]), ["missing: orders 0@18", "wrong: results 0@22"])
        lines.insert(contentsOf: [answer, answer], at: 41)
        expect(try audit(lines, without: [.results: 12]), ["doubled: results 0@23"])
    }

    @Test func theLatestCommandsMayBeUnanswered() throws {
        let open = Self.lines + [Line.order("x", "kiwi"), Line.order("y", "kiwi")]
        let audit = try audit(open, allowsOpen: true)
        expect(audit, [])
        #expect(audit.counts.open == 2)
        expect(try self.audit(open), ["orders 0@23: order \"x\"", "orders 0@24: order \"y\""])
    }

    /// A forwarded copy or a dead letter may have expired before its note.
    @Test(
        arguments: [
            (.orders, ["orders 0@4"], "partition 0, which has no such copy"),
            (.deadLetters, ["dead-letters 0@0", "dead-letters 1@0"], "no such dead letter"),
        ] as [(Topic, [String], String)])
    func copiesAndDeadLettersMayHaveExpired(topic: Topic, lost: [String], problem: String) throws {
        var topics = Story.topics
        for place in lost { topics[place] = nil }
        topics.add("dead-letters 0@9", nil, key: .some(nil), [MessageHeader(name: "juice.resent.letter", value: nil)])
        topics["dead-letters 0@9"] = topics["dead-letters 0@9"]?.with(timestamp: 9_000)
        for first in [[topic: Int64(5)], [:]] {
            let faults = try Audit(of: Source(topics.completed(), without: first), by: Story.rules).faults.map(\.description)
            #expect(faults.contains { $0.contains(problem) } == first.isEmpty, "\(faults)")
            #expect(faults.isEmpty || first.isEmpty)
        }
    }

    /// The first orders or notes of partition 0 have expired, and with them the copy of orders 1@0. Three more orders were
    /// forwarded. Their sequence decides whether a copy may have expired, whatever the clock of partition 1's owner says.
    @Test(
        arguments: [([4, 5, 6], []), ([4, 6], ["missing: orders 1@5"]), ([6], []), ([], [])] as [([Int], [String])],
        [
            ([.orders: [5, 0]], 0), ([.orders: [5, 0]], 7_140_000),
            ([.results: [10, 0]], 7_140_000), ([.results: [10, 0]], -10_000),
        ] as [([Topic: [Int64]], Int64)])
    func forwardsAreJudgedInTheirOrder(copied: ([Int], [String]), expired: ([Topic: [Int64]], ahead: Int64)) throws {
        var topics = Story.topics
        for number in 4...6 {
            topics.add("orders 1@\(number)", Line.order("f\(number)", "durian"), key: Story.first)
            topics.add("results 1@\(10 + number)", Line.note("forwarded", number, #","to":0"#))
        }
        for (index, number) in copied.0.enumerated() {
            let copy = topics["orders 1@\(number)"]?.with(headers: [Story.forwarded(from: "1/\(number)")])
            topics["orders 0@\(7 + index)"] = copy
            let answer = Line.rejected("f\(number)", "unknownJuice").at(7 + index, from: "1/\(number)")
            topics.add("results 0@\(12 + index)", answer)
        }
        topics[.results][1] = topics[.results][1].map { $0.with(timestamp: $0.timestamp + expired.ahead) }
        expect(try Audit(of: topics.completed().starting(at: expired.0), by: Story.rules), copied.1)
    }

    @Test func readsThePartitionCountFromClaims() throws {
        var topics = Story.topics
        topics[.stock].append([])
        #expect(try topics.storePartitionCount() == 2)
        #expect(try Source(topics, without: [.results: 3]).storePartitionCount() == 3)
    }
}
