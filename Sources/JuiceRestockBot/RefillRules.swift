import JuiceMaker

/// When a fruit is refilled, and to which level.
public struct RefillRules: Sendable, Equatable {
    /// A fruit is short at this level and below.
    public let low: Int
    /// The level that a refill aims at.
    public let target: Int
    private let stores: Set<Name>?
    private let fruits: Set<Name>?

    /// Rules; nil unless 0 ≤ `low` < `target` ≤ `FruitStore.maximumLevel`.
    ///
    /// - Parameters:
    ///   - low: the level at which a fruit is short.
    ///   - target: the level that a refill aims at.
    ///   - stores: the stores to watch; nil for all.
    ///   - fruits: the fruits to watch; nil for all.
    public init?(low: Int, target: Int, stores: [String]? = nil, fruits: [String]? = nil) {
        guard low >= 0, low < target, target <= FruitStore.maximumLevel else { return nil }
        (self.low, self.target) = (low, target)
        self.stores = stores.map { Set($0.map(Name.init)) }
        self.fruits = fruits.map { Set($0.map(Name.init)) }
    }

    func watches(store: Name) -> Bool { stores?.contains(store) ?? true }
    func watches(fruit: String) -> Bool { fruits?.contains(Name(fruit)) ?? true }
}
