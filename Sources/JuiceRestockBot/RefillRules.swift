import JuiceMaker

/// When a fruit is refilled, and up to where.
public struct RefillRules: Sendable, Equatable {
    /// A fruit with at most so many left is short.
    public let low: Int
    /// What a refill brings a fruit up to.
    public let target: Int
    /// The stores that are watched; nil is all of them.
    public let stores: Set<ByteText>?
    /// The ids of the fruits that are watched; nil is all of them.
    public let fruits: Set<ByteText>?

    /// Rules; nil unless 0 ≤ `low` < `target` ≤ `FruitStore.maximumLevel`.
    public init?(low: Int, target: Int, stores: [String]? = nil, fruits: [String]? = nil) {
        guard low >= 0, low < target, target <= FruitStore.maximumLevel else { return nil }
        self.low = low
        self.target = target
        self.stores = stores.map { Set($0.map(ByteText.init)) }
        self.fruits = fruits.map { Set($0.map(ByteText.init)) }
    }

    func watches(store: ByteText) -> Bool { stores?.contains(store) ?? true }

    func watches(fruit: ByteText) -> Bool { fruits?.contains(fruit) ?? true }
}

/// A text that is equal to another only when its bytes are, as ids are in Kafka. `String` would hold "é" in one and in
/// two code points for the same.
public struct ByteText: Sendable, Hashable, Comparable {
    /// The text.
    public let text: String

    /// A text to be compared by its bytes.
    public init(_ text: String) { self.text = text }

    /// Whether the bytes are the same.
    public static func == (first: Self, second: Self) -> Bool {
        first.text.utf8.elementsEqual(second.text.utf8)
    }

    /// Whether the bytes come first.
    public static func < (first: Self, second: Self) -> Bool {
        first.text.utf8.lexicographicallyPrecedes(second.text.utf8)
    }

    /// Feeds the bytes.
    public func hash(into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }
}
