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
            for timestamp in [nil, Timestamp.min, 0, .max] { _ = CommandTime.effective(timestamp, readAt: now) }
        }
    }

    private func start(answers: [Timestamp?] = [], read: [Timestamp?] = [], unread: [Timestamp?] = []) -> Timestamp {
        var restoreTime = AnswerRestoreTime(now: Self.now)
        for time in answers { restoreTime.addAnswer(at: time) }
        for time in read { restoreTime.addRead(.orders, at: time) }
        for time in unread { restoreTime.addUnread(.orders, at: time) }
        return restoreTime.start(retention: 0) - Self.now
    }

    @Test func theHorizonIsTheTimeOfTheLastCommands() {
        #expect(start() == 0)
        // An outage, in which nothing was read.
        #expect(start(answers: [Self.now - 900], read: [Self.now - 950]) == -950)
        // A backlog.
        #expect(start(answers: [Self.now - 10], read: [Self.now - 810], unread: [Self.now - 800]) == -800)
        // One clock is behind.
        #expect(start(read: [Self.now - 90, Self.now - 5_000]) == -90)
        // One clock is ahead: the last answer bounds the time of its command.
        #expect(start(answers: [Self.now - 900], read: [Self.now - 10]) == -900)
    }

    @Test func anInvalidTimeOnlyCountsIfUnread() {
        #expect(start(read: [Self.now - 90, Self.now + 1, nil, 0, .max]) == -90)
        #expect(start(read: [Self.now - 90], unread: [Self.now + 1, Self.now - 5_000]) == 0)
        #expect(start(answers: [.max, Self.now - 90]) == 0)
    }

    @Test func bothTopicsCount() {
        var restoreTime = AnswerRestoreTime(now: Self.now)
        restoreTime.addUnread(.orders, at: Self.now)
        restoreTime.addRead(.restocks, at: Self.now - 500)
        #expect(restoreTime.start(retention: 1_000) == Self.now - 1_500)
    }
}
