/// The latest values by key: at least `count` of them, and at most twice as many.
struct Recent<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private var young: [Key: Value] = [:]
    private var old: [Key: Value] = [:]
    private(set) var hasForgotten = false
    private let count: Int

    init(_ count: Int) { self.count = count }

    subscript(key: Key) -> Value? {
        get { young[key] ?? (old.isEmpty ? nil : old[key]) }
        set {
            young[key] = newValue
            if newValue == nil { old[key] = nil }
            if young.count >= count { (old, young, hasForgotten) = (young, [:], !old.isEmpty) }
        }
    }
}
