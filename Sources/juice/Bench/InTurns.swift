/// Does two things one after the other, in every second round the other one first: what a machine does to whoever comes
/// first, or second, it does to both.
func inTurns<First, Second>(
    _ round: Int,
    _ first: () throws -> First,
    _ second: () throws -> Second
) rethrows -> (First, Second) {
    guard round.isMultiple(of: 2) else { return (try first(), try second()) }
    let second = try second()
    return (try first(), second)
}
