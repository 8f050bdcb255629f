import JuiceMessages

/// Formats an answer as one line.
enum AnswerLine {
    /// `12:34:56  gangnam       made          pos-1             juice made: kiwi juice`.
    static func text(_ answer: Answer, time: String?, paint: Paint) -> String {
        let (word, colour) = outcome(answer)
        let columns = [
            time.map { paint(.faint, $0) },
            DisplayWidth.pad(answer.store.printable, to: 12),
            paint(colour, DisplayWidth.pad(word, to: 12)),
            DisplayWidth.pad(answer.id.printable, to: 16),
            answer.message.printable,
        ]
        return columns.compactMap { $0 }.joined(separator: "  ") + (answer.isDuplicate ? "  (repeated)" : "")
    }

    /// Prints answers, one per line, with one write.
    static func write(_ answers: [Answer]) {
        guard !answers.isEmpty else { return }
        StandardOutput.write(answers.map { text($0, time: nil, paint: .none) + "\n" }.joined())
    }

    static func outcome(_ answer: Answer) -> (word: String, colour: Paint.Colour) {
        switch answer.outcome {
        case .juiceMade: ("made", .green)
        case .outOfStock: ("out of stock", .yellow)
        case .restocked: ("restocked", .cyan)
        case .cancelled: ("cancelled", .cyan)
        case .rejected: ("rejected", .red)
        }
    }
}
