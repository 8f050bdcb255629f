/// Something that a measurement is to reach, and whether it does.
struct Goal: Equatable {
    enum Bound: String, Encodable {
        case atLeast
        case atMost
    }

    let name: String
    /// In `unit`; nil where this system does not tell.
    let measured: Double?
    let bound: Bound
    let limit: Double
    /// Empty for a ratio.
    var unit = ""

    /// Nil where nothing was measured.
    var isMet: Bool? {
        measured.map { bound == .atLeast ? $0 >= limit : $0 <= limit }
    }

    /// A table of goals, what was measured beside what is wanted.
    static func table(_ goals: [Goal]) -> Table {
        var table = Table([
            .init(title: "goal"), .init(title: "measured", alignsRight: true),
            .init(title: "wanted", alignsRight: true), .init(title: ""),
        ])
        for goal in goals {
            let unit = goal.unit.isEmpty ? "" : " \(goal.unit)"
            let sign = goal.bound == .atLeast ? "≥" : "≤"
            let verdict: Table.Cell =
                switch goal.isMet {
                case true?: .init("met", .green)
                case false?: .init("missed", .red)
                case nil: .init("not measured", .yellow)
                }
            table.add([
                .init(goal.name), .init(goal.measured, unit),
                .init("\(sign) \(Figure.text(goal.limit))\(unit)"), verdict,
            ])
        }
        return table
    }
}

extension Goal: Encodable {
    private enum Key: String, CodingKey {
        case name, measured, bound, limit, unit, met
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(name, forKey: .name)
        try container.encodeIfPresent(measured, forKey: .measured)
        try container.encode(bound, forKey: .bound)
        try container.encode(limit, forKey: .limit)
        try container.encode(unit, forKey: .unit)
        try container.encodeIfPresent(isMet, forKey: .met)
    }
}

extension Table.Cell {
    /// A number for people; `-` where there is none.
    init(_ value: Double?, _ unit: String = "") {
        self.init(value.map { Figure.text($0) + unit } ?? "-")
    }
}

/// Numbers for people.
enum Figure {
    /// Three digits that say something: `1,234,567`, `123`, `12.3`, `1.23`, `0.012`.
    static func text(_ value: Double) -> String {
        guard value.isFinite else { return "-" }
        let size = abs(value)
        let decimals = size >= 100 || size == 0 ? 0 : size >= 10 ? 1 : size >= 0.1 ? 2 : 3
        return text(value, decimals: decimals)
    }

    /// So many digits after the point, and commas before it.
    static func text(_ value: Double, decimals: Int) -> String {
        let scale = (0..<decimals).reduce(1) { scale, _ in scale * 10 }
        let scaled = (abs(value) * Double(scale)).rounded()
        guard let whole = Int(exactly: scaled) else { return "\(value)" }
        let sign = value < 0 && whole > 0 ? "-" : ""
        let fraction = String(whole % scale)
        let zeros = String(repeating: "0", count: max(0, decimals - fraction.count))
        return sign + grouped(whole / scale) + (decimals > 0 ? ".\(zeros)\(fraction)" : "")
    }

    /// A whole number, whatever its size.
    static func text(_ count: Int) -> String { text(Double(count), decimals: 0) }

    private static func grouped(_ value: Int) -> String {
        let digits = Array(String(value))
        return String(
            digits.indices.flatMap { index in
                let isFirstOfThree = index > 0 && (digits.count - index) % 3 == 0
                return isFirstOfThree ? [",", digits[index]] : [digits[index]]
            }
        )
    }
}
