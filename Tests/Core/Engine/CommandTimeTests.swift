import JuiceEngine
import Testing

/// The effective time of a command, and the restore time that follows from it.
@Suite struct CommandTimeTests {
    private static let now: Timestamp = 1_700_000_000_000
    private static let week: Timestamp = 604_800_000

    @Test(
        arguments: [
            (now, now), (now - 1, now - 1), (now - week, now - week),
            // In the future, and further back than any command lies unread.
            (now + 1, now), (now + 3_600_000, now), (.max, now), (now - week - 1, now), (0, now),
            (-10_000_000_000_000, now), (.min, now), (nil, now),
        ] as [(Timestamp?, Timestamp)]
    )
    func anInvalidTimeCountsAsTheMomentOfReading(timestamp: Timestamp?, time: Timestamp) {
        #expect(CommandTime.effective(timestamp, readAt: Self.now) == time)
    }

    @Test func theReadersClockMayBeInvalidToo() {
        for now in [Timestamp.min, -1, 0, .max] {
            for timestamp in [nil, Timestamp.min, 0, .max] { #expect(CommandTime.effective(timestamp, readAt: now) <= now) }
        }
    }

    /// When the last record was handled and the first unread one sent, and from when on answers are needed, all before now.
    @Test(
        arguments: [
            (nil, nil, 1_000), (0, nil, 1_000), (900, nil, 1_900), (10, 800, 1_800), (900, 10, 1_900), (-5, nil, 1_000),
        ] as [(Timestamp?, Timestamp?, Timestamp)])
    func answersAreNeededFromBeforeAnOutageAndBeforeABacklog(handled: Timestamp?, unread: Timestamp?, start: Timestamp) {
        let found = AnswerRestoreTime.start(
            now: Self.now, handledAt: handled.map { Self.now - $0 }, firstUnread: unread.map { Self.now - $0 }, retention: 1_000)
        #expect(found == Self.now - start)
    }
}
