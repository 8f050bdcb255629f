import Testing

@testable import JuiceAudit

/// The window in which repeats must be recognised: its edges, and what is right beyond it.
@Suite struct WindowTests {
    private static let anew = Story.made("o1", 8, "mango", 1, "3", "27", 5)
    private static let again = Story.made("o1", 8, "strawberryBanana", 1, "10,\"banana\":1", "0,\"banana\":9", 1).replacing(
        #","orderId""#, with: #","duplicate":true,"orderId""#)

    /// The story with `o1`, first sent at 1,000, once more: sent and answered at these times.
    private func faults(
        _ answer: String = anew, window: Int64 = 1_000, count: Int = 3, sent: Int64 = 1_008, answered: Int64, before: Int64? = nil
    ) -> Int {
        var topics = Story.topics
        if let before {
            topics[.orders, 0, 7] = Story.record(7, Story.first, "nope").with(timestamp: before)
            let note = Story.note(12, #"{"type":"deadLetter","topic":"orders","offset":7,"code":"notJSON"}"#)
            topics[.results, 0, 12] = note.with(timestamp: answered)
            topics[.deadLetters, 0, 7] = Story.record(7, Story.first, "nope", Story.reasons("notJSON", "orders", 0, 7))
        }
        topics[.orders, 0, 8] = Story.record(8, Story.first, #"{"orderId":"o1","juice":"mango"}"#).with(timestamp: sent)
        topics[.results, 0, 13] = Story.record(13, Story.first, answer).with(timestamp: answered)
        if !answer.contains("duplicate") {
            topics[.stock, 0, 9] = Story.record(9, Story.first, Story.stock(Story.first, 5, [16, 9, 10, 2, 27]))
        }
        let rules = AuditRules(partitionCount: 2, memoryWindow: window, memoryCount: count)
        return Audit(of: topics, by: rules).faults.count
    }

    @Test func beyondTheWindowBothAreRight() {
        // Six other ids were answered since, and only three had to be remembered.
        for answer in [Self.anew, Self.again] {
            #expect(faults(answer, answered: 1_010) == 0)
            #expect(faults(answer, answered: 5_000) == 0)
        }
    }

    @Test func theWindowIsOfTimeAndOfCount() {
        #expect(faults(window: 100, count: 7, sent: 1_100, answered: 1_100) == 1)
        #expect(faults(window: 100, count: 7, sent: 1_101, answered: 1_101) == 0)
        #expect(faults(window: 100, count: 6, sent: 1_100, answered: 1_100) == 0)
    }

    @Test func theWindowIsOfTheCommandsTimes() {
        // However late it is read.
        #expect(faults(window: 100, count: 7, sent: 1_100, answered: 9_000_000) == 1)
        // An invalid time counts as the moment of reading.
        for nonsense in [0, -1, 9_000_001, Int64.min, .max, -10_000_000_000_000] {
            #expect(faults(window: 100, count: 7, sent: nonsense, answered: 1_100) == 1)
            #expect(faults(window: 100, count: 7, sent: nonsense, answered: 700_000_000) == 0)
        }
    }

    @Test func aRepeatMayBeDelayedForALittle() {
        // Commands sent up to a window after it may precede it,
        #expect(faults(window: 100, count: 7, sent: 1_100, answered: 9_000, before: 1_200) == 1)
        #expect(faults(window: 100, count: 7, sent: 1_100, answered: 9_000, before: 1_201) == 0)
        // and any command may if the repeat is answered in time.
        #expect(faults(window: 100, count: 7, sent: 1_100, answered: 1_200, before: 1_201) == 1)
    }

    /// A command whose timestamp is invalid was read after the transaction before. When, nobody knows.
    @Test(arguments: [(1_000, 0), (8_900, 1)])
    func aFirstTimeMayBeUnknown(transaction: Int, faults: Int) {
        let lines = [
            "@\(transaction) " + Line.order("x", "durian"), Line.rejected("x", "unknownJuice"), "- results",
            "@99999 " + Line.order("a", "mango"), "@9000 " + Line.made("a", "mango", #""mango":3"#, #""mango":7"#, 1),
            "@9500 " + Line.order("a", "mango"), Line.made("a", "mango", #""mango":3"#, #""mango":4"#, 2),
        ]
        #expect(Conversation(lines).faults.count == faults)
    }

    /// Answers whose commands are lost count all the same, where the service need not remember many.
    @Test func whatIsLostCounts() {
        var lines = [Line.order("a", "mango"), Line.made("a", "mango", #""mango":3"#, #""mango":7"#, 1)]
        for number in 0..<100 { lines += [Line.order("b\(number)", "durian"), Line.rejected("b\(number)", "unknownJuice")] }
        lines += [Line.order("a", "mango"), Line.made("a", "mango", #""mango":3"#, #""mango":4"#, 2)]
        var topics = Conversation(lines).topics
        for offset in 1...100 { topics[.orders, 0, Int64(offset)] = nil }
        let faults = Audit(of: topics, by: Conversation.rules).faults
        #expect(faults.count == 100 && faults.allSatisfy { $0.problem.hasSuffix("is not there") })
    }
}
