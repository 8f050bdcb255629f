/// Who goes through the orders of a measurement.
enum Contender: CaseIterable {
    /// `juice serve`.
    case service
    /// The bare loop, whose records are as long as the service's answers: what the service is held against.
    case bare
    /// The bare loop, which copies the orders as they are.
    case copy

    /// For people.
    var name: String {
        switch self {
        case .service: "service"
        case .bare: "bare loop"
        case .copy: "bare copy"
        }
    }
}
