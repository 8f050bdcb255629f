import JuiceMaker

/// When a fruit is refilled, and to which level.
public struct RefillRules: Sendable, Equatable {
    /// A fruit is short at this level and below.
    public let low: Int
    /// The level that a refill aims at.
    public let target: Int
    /// As bytes: compared as `String`, "é" would equal itself in one and in two code points.
    private let stores: Set<[UInt8]>?
    private let fruits: Set<[UInt8]>?

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
        self.stores = stores.map { Set($0.map { Array($0.utf8) }) }
        self.fruits = fruits.map { Set($0.map { Array($0.utf8) }) }
    }

    func watches(store: [UInt8]) -> Bool { stores?.contains(store) ?? true }
    func watches(fruit: String) -> Bool { fruits?.contains(Array(fruit.utf8)) ?? true }
}
