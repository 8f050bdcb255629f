/// Figures in rows and columns, independent of how the table is drawn.
package struct FigureTable {
    /// The alignment of a column.
    package enum Alignment {
        case left
        case right
    }

    /// Titles and alignments.
    package let columns: [(title: String, alignment: Alignment)]
    /// One text per column; `-` for an unknown figure.
    package private(set) var rows: [[String]] = []

    init(_ columns: [(title: String, alignment: Alignment)]) { self.columns = columns }

    /// A column of row titles, followed by columns of figures.
    init(figures titles: [String]) {
        self.init(titles.enumerated().map { ($1, $0 == 0 ? .left : .right) })
    }

    mutating func add(_ cells: [Cell]) { rows.append(cells.map(\.text)) }

    struct Cell {
        fileprivate let text: String

        static func text(_ text: String) -> Cell { Cell(text: text) }

        /// A number for people; `-` for nil.
        static func figure(_ value: Double?, _ unit: String = "") -> Cell {
            Cell(text: value.map { Figure.text($0) + unit } ?? "-")
        }
    }
}

/// Formats numbers for people.
package enum Figure {
    /// At least three significant digits in most cases: `1,234,567`, `123`, `12.3`, `1.23`, `0.012`.
    package static func text(_ value: Double) -> String {
        guard value.isFinite else { return "-" }
        let size = abs(value)
        let decimals = size >= 100 || size == 0 ? 0 : size >= 10 ? 1 : size >= 0.1 ? 2 : 3
        return text(value, decimals: decimals)
    }

    /// A fixed number of decimals, and commas between thousands.
    static func text(_ value: Double, decimals: Int) -> String {
        let scale = (0..<decimals).reduce(1) { scale, _ in scale * 10 }
        let scaled = (abs(value) * Double(scale)).rounded()
        guard let whole = Int(exactly: scaled) else { return "\(value)" }
        let sign = value < 0 && whole > 0 ? "-" : ""
        let fraction = String(whole % scale)
        let zeros = String(repeating: "0", count: max(0, decimals - fraction.count))
        return sign + grouped(whole / scale) + (decimals > 0 ? ".\(zeros)\(fraction)" : "")
    }

    /// A whole number with commas between thousands.
    static func text(_ count: Int) -> String { text(Double(count), decimals: 0) }

    private static func grouped(_ value: Int) -> String {
        let digits = Array(String(value))
        return String(
            digits.indices.flatMap { index in
                let isFirstOfThree = index > 0 && (digits.count - index) % 3 == 0
                return isFirstOfThree ? [",", digits[index]] : [digits[index]]
            })
    }
}
