import JuiceDomain
import JuiceMessages
import Testing

@testable import JuiceAudit
@testable import simulate

/// The window in which repeats must be recognised: its edges, and what is right beyond it.
@Suite struct WindowTests {
    private static let madeAgain = Line.mango("o1", left: 27, 5).at(8)
    private static let again = Line.again(Story.bananas.at(8))

    /// The number of faults if `o1`, first sent at 1,000 and answered at 1,002, is sent and answered again at these times.
    private func faults(
        _ answer: String = madeAgain, window: Int64 = 1_000, count: Int = 3, sent: Int64 = 1_008, answered: Int64
    ) throws -> Int {
        let topics = Self.story(answer, sent: sent, answered: answered)
        return try Audit(of: topics, by: AuditRules(partitionCount: 2, window: DuplicateWindow(age: window, count: count))).faults
            .count
    }

    private static func story(_ answer: String = madeAgain, sent: Int64, answered: Int64) -> AuditTopics {
        var topics = Story.topics.completed()
        topics.add("orders 0@8", Line.order("o1", "mango"), at: sent)
        topics.add("results 0@14", answer, at: answered)
        if answer == madeAgain { topics.add("stock 0@9", Line.stock(5, [16, 9, 10, 2, 27])) }
        return topics
    }

    @Test func beyondTheWindowBothAreRight() throws {
        // Six other ids were answered since, and only three had to be remembered.
        for answer in [Self.madeAgain, Self.again] {
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
        // Without a time, the moment of reading counts.
        #expect(try faults(window: 100, count: 7, sent: -1, answered: 1_100) == 1)
        #expect(try faults(window: 100, count: 7, sent: -1, answered: 700_000_000) == 0)
        // If another time counts, the journal names it.
        for nonsense in [0, 9_000_001, Int64.min, .max, -10_000_000_000_000] {
            for (told, count) in [("1100", 1), ("1101", 0)] {
                var topics = Self.story(sent: nonsense, answered: 9_000_000)
                topics["results 0@14"] = topics["results 0@14"]?.with(headers: [MessageHeader(name: HeaderName.sent, value: told)])
                let rules = AuditRules(partitionCount: 2, window: DuplicateWindow(age: 100, count: 7))
                #expect(try Audit(of: topics, by: rules).faults.count == count)
            }
        }
    }

    /// A restore may extend the window by the delay, and for a cancel once more, for its order.
    @Test(arguments: [(4_110, 0), (4_111, 1)] as [(Int64, Int)]) func aMuchLaterCommandIsNoRepeat(sent: Int64, count: Int) throws {
        #expect(try faults(Self.again, sent: sent, answered: sent) == count)
    }

    /// The service's clock was behind at the first answer, and was then set right.
    @Test func aWrongClockHidesNoSecondAnswer() throws {
        let lines = [
            "@9000000 " + Line.order("a", "mango"), "@100 " + Line.mango("a", left: 7, 1),
            "@9000100 " + Line.order("x", "durian"), "@9000101 " + Line.rejected("x", "unknownJuice"), "- results",
            "@9000400 " + Line.order("a", "mango"),
            "@9000401 " + Line.mango("a", left: 4, 2),
        ]
        #expect(try Audit(lines).faults.map(\.category) == [.doubled])
    }

    /// A cancel is remembered as long as its order. The service may still know that order after many others, or after it has left
    /// the input.
    @Test(arguments: [0, 1] as [Int64]) func acceptsRepeatedCancelsOfForgottenOrders(firstOrder: Int64) throws {
        let lines = [
            "@9000000 " + Line.order("a", "durian"), "@9000001 " + Line.rejected("a", "unknownJuice"),
            "@9000002 " + Line.order("x", "durian"), "@9000003 " + Line.rejected("x", "unknownJuice"),
            "@1000 " + Line.cancel("a"), "@9000004 " + Line.cancelled("a"),
            "@9000005 " + Line.cancel("a"), "@9000006 " + Line.again(Line.cancelled("a")),
        ]
        let topics = AuditTopics(lines).completed().starting(at: [.orders: [firstOrder]])
        expect(try Audit(of: topics, by: AuditRules(partitionCount: 1, window: DuplicateWindow(age: 1_000, count: 0))), [])
    }

    private static let other = Line.deadLetter(7, "notJSON")

    /// The service may restart before the repeat's transaction. It restores the answers of the 200 ms before the last handled
    /// record. So an outage, in which no record is handled, does not count.
    ///
    /// A record of the journal is between the first answer and the repeat's. At offset 13 it is in the repeat's transaction, since
    /// offsets have gaps only between transactions.
    @Test(
        arguments: [
            (other, 12, 1_202, true), (other, 12, 1_203, false), (other, 13, 9_000, true),
            (Line.position(7, 3, #","forwarded":{"orders/1":0}"#), 12, 9_000, true),
            (Line.claim("till-1", set: 1, since: 12, partitions: 2), 12, 9_000, true),
        ] as [(String, Int, Int64, Bool)])
    func anOutageDoesNotCount(between: String, offset: Int, time: Int64, isDoubled: Bool) throws {
        var topics = Self.story(sent: 1_100, answered: 9_000)
        if between == Self.other {
            topics.add("orders 0@7", "nope")
            topics.add("dead-letters 0@7", "nope", Story.reasons("notJSON", 0, 7))
        }
        topics.add("results 0@\(offset)", between, at: time)
        let rules = AuditRules(partitionCount: 2, window: DuplicateWindow(age: 100, count: 7))
        expect(try Audit(of: topics.completed(), by: rules), isDoubled ? [#"doubled: results 0@14: order "o1""#] : [])
    }

    /// Answers whose commands are lost still count towards the number that the service must remember.
    @Test func answersToLostCommandsFillTheWindow() throws {
        var lines = [Line.order("a", "mango"), Line.mango("a", left: 7, 1)]
        for number in 0..<100 { lines += [Line.order("b\(number)", "durian"), Line.rejected("b\(number)", "unknownJuice")] }
        lines += [Line.order("a", "mango"), Line.mango("a", left: 4, 2)]
        var topics = AuditTopics(lines)
        for offset in 1...100 { topics["orders 0@\(offset)"] = nil }
        let faults = try Audit(of: topics, by: Line.rules).faults
        #expect(faults.count == 100 && faults.allSatisfy { $0.problem.hasSuffix("is not there") })
    }
}

extension AuditTopics {
    /// Writes a record at a time.
    fileprivate mutating func add(_ place: String, _ value: String, at time: Int64) {
        add(place, value)
        self[place] = self[place]?.with(timestamp: time)
    }
}
