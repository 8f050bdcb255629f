import JuiceMessages

/// Identifies a command by a 96-bit hash of its kind, store and id, with a key that only this process knows.
///
/// Ids can be long. Among a million of them, a new one collides with another with a probability of 10^-23, far below that of
/// a memory error. Without the key, nobody can search for a collision.
package struct CommandFingerprint: Equatable {
    // In this order, a time of 4 bytes fits into the padding.
    let low: UInt64
    let high: UInt32

    /// The fingerprint of no command.
    static let none = CommandFingerprint(low: 0, high: 0)

    /// Commands of different kinds with the same id are different commands: each kind has a key of its own.
    private static let orderKey = SipHash.Key.random()
    private static let restockKey = SipHash.Key.random()
    private static let cancelKey = SipHash.Key.random()

    private init(low: UInt64, high: UInt32) {
        self.low = low
        self.high = high
    }

    package init(_ kind: CommandKind, store: BorrowedText, id: BorrowedText) {
        let key =
            switch kind {
            case .order: Self.orderKey
            case .restock: Self.restockKey
            case .cancel: Self.cancelKey
            }
        let hash = SipHash.wideHash(store.bytes, id.bytes, key: key)
        self.init(low: hash.0, high: UInt32(truncatingIfNeeded: hash.1))
    }
}
