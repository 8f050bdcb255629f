import JuiceMessages
import Testing

@testable import JuiceEngine

/// When answers are forgotten for their age: with a window of 1,000 ms no earlier than after 2,000.
@Suite struct AnswerAgesTests {
    /// One answer for each thing that happens, so that their numbers are places in the story.
    private struct Story {
        var ages = AnswerAges(window: DuplicateWindow(age: 1000, count: 100))
        var first = 0
        var next = 0
        var now: Timestamp = 0

        /// Answers a command of this time, and commits.
        mutating func answer(_ kind: CommandKind = .order, sentAt time: Timestamp, at now: Timestamp) {
            ages.add(kind, at: time, number: next)
            next += 1
            commit(at: now)
        }

        mutating func commit(at now: Timestamp) {
            self.now = now
            ages.advance(to: now)
            first = ages.firstToKeep(of: first..<next)
        }

        /// Lets time pass in steps that are no outage.
        mutating func pass(_ duration: Timestamp) {
            let end = now + duration
            while now < end { commit(at: min(end, now + 10)) }
        }
    }

    @Test func aKindWaitsForItsOwnTopicOnly() {
        var story = Story()
        story.answer(sentAt: 0, at: 0)
        story.pass(5000)
        story.answer(.restock, sentAt: 5000, at: 5000)
        // Orders may still lag behind.
        #expect(story.first == 0)
        story.answer(sentAt: 5000, at: 5000)
        #expect(story.first == 1)
        story.pass(5000)
        story.answer(sentAt: 10_000, at: 10_000)
        // The restock is next, and restocks may.
        #expect(story.first == 1)
        story.answer(.restock, sentAt: 10_000, at: 10_000)
        #expect(story.first == 3)
    }

    @Test func whatIsUndoneAgesNothing() {
        var story = Story()
        story.answer(sentAt: 0, at: 0)
        story.pass(5000)
        story.ages.add(.order, at: 5000, number: 1)
        story.ages.undo(to: 1)
        story.pass(100)
        #expect(story.first == 0)
    }

    /// What their commands' times were is not known, so the answers' count.
    @Test func whatIsRestoredStaysUntilLaterCommandsAreRead() {
        var story = Story()
        for number in 0..<10 { story.ages.addRestored(.order, answeredAt: Timestamp(number) * 1000, number: number) }
        story.next = 10
        story.now = 100_000
        story.pass(5000)
        #expect(story.first == 0)
        // A backlog: these were sent before those answers were given.
        story.answer(sentAt: 2500, at: story.now)
        #expect(story.first == 1)
        story.answer(sentAt: 1_000_000, at: story.now)
        #expect(story.first == 10)
    }

    @Test func nothingThatLastsTakesMoreAndMoreMarks() {
        var story = Story()
        // No restock comes any more, so that all that follow the first one stay.
        story.answer(.restock, sentAt: 0, at: 0)
        for step in 0..<20_000 { story.answer(sentAt: Timestamp(step) * 10, at: Timestamp(step) * 10) }
        #expect(story.first == 0)
        story.answer(.restock, sentAt: 200_000, at: 200_000)
        // Coarser than they were, but still by far the most are over.
        #expect(story.first > 19_000)
    }

    @Test func aWindowOfNothingEnds() {
        var ages = AnswerAges(window: DuplicateWindow(age: 0, count: 100))
        ages.add(.order, at: 0, number: 0)
        for now in Timestamp(0)..<10 {
            ages.add(.order, at: now, number: Int(now) + 1)
            ages.advance(to: now)
        }
        #expect(ages.firstToKeep(of: 0..<11) > 5)
    }
}
