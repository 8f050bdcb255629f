/// The lines of `juice history`: the answers that changed the stock.
struct HistoryFormat: AnswerFormat {
    let paint: Paint

    private static let timeWidth = 19
    private static let revisionWidth = 7

    func shows(_ entry: ResultsReader.Entry) -> Bool {
        entry.answer.flatMap(StockChange.init) != nil
    }

    /// `2026-01-31 12:34:56       17  order pos-7: 2 × kiwi  used kiwi 6  left kiwi 4`.
    func line(_ entry: ResultsReader.Entry) -> String {
        guard let answer = entry.answer, let change = StockChange(answer) else { return "" }
        let time = entry.timestamp.map { DateTime.text(milliseconds: $0) } ?? ""
        let revision = answer.revision.map(String.init) ?? ""
        let columns = [
            paint(.faint, DisplayWidth.pad(time, to: Self.timeWidth)),
            paint(.bold, DisplayWidth.pad(revision, to: Self.revisionWidth, .right)),
            change.cause.printable,
            change.amounts.map { paint(.cyan, $0.printable) },
            change.levels.printable,
        ]
        return columns.compactMap(\.self).joined(separator: "  ")
    }

    func line(_ missing: MissingRevisions, before entry: ResultsReader.Entry) -> String {
        let indent = String(repeating: " ", count: Self.timeWidth + 2 + Self.revisionWidth + 2)
        return indent + paint(.red, missing.message)
    }
}
