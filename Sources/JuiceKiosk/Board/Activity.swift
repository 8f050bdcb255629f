import JuiceMessages

/// An answer and the time it was written.
struct TimedAnswer: Sendable, Equatable {
    let answer: Answer
    /// The record's timestamp, in milliseconds since 1970; 0 if it has none.
    let time: Int64
    /// The revisions of the store that are missing before this answer; nil if none are.
    var gap: ClosedRange<Int>?
}

/// The activity at one store, or at all of them: the latest answers, and counts by outcome.
struct Activity: Sendable {
    /// How many answers a newly opened page gets.
    static let mostAnswers = 30

    /// The latest answers, oldest first.
    private(set) var answers: [TimedAnswer] = []
    /// The last answer with a gap before it, kept for longer than the latest answers; nil if there was none.
    private(set) var answerAfterGap: TimedAnswer?
    private(set) var window: RateWindow
    /// When the last answer arrived, in seconds since 1970.
    private(set) var activeAt: Int

    init(now: Int) {
        window = RateWindow(now: now)
        activeAt = now
    }

    /// Adds an answer.
    ///
    /// - Parameter isHistory: whether it was written before the kiosk started: then it is listed, but not counted.
    mutating func add(_ answer: TimedAnswer, isHistory: Bool, now: Int) {
        activeAt = now
        if answers.count == Self.mostAnswers { answers.removeFirst() }
        answers.append(answer)
        if answer.gap != nil { answerAfterGap = answer }
        // A duplicate is not a second order.
        guard !isHistory, !answer.answer.isDuplicate, let outcome = Self.outcome(answer.answer) else { return }
        window.count(outcome, at: Int(answer.time / 1000), now: now)
    }

    /// The counts in steps of `length` seconds, oldest first.
    mutating func steps(of length: Int, now: Int) -> [RateWindow.Counts] {
        window.steps(of: length, now: now)
    }

    /// Orders per second at present.
    mutating func rate(now: Int) -> Double { window.rate(now: now) }

    private static func outcome(_ answer: Answer) -> WritableKeyPath<RateWindow.Counts, Int>? {
        switch answer.outcome {
        case .juiceMade: \.made
        case .outOfStock: \.outOfStock
        case .cancelled: \.cancelled
        case .rejected: answer.command == .order ? \.rejected : nil
        case .restocked: nil
        }
    }
}
