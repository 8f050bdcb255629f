/// A program that a measurement compares.
enum Contender: CaseIterable {
    /// `juice serve`.
    case service
    /// The bare loop by Kafka's own recipe, with records as long as the service's answers: the baseline.
    case bare
    /// The same without offsets in its transactions: the least that a journal can cost.
    case least

    /// The name in tables and progress lines.
    var name: String {
        switch self {
        case .service: "service"
        case .bare: "bare loop"
        case .least: "no offsets"
        }
    }
}

/// Calls `body` for each item, starting with another item each round, so that the effects of being first or last even out.
///
/// - Returns: the results in the order of `things`.
func inTurns<Thing, Result>(_ round: Int, _ things: [Thing], _ body: (Thing) throws -> Result) rethrows -> [Result] {
    let first = (round - 1) % things.count
    let turned = try (things[first...] + things[..<first]).map(body)
    let back = things.count - first
    return Array(turned[back...] + turned[..<back])
}
