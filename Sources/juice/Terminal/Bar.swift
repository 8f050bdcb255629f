/// A horizontal bar with a resolution of an eighth of a column.
enum Bar {
    private static let eighths: [Character] = ["▏", "▎", "▍", "▌", "▋", "▊", "▉"]

    /// A bar for `value` that has the width `columns` at `full`.
    ///
    /// Any value above zero is visible, so an empty bar means that nothing is left.
    static func text(_ value: Int, full: Int, columns: Int) -> String {
        guard value > 0, full > 0, columns > 0 else { return "" }
        let share = min(1, Double(value) / Double(full))
        let units = max(1, Int((share * Double(columns) * 8).rounded()))
        var bar = String(repeating: "█", count: units / 8)
        if units % 8 > 0 { bar.append(eighths[units % 8 - 1]) }
        return bar
    }
}
