package struct Fault: Sendable, Encodable, CustomStringConvertible {
    package let category: Category
    /// The record that shows it, or that is missing.
    package let place: Place
    package let problem: String

    package enum Category: String, Sendable, Encodable {
        /// A record that must exist does not.
        case missing
        /// A record exists once too often, or a command was carried out once too often.
        case doubled
        /// A record exists, but is not as it must be.
        case wrong
    }

    init(_ category: Category, _ place: Place, _ problem: String) {
        (self.category, self.place, self.problem) = (category, place, problem)
    }

    package var description: String { "\(category.rawValue): \(place): \(problem)" }
}
