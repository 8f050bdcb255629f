import JuiceMessages
import Testing

struct RevisionTrackerTests {
    /// An answer of a store.
    enum Event {
        /// A change with a revision.
        case change(Int)
        /// The answer of such a change, given again.
        case duplicate(Int)
        /// An answer that changed nothing.
        case unchanged
    }

    @Test(
        arguments: [
            ([.change(7)], []), ([.change(1), .change(2), .unchanged, .change(3)], []), ([.change(1), .change(3)], [2...2]),
            ([.change(1), .change(5), .change(6), .change(8)], [2...4, 7...7]),
            ([.change(4), .duplicate(1), .duplicate(9), .change(5)], []),
            ([.unchanged, .change(2), .unchanged, .change(4)], [3...3]),
            // The store was reset.
            ([.change(9), .change(1), .change(2)], []),
        ] as [([Event], [ClosedRange<Int>])]
    )
    func gapsAreFound(events: [Event], gaps: [ClosedRange<Int>]) throws {
        var tracker = RevisionTracker()
        #expect(try events.compactMap { tracker.gap(before: try answer($0)) } == gaps)
    }

    private func answer(_ event: Event) throws -> Answer {
        switch event {
        case .change(let revision): try restocked(#""revision":\#(revision),"#)
        case .duplicate(let revision): try restocked(#""revision":\#(revision),"duplicate":true,"#)
        case .unchanged:
            try decoded(
                #"{"type":"cancelled","orderId":"o","store":"s","offset":1,"returned":{},"left":{},"message":"m"}"#
            )
        }
    }

    private func restocked(_ fields: String) throws -> Answer {
        try decoded(#"{"type":"restocked","restockId":"r","store":"s","offset":1,"left":{"kiwi":1},\#(fields)"message":"m"}"#)
    }

    private func decoded(_ json: String) throws -> Answer {
        try Array(json.utf8).withUnsafeBytes { try AnswerDecoder().decode($0) }
    }
}
