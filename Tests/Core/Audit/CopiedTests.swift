import JuiceMessages
import Testing

@testable import JuiceAudit
@testable import simulate

/// Topics that were copied from another cluster: the story without transaction markers, so with other offsets, and with an
/// operator's anchors. Everything before the anchors counts as expired.
@Suite struct CopiedTests {
    /// A copy of the story and how it goes on.
    private struct Copy {
        var topics: AuditTopics

        /// - Parameter changes: made to the topics before they are copied.
        init(_ changes: (inout AuditTopics) -> Void = { _ in }) {
            topics = Story.topics.completed()
            changes(&topics)
            // The claim's offset in the original log, where markers take offsets, too.
            topics.replace("results 0@10", #""claim":0"#, #""claim":40"#)
            for topic in Topic.allCases {
                topics[topic] = topics[topic].map { $0.enumerated().map { $1.with(offset: Int64($0)) } }
            }
            let marks = [(0, "orders", 6, 7), (0, "restocks", 3, 3), (1, "orders", 4, 4), (1, "restocks", 1, 1)]
            for (partition, topic, next, former) in marks {
                let end = self.end(partition)
                topics.add("results \(partition)@\(end)", Line.claim("anchor", since: end, partitions: 2))
                topics.add(
                    "results \(partition)@\(end + 2)", Line.note("anchored", next, topic: topic, #","by":"b","copied":\#(former)"#))
                let isFirst = topic == "orders"
                let (orders, restocks) = partition == 0 ? (6, 3) : (4, 1)
                topics.add(
                    "results \(partition)@\(end + 3)",
                    Line.position(isFirst ? next : orders, restocks, claim: end, ids: Line.ids("anchor")))
            }
            // The service goes on with the copy's offsets.
            let end = end(0)
            topics.add("results 0@\(end)", Line.claim("till-2", since: end, fenced: Line.ids("anchor"), partitions: 2))
            topics.add("results 0@\(end + 1)", Line.position(6, 3, claim: end, ids: Line.ids("till-2")))
            topics.add("orders 0@6", Line.order("n", "durian"))
            topics.add("results 0@\(end + 2)", Line.rejected("n", "unknownJuice").at(6))
            topics.add("orders 0@7", Line.order("o1", "kiwi"))
            topics.add("results 0@\(end + 3)", Line.again(Story.bananas).at(7))
            topics.add("restocks 0@3", Line.add("r9", "mango 1"))
            topics.add("results 0@\(end + 4)", Line.restocked("r9", "mango 31", 5).at(3))
            topics.add("stock 0@8", Line.stock(5, [16, 9, 10, 2, 31]))
        }

        func end(_ partition: Int) -> Int { (topics[.results][partition].last?.offset).map { Int($0) + 1 } ?? 0 }

        func audit() throws -> Audit { try Audit(of: topics.completed(), by: Story.rules) }
    }

    @Test func findsNoFaultInACopiedCluster() throws {
        let audit = try Copy().audit()
        expect(audit, [])
        // Even in partition 1, whose inputs have the same offsets in both clusters: its journal lacks markers, too.
        #expect(audit.starts.map(\.partition) == [0, 1])
        #expect((audit.counts.commands, audit.counts.duplicates) == (3, 1))
        #expect(audit.anchors.map(\.copied) == [7, 3, 4, 1])
    }

    /// Faults before the anchors are not reported, since `juice anchor` checks for them. Faults after them are.
    @Test func theAuditBeginsAtTheAnchors() throws {
        expect(try Copy { $0["results 0@3"] = nil }.audit(), [])
        var copy = Copy()
        let end = copy.end(0)
        copy.topics.replace("results 0@\(end - 1)", #""offset":3"#, #""offset":4"#)
        copy.topics.replace("results 0@\(end - 3)", "unknownJuice", "badQuantity")
        expect(
            try copy.audit(),
            ["missing: restocks 0@3", "restocks 0@4 is not there", #"should be rejected,"reason":"unknownJuice""#])
    }
}
