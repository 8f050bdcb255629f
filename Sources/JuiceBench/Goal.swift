/// A target for a measured figure.
package struct Goal: Equatable {
    /// Whether the limit is a minimum or a maximum.
    package enum Bound: String, Encodable {
        case atLeast
        case atMost
    }

    /// What is measured.
    package let name: String
    /// In `unit`; nil if the system does not report it.
    package let measured: Double?
    /// Whether ``limit`` is a minimum or a maximum.
    package let bound: Bound
    /// The limit, in `unit`.
    package let limit: Double
    /// Empty for a ratio.
    package var unit = ""

    /// Whether the goal is met; nil if nothing was measured.
    package var isMet: Bool? { measured.map { bound == .atLeast ? $0 >= limit : $0 <= limit } }
}

extension Goal: Encodable {
    private enum Key: String, CodingKey { case name, measured, bound, limit, unit, met }

    /// Encodes the goal with the member `met`, which is absent if nothing was measured.
    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(name, forKey: .name)
        try container.encodeIfPresent(measured, forKey: .measured)
        try container.encode(bound, forKey: .bound)
        try container.encode(limit, forKey: .limit)
        try container.encode(unit, forKey: .unit)
        try container.encodeIfPresent(isMet, forKey: .met)
    }
}
