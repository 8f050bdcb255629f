import JuiceEngine
import JuiceMessages
import Testing

/// The effective time of a command, and the restore time that follows from it.
@Suite struct CommandTimesTests {
    private static let now: Timestamp = 1_700_000_000_000
    private static let week: Timestamp = 604_800_000

    @Test(
        arguments: [
            (now, now), (now - 1, now - 1), (now - week, now - week),
            // In the future, or older than any unread command can be.
            (now + 1, now), (now + 3_600_000, now), (.max, now), (now - week - 1, now), (0, now),
            (-10_000_000_000_000, now), (.min, now), (nil, now),
        ] as [(Timestamp?, Timestamp)]
    )
    func anInvalidTimeCountsAsTheMomentOfReading(timestamp: Timestamp?, time: Timestamp) {
        #expect(CommandTimes().effective(timestamp, readAt: Self.now) == time)
    }

    /// Where brokers limit timestamps, the reader's clock is ignored: it may be wrong by decades.
    @Test(
        arguments: [
            (now + 3_600_000, now + 3_600_000, now), (now - 3 * week, now, now - 3 * week), (now - week, now - week, now - week),
            (1 << 44, now, now), (0, now, 0), (-1, now, now), (nil, now, now),
        ] as [(Timestamp?, ahead: Timestamp, behind: Timestamp)]
    )
    func aTimeIsBelievedWhereBrokersLimitIt(timestamp: Timestamp?, ahead: Timestamp, behind: Timestamp) {
        #expect(CommandTimes(limitsAhead: true).effective(timestamp, readAt: Self.now) == ahead)
        #expect(CommandTimes(limitsBehind: true).effective(timestamp, readAt: Self.now) == behind)
    }

    /// The arithmetic of times must not overflow.
    @Test(arguments: [Timestamp.min, -1, 0, .max], [nil, .min, 0, .max] as [Timestamp?])
    func theReadersClockMayBeInvalidToo(now: Timestamp, timestamp: Timestamp?) {
        #expect(CommandTimes().effective(timestamp, readAt: now) == now)
    }

    /// The ages of the last handled record and of the first unread one, and how far before now the restore starts.
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
