import Testing

@testable import JuiceAudit

/// Topics that were copied from another cluster: the story without its first records or markers, and with the anchors with which an
/// operator goes on.
@Suite struct CopiedTests {
    /// A copy of the story with what its journal had in the other cluster, and how it goes on.
    private struct Copy {
        var topics: AuditTopics

        /// - Parameters:
        ///   - lacking: places of the story that are not copied.
        ///   - told: where the other cluster's position in the orders of partition 0 is, and what it is in the copy.
        init(lacking: Set<String> = [], orders: (next: Int, told: Int) = (6, 7)) {
            topics = Story.topics.accounted
            // A claim of a log with markers, which take offsets.
            topics.replace("results 0@10", #""claim":0"#, #""claim":40"#)
            for place in lacking { topics[place] = nil }
            for topic in AuditTopic.allCases {
                topics[topic] = topics[topic].map { $0.enumerated().map { $1.with(offset: Int64($0)) } }
            }
            let marks = [
                (0, "orders", orders.next, orders.told), (0, "restocks", 3, 3), (1, "orders", 4, 4), (1, "restocks", 1, 1),
            ]
            for (partition, topic, next, told) in marks {
                let end = (topics[.results][partition].last?.offset).map { Int($0) + 1 } ?? 0
                topics.add("results \(partition)@\(end)", Line.claim("anchor", since: end, partitions: 2))
                let note = #","by":"b","copied":\#(told)"#
                topics.add("results \(partition)@\(end + 2)", Line.note("anchored", next, topic: topic, note))
                let (own, others) = (partition == 0 ? (orders.next, 3) : (4, 1))
                topics.add("results \(partition)@\(end + 3)", Line.position(own, others, claim: end, ids: Line.ids("anchor")))
            }
        }

        func audit() throws -> Audit { try Audit(of: CopiedTopics(topics.accounted, topicPrefix: "juice."), by: Story.rules) }
    }

    /// The notes name others by the other cluster's offsets.
    @Test(arguments: [(#""records":8"#, #""records":9"#), (#""sum":"1"#, #""sum":""#)])
    func theAccountIsJudged(text: String, other: String) throws {
        var copy = Copy()
        copy.topics.replace("results 0@10", text, other)
        expect(try copy.audit(), ["wrong: results 0@10: its account is"])
    }

    @Test func aWholeCopyIsRight() throws {
        let audit = try Copy().audit()
        expect(audit, [])
        #expect(audit.counts.unjudged == 0)
        #expect(audit.counts.commands == (try Audit(of: Story.topics.accounted, by: Story.rules)).counts.commands)
        // Without the anchors nobody can tell one cluster's offsets from the other's.
        #expect(try !Audit(of: Copy().topics, by: Story.rules).faults.isEmpty)
    }

    @Test(
        arguments: [
            // The copies of orders end before those of the results.
            (["orders 0@6"], (5, 6), #"missing: results 0@9: the copy lacks orders 0@6 of the other cluster: the command "o3""#),
            (["dead-letters 0@0"], (6, 7), "missing: orders 0@4: it has no such dead letter"),
        ] as [([String], (Int, Int), String)]
    )
    func whatACopyLacksIsNamed(lacking: [String], orders: (Int, Int), expected: String) throws {
        let audit = try Copy(lacking: Set(lacking), orders: orders).audit()
        #expect(audit.faults.contains { $0.description.contains(expected) }, "\(audit.faults)")
    }

    /// What was handled before is known only from the journal.
    @Test func theBeginningMayHaveExpired() throws {
        let audit = try Copy(lacking: ["orders 0@0", "results 0@0"], orders: (5, 7)).audit()
        expect(audit, [])
        #expect(audit.starts.map(\.partition) == [0])
    }

    /// A copy of a copy is judged from the first one's anchors on. The same anchors once more say nothing.
    @Test(arguments: [(1, [0]), (0, [])]) func itIsAnchoredAgain(shift: Int, starts: [Int]) throws {
        var copy = Copy()
        for (topic, next) in [("orders", 6), ("restocks", 3)] {
            let end = (copy.topics[.results][0].last?.offset).map { Int($0) + 1 } ?? 0
            let note = #","by":"b","copied":\#(next + shift)"#
            copy.topics.add("results 0@\(end)", Line.note("anchored", next, topic: topic, note))
        }
        let audit = try copy.audit()
        expect(audit, [])
        #expect(audit.starts.map(\.partition) == starts)
    }

    /// The service goes on by the offsets of the copy.
    @Test func theServiceGoesOn() throws {
        var copy = Copy()
        copy.topics.add("orders 0@6", Line.order("n", "durian"))
        let end = copy.topics[.results][0].last.map { Int($0.offset) } ?? 0
        copy.topics.add("results 0@\(end + 1)", Line.claim("till-2", since: end + 1, fenced: Line.ids("anchor"), partitions: 2))
        let position = Line.position(6, 3, claim: end + 1, ids: Line.ids("till-2"))
        copy.topics.add("results 0@\(end + 2)", position)
        copy.topics.add("results 0@\(end + 3)", Line.rejected("n", "unknownJuice").at(6))
        expect(try copy.audit(), [])
        copy.topics["orders 0@6"] = nil
        expect(try copy.audit(), ["orders 0@6 is not there"])
    }
}
