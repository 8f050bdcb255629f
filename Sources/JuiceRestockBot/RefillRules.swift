import JuiceMaker

/// When a fruit is refilled, and up to where.
public struct RefillRules: Sendable, Equatable {
    /// A fruit with at most so many left is short.
    public let low: Int
    /// What a refill brings a fruit up to.
    public let target: Int
    /// By their bytes: as `String` "é" would be the same in one and in two code points.
    private let stores: Set<[UInt8]>?
    private let fruits: Set<[UInt8]>?

    /// Rules; nil unless 0 ≤ `low` < `target` ≤ `FruitStore.maximumLevel`. Stores and fruits are those watched; nil is all.
    public init?(low: Int, target: Int, stores: [String]? = nil, fruits: [String]? = nil) {
        guard low >= 0, low < target, target <= FruitStore.maximumLevel else { return nil }
        (self.low, self.target) = (low, target)
        self.stores = stores.map { Set($0.map { Array($0.utf8) }) }
        self.fruits = fruits.map { Set($0.map { Array($0.utf8) }) }
    }

    func watches(store: [UInt8]) -> Bool { stores?.contains(store) ?? true }
    func watches(fruit: String) -> Bool { fruits?.contains(Array(fruit.utf8)) ?? true }
}
