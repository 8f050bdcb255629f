import Testing

@testable import JuiceAudit

/// The window in which repeats must be recognised: its edges, and what is right beyond it.
@Suite struct WindowTests {
    private static let anew = Line.made("o1", "mango", #""mango":3"#, #""mango":27"#, 5).at(8)
    private static let again = Line.again(
        Line.made("o1", "strawberryBanana", #""strawberry":10,"banana":1"#, #""strawberry":0,"banana":9"#, 1).at(8))

    /// The story with `o1`, first sent at 1,000, once more: sent and answered at these times.
    private func faults(
        _ answer: String = anew, window: Int64 = 1_000, count: Int = 3, sent: Int64 = 1_008, answered: Int64, before: Int64? = nil
    ) throws -> Int {
        var topics = Story.topics
        func add(_ place: String, _ value: String, at time: Int64) {
            topics.add(place, value)
            topics[place] = topics[place]?.with(timestamp: time)
        }
        if let before {
            add("orders 0@7", "nope", at: before)
            add("results 0@12", Line.putAside(7, "notJSON"), at: answered)
            topics.add("dead-letters 0@7", "nope", Story.reasons("notJSON", 0, 7))
        }
        add("orders 0@8", Line.order("o1", "mango"), at: sent)
        add("results 0@13", answer, at: answered)
        if answer == Self.anew { topics.add("stock 0@9", Line.stock(5, [16, 9, 10, 2, 27])) }
        return try Audit(of: topics, by: AuditRules(partitionCount: 2, memoryWindow: window, memoryCount: count)).faults.count
    }

    @Test func beyondTheWindowBothAreRight() throws {
        // Six other ids were answered since, and only three had to be remembered.
        for answer in [Self.anew, Self.again] {
            #expect(try faults(answer, answered: 1_010) == 0)
            #expect(try faults(answer, answered: 5_000) == 0)
        }
    }

    @Test func theWindowIsOfTimeAndOfCount() throws {
        #expect(try faults(window: 100, count: 7, sent: 1_100, answered: 1_100) == 1)
        #expect(try faults(window: 100, count: 7, sent: 1_101, answered: 1_101) == 0)
        #expect(try faults(window: 100, count: 6, sent: 1_100, answered: 1_100) == 0)
    }

    @Test func theWindowIsOfTheCommandsTimes() throws {
        // However late it is read.
        #expect(try faults(window: 100, count: 7, sent: 1_100, answered: 9_000_000) == 1)
        // An invalid time counts as the moment of reading.
        for nonsense in [0, -1, 9_000_001, Int64.min, .max, -10_000_000_000_000] {
            #expect(try faults(window: 100, count: 7, sent: nonsense, answered: 1_100) == 1)
            #expect(try faults(window: 100, count: 7, sent: nonsense, answered: 700_000_000) == 0)
        }
    }

    @Test func aRepeatMayBeDelayedForALittle() throws {
        // Commands sent up to a window after it may precede it,
        #expect(try faults(window: 100, count: 7, sent: 1_100, answered: 9_000, before: 1_200) == 1)
        #expect(try faults(window: 100, count: 7, sent: 1_100, answered: 9_000, before: 1_201) == 0)
        // and any command may if the repeat is answered in time.
        #expect(try faults(window: 100, count: 7, sent: 1_100, answered: 1_200, before: 1_201) == 1)
    }

    /// A command whose timestamp is invalid was read after the transaction before. When, nobody knows.
    @Test(arguments: [(1_000, 0), (8_900, 1)])
    func aFirstTimeMayBeUnknown(transaction: Int, faults: Int) throws {
        let lines = [
            "@\(transaction) " + Line.order("x", "durian"), Line.rejected("x", "unknownJuice"), "- results",
            "@99999 " + Line.order("a", "mango"), "@9000 " + Line.made("a", "mango", #""mango":3"#, #""mango":7"#, 1),
            "@9500 " + Line.order("a", "mango"), Line.made("a", "mango", #""mango":3"#, #""mango":4"#, 2),
        ]
        #expect(try Audit(lines).faults.count == faults)
    }

    /// Answers whose commands are lost count all the same, where the service need not remember many.
    @Test func whatIsLostCounts() throws {
        var lines = [Line.order("a", "mango"), Line.made("a", "mango", #""mango":3"#, #""mango":7"#, 1)]
        for number in 0..<100 { lines += [Line.order("b\(number)", "durian"), Line.rejected("b\(number)", "unknownJuice")] }
        lines += [Line.order("a", "mango"), Line.made("a", "mango", #""mango":3"#, #""mango":4"#, 2)]
        var topics = AuditTopics(lines)
        for offset in 1...100 { topics["orders 0@\(offset)"] = nil }
        let faults = try Audit(of: topics, by: Line.rules).faults
        #expect(faults.count == 100 && faults.allSatisfy { $0.problem.hasSuffix("is not there") })
    }
}
