/// When orders are due.
struct Schedule: Sendable {
    let rate: Int
    let seconds: Int

    /// The orders of the first second are not counted: clients connect and memory grows.
    var warmUp: Int { rate }
    var orders: Int { warmUp + rate * seconds }

    /// When an order is due, relative to the first.
    func due(_ number: Int) -> Duration { .seconds(number) / rate }
}
