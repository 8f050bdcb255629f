/// A dictionary that keeps the keys set last: at least `capacity` of them, fewer than twice as many.
///
/// Two generations take turns: when the newer one is full, it replaces the older. So no entry has to be searched for to evict.
struct RecentTable<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private let capacity: Int
    private var latest: [Key: Value] = [:]
    private var former: [Key: Value] = [:]

    init(capacity: Int) { self.capacity = capacity }

    subscript(key: Key) -> Value? {
        get { latest[key] ?? former[key] }
        set {
            guard let newValue else {
                latest[key] = nil
                former[key] = nil
                return
            }
            guard latest.updateValue(newValue, forKey: key) == nil else { return }
            former[key] = nil
            guard latest.count == capacity else { return }
            former = latest
            latest = [:]
        }
    }

    /// All keys, in no particular order.
    var keys: [Key] { Array(latest.keys) + Array(former.keys) }
}
