/// A text table with aligned columns, in any script.
struct Table {
    struct Column {
        let title: String
        var alignment = DisplayWidth.Alignment.left
        /// The minimum width.
        var width = 0
    }

    struct Cell {
        let text: String
        var colour: Paint.Colour?

        init(_ text: String, _ colour: Paint.Colour? = nil) {
            self.text = text
            self.colour = colour
        }
    }

    let columns: [Column]
    private(set) var rows: [[Cell]] = []

    init(_ columns: [Column]) { self.columns = columns }

    mutating func add(_ cells: [Cell]) { rows.append(cells) }

    /// A line with the titles and one per row, without trailing spaces.
    func lines(paint: Paint) -> [String] {
        let titles = columns.map { Cell($0.title, .faint) }
        let widths = columns.indices.map { column in
            ([titles] + rows).reduce(columns[column].width) { widest, row in
                column < row.count ? max(widest, DisplayWidth.of(row[column].text)) : widest
            }
        }
        return ([titles] + rows).map { row in
            let last = row.lastIndex { !$0.text.isEmpty } ?? 0
            return row[...last].indices.map { column in
                let isLast = column == last && columns[column].alignment == .left
                let text = DisplayWidth.pad(row[column].text, to: isLast ? 0 : widths[column], columns[column].alignment)
                return paint(row[column].colour, text)
            }.joined(separator: "  ")
        }
    }
}
