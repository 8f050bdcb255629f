extension Int {
    /// So many of what a noun names, for people: `1 store`, `2 stores`.
    ///
    /// - Parameter noun: in the singular, with a regular plural.
    package func counted(_ noun: String) -> String { "\(self) \(noun)\(self == 1 ? "" : "s")" }
}
