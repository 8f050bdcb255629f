extension Int {
    /// The number and its noun: `1 store`, `2 stores`.
    ///
    /// - Parameter noun: in the singular, with a regular plural.
    package func counted(_ noun: String) -> String { "\(self) \(noun)\(self == 1 ? "" : "s")" }
}
