/// The frames waiting to be sent to one page. Their number is bounded, however slow the page is: the newest frame of each slot, the
/// last few answers, and the answers to the page's own commands, whose number the kiosk limits.
struct Mailbox<Frame: Sendable>: Sendable {
    /// Kinds of frames that replace each other: only the newest matters.
    enum Slot: Int, CaseIterable, Sendable { case link, stores, stock, board }

    /// The most answers that wait. A page shows no more.
    static var mostAnswers: Int { 30 }
    /// The most answers to the page's own commands that wait.
    static var mostOwnAnswers: Int { 200 }

    private var newest = [Frame?](repeating: nil, count: Slot.allCases.count)
    private var answers: [Frame] = []
    private var own: [Frame] = []

    /// Replaces the frame in a slot.
    mutating func put(_ frame: Frame, in slot: Slot) { newest[slot.rawValue] = frame }

    /// Adds an answer. If there are too many, the oldest is dropped.
    mutating func add(answer frame: Frame) {
        if answers.count == Self.mostAnswers { answers.removeFirst() }
        answers.append(frame)
    }

    /// Adds an answer to one of the page's own commands.
    mutating func add(own frame: Frame) {
        if own.count == Self.mostOwnAnswers { own.removeFirst() }
        own.append(frame)
    }

    /// Removes and returns all frames in sending order: the page's own answers first.
    mutating func drain() -> [Frame] {
        defer { self = Self() }
        return own + newest.compactMap(\.self) + answers
    }
}
