/// What waits to be sent to one page. It never holds more than a few frames, however slow the page is: of what only has a
/// present state the newest, of the answers the last few, and of those that the page itself asked for all, of which the
/// kiosk allows only so many.
struct Mailbox<Frame: Sendable>: Sendable {
    /// What only its newest state matters of.
    enum Slot: Int, CaseIterable, Sendable {
        case link, stores, stock, board
    }

    /// How many answers may wait. A page shows no more.
    static var mostAnswers: Int { 30 }
    /// How many answers to the page's own commands may wait.
    static var mostOwnAnswers: Int { 200 }

    private var newest = [Frame?](repeating: nil, count: Slot.allCases.count)
    private var answers: [Frame] = []
    private var own: [Frame] = []

    /// Puts a frame in place of the one of before.
    mutating func put(_ frame: Frame, in slot: Slot) {
        newest[slot.rawValue] = frame
    }

    /// Adds an answer; the oldest makes way.
    mutating func add(answer frame: Frame) {
        if answers.count == Self.mostAnswers { answers.removeFirst() }
        answers.append(frame)
    }

    /// Adds an answer that the page waits for.
    mutating func add(own frame: Frame) {
        if own.count == Self.mostOwnAnswers { own.removeFirst() }
        own.append(frame)
    }

    /// All that waits, in the order in which it is to be sent: what the page waits for first.
    mutating func take() -> [Frame] {
        defer { self = Self() }
        return own + newest.compactMap(\.self) + answers
    }
}
