/// Does something with one thing after the other, in every round beginning with another one: what a machine does to whoever
/// comes first, or last, it does to all in turn.
///
/// - Returns: what came of each, in the order of the things.
func inTurns<Thing, Result>(
    _ round: Int,
    _ things: [Thing],
    _ body: (Thing) throws -> Result
) rethrows -> [Result] {
    let first = (round - 1) % things.count
    let turned = try (things[first...] + things[..<first]).map(body)
    let back = things.count - first
    return Array(turned[back...] + turned[..<back])
}
