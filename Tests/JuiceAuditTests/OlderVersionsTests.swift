import Testing

@testable import JuiceAudit

/// What versions of the service from before baskets, cancels and revisions answer.
@Suite struct OlderVersionsTests {
    typealias Line = Conversation

    @Test func theyHaveNoRevisions() {
        let lines = LedgerTests.lines.map {
            $0.hasPrefix("a") ? $0.replacing(/"revision":\d+,/, with: "") : $0
        }
        let audit = Conversation(lines).audit(versions: .alsoOlder)
        #expect(audit.faults.map(\.description) == [])
        #expect(audit.counts.withoutRevision == 4)
        let faults = Conversation(lines).audit.faults.map(\.problem)
        #expect(faults.count == 4 && faults.allSatisfy { $0.hasSuffix("it has no revision") }, "\(faults)")
    }

    /// What versions from before baskets answer is right only if the rules allow for them.
    @Test func theyKnowNeitherBasketsNorCancels() {
        let made = Line.made("a", "kiwi", #""kiwi":3"#, #""kiwi":7"#, 1)
        let basket = #"{"juice":"kiwi","quantity":1}"#
        let lines = [
            Line.order("a", "kiwi"), made,
            Line.cancel("a"), Line.again(made),
            Line.order("b", basket), Line.rejected("b", "badCommand"),
            Line.cancel("c"), Line.rejected("c", "badCommand"),
            // Versions with cancels go on from there.
            Line.cancel("c"), Line.cancelled("c"),
            Line.cancel("a"), Line.cancelled("a", #""kiwi":3"#, #""kiwi":10"#, 2),
            // And older ones from there.
            Line.order("a", "kiwi"), Line.again(made),
            Line.order("c", "kiwi"), Line.again(Line.cancelled("c")),
            Line.order("c", "kiwi"), Line.made("c", "kiwi", #""kiwi":3"#, #""kiwi":7"#, 3),
            Line.stock(3, [10, 10, 10, 7, 10]),
        ]
        let older = Conversation(lines).audit(versions: .alsoOlder)
        #expect(older.faults.map(\.description) == [])
        #expect(older.counts.unjudged == 1)
        #expect(Conversation(lines).audit.faults.count >= 5)
        // A basket is never made in part, nor an order of one juice rejected.
        for (right, wrong) in [
            (Line.rejected("b", "badCommand"), Line.made("b", "kiwi", #""kiwi":3"#, #""kiwi":4"#, 2)),
            (made, Line.rejected("a", "badCommand")),
        ] {
            let lines = lines.map { $0 == right ? wrong : $0 }
            #expect(!Conversation(lines).audit(versions: .alsoOlder).faults.isEmpty, "\(wrong)")
        }
    }
}
