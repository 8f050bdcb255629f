import Foundation
import JuiceMessages

enum AnswerCells {
    /// The store, the outcome, the command's id and the message.
    static func of(_ answer: Answer) -> [Table.Cell] {
        let (word, colour) = outcome(answer)
        return [.init(StoreID.visible(answer.store)), .init(word, colour), .init(answer.id.printable), .init(message(answer))]
    }

    /// The answer's message, marked if it was given before.
    static func message(_ answer: Answer) -> String { answer.message.printable + (answer.isDuplicate ? "  (repeated)" : "") }

    /// Prints answers, one per line, with one write.
    static func write(_ answers: [Answer]) {
        var columns = TableColumns(paint: .none)
        StandardOutput.write(columns.lines(answers.map(of)).map { $0 + "\n" }.joined())
    }

    static func outcome(_ answer: Answer) -> (word: String, colour: Paint.Colour) {
        (answer.type.word, answer.isCarriedOut ? .green : answer.type == .rejected ? .red : .yellow)
    }
}
