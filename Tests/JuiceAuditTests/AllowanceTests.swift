import Testing

@testable import JuiceAudit

/// Records that look like a breach of the contract and are none.
@Suite struct AllowanceTests {
    private func faults(_ changing: (inout AuditTopics) -> Void) -> [String] {
        var topics = Story.topics
        changing(&topics)
        return Audit(of: topics, by: Story.rules).faults.map(\.description)
    }

    /// The story's first partition, with `o1` again at its end, at this time.
    private func repeating(at timestamp: Int64, _ answer: String) -> [String] {
        faults { topics in
            let order = #"{"orderId":"o1","juice":"mango"}"#
            topics.orders[0].append(Story.record(8, Story.first, order))
            topics.results[0].append(
                Story.record(9, Story.first, answer).with(timestamp: timestamp)
            )
            if !answer.contains("duplicate") {
                topics.stock[0].append(
                    Story.record(9, Story.first, Story.stock(Story.first, 5, [16, 9, 10, 2, 27]))
                )
            }
        }
    }

    private let anew = Story.made("o1", "mango", 1, "3", "27")
    private let again = Story.made("o1", "strawberryBanana", 1, "10,\"banana\":1", "0,\"banana\":9")
        .replacing(#""orderId""#, with: #""duplicate":true,"orderId""#)

    @Test func beyondTheWindowBothAreRight() {
        // Six other ids were answered since, and only three had to be remembered.
        #expect(repeating(at: 1_010, anew) == [])
        #expect(repeating(at: 1_010, again) == [])
        #expect(repeating(at: 5_000, anew) == [])
        #expect(repeating(at: 5_000, again) == [])
    }

    /// The story with `o1`, first sent at 1,000, made once more: sent and answered at these times.
    private func faults(window: Int64, count: Int, sent: Int64, answered: Int64, before: Int64? = nil) -> Int
    {
        var topics = Story.topics
        let order = #"{"orderId":"o1","juice":"mango"}"#
        if let before {
            topics.orders[0].append(Story.record(7, Story.first, "nope").with(timestamp: before))
            topics.deadLetters[0].append(
                Story.record(7, Story.first, "nope", Story.reasons("notJSON", "orders", 0, 7))
            )
        }
        topics.orders[0].append(Story.record(8, Story.first, order).with(timestamp: sent))
        topics.results[0].append(Story.record(9, Story.first, anew).with(timestamp: answered))
        topics.stock[0].append(
            Story.record(9, Story.first, Story.stock(Story.first, 5, [16, 9, 10, 2, 27]))
        )
        let rules = Story.rules(memoryWindow: window, memoryCount: count)
        return Audit(of: topics, by: rules).faults.count
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

    @Test func compactionMayLeaveOnlyTheLast() {
        #expect(faults { $0.stock[0].removeFirst() } == [])
    }

    /// A client may write the header itself. In its store's partition such a record is an ordinary command.
    @Test(arguments: ["0/12345", "nonsense", "", "1/2/3", "7/1", "0/0"])
    func aClientMayMarkARecord(origin: String) {
        let found = faults {
            $0.orders[0][5] = $0.orders[0][5].with(headers: [Story.forwarded(from: origin)])
        }
        #expect(found == [])
    }

    @Test func recordsWithoutAKeyAreAboutMain() {
        let owner = Array("main".utf8).withUnsafeBufferPointer { Ownership.partition(of: $0, count: 2) }
        let found = faults { topics in
            for (offset, key) in [(20, nil), (21, ""), (22, "main")] as [(Int64, String?)] {
                topics.orders[owner].append(
                    Story.record(offset, key, #"{"orderId":"m\#(offset)","juice":"durian"}"#)
                )
                topics.results[owner].append(
                    Story.record(
                        offset,
                        "main",
                        #"{"type":"rejected","orderId":"m\#(offset)","store":"main","reason":"unknownJuice","message":"m"}"#
                    )
                )
            }
        }
        #expect(found == [])
    }

    @Test func aDeadLetterMayBeSentInAgain() {
        let found = faults { topics in
            let letter = topics.deadLetters[0][0]
            topics.orders[0].append(letter.with(offset: 30))
            topics.deadLetters[0].append(
                letter.with(
                    offset: 30,
                    headers: letter.headers + Story.reasons("notJSON", "orders", 0, 30)
                )
            )
        }
        #expect(found == [])
    }

    @Test func aHugeDeadLetterMayBeTruncated() {
        let found = faults { topics in
            let value = String(repeating: "x", count: 300_000)
            topics.orders[0].append(Story.record(31, "k", value, [Story.trace]))
            let size = 300_001 + "traceparent".utf8.count + 9
            topics.deadLetters[0].append(
                Story.record(
                    31,
                    "k",
                    String(value.prefix(128 * 1024)),
                    [AuditHeader("juice.truncated.from", Array("\(size)".utf8))]
                        + Story.reasons("tooLarge", "orders", 0, 31)
                )
            )
        }
        #expect(found == [])
    }
}
