import JuiceDomain

struct StoreState {
    /// The known levels, by the fruits' ids.
    var levels: [String: Int] = [:]
    /// Whether all other fruits have their initial stock. Otherwise their levels are unknown.
    var isWhole = false
    /// Nil until a record names it.
    var revision: Int?

    static let unknown = StoreState()
    static let untouched = StoreState(isWhole: true, revision: 0)

    func level(of fruit: Fruit) -> Int? { levels[fruit.id] ?? (isWhole ? fruit.initialStock : nil) }
}
