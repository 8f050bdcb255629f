import JuiceMessages

/// An answer, and when it was written.
struct TimedAnswer: Sendable, Equatable {
    let answer: Answer
    /// Milliseconds since 1970; 0 where the broker kept no time.
    let time: Int64
}

/// What goes on at a store, or at all of them: the latest answers and how many of which kind.
struct Activity: Sendable {
    /// How many answers are kept for a page that opens.
    static let mostAnswers = 30

    /// The latest answers, oldest first.
    private(set) var answers: [TimedAnswer] = []
    private(set) var window: RateWindow
    /// When the last answer came, in seconds.
    private(set) var activeAt: Int

    init(now: Int) {
        window = RateWindow(now: now)
        activeAt = now
    }

    /// Takes in an answer.
    ///
    /// - Parameter counts: whether it is to be counted; answers of before the kiosk's start are only listed.
    mutating func take(_ answer: TimedAnswer, counts: Bool, now: Int) {
        activeAt = now
        if answers.count == Self.mostAnswers { answers.removeFirst() }
        answers.append(answer)
        // A repeat is no second order.
        guard counts, !answer.answer.isDuplicate, let outcome = Self.outcome(answer.answer) else { return }
        window.count(outcome, at: Int(answer.time / 1000), now: now)
    }

    mutating func steps(of length: Int, now: Int) -> [RateWindow.Counts] {
        window.steps(of: length, now: now)
    }

    mutating func rate(now: Int) -> Double { window.rate(now: now) }

    private static func outcome(_ answer: Answer) -> WritableKeyPath<RateWindow.Counts, Int>? {
        guard answer.command == .order else { return nil }
        return switch answer.outcome {
        case .juiceMade: \.made
        case .outOfStock: \.outOfStock
        case .rejected: \.rejected
        case .restocked: nil
        }
    }
}
