/// Values by key, of which those that were set last are kept: a capacity's worth at least, less than twice as many.
///
/// Two dictionaries take turns, so that nobody has to look for the oldest.
struct RecentTable<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private let capacity: Int
    private var latest: [Key: Value] = [:]
    private var former: [Key: Value] = [:]

    init(capacity: Int) {
        self.capacity = capacity
    }

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

    /// In no order.
    var keys: [Key] { Array(latest.keys) + Array(former.keys) }
}
