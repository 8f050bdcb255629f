import JuiceMessages

/// Identifies a command by a 95-bit hash of its kind, store and id, with a key that only this process knows.
///
/// Ids can be long. Among a million of them, a new one collides with another with a probability of 10^-22, far below that of
/// a memory error. Without the key, nobody can search for a collision.
package struct CommandFingerprint: Equatable {
    let low: UInt64
    /// Its lowest bit is 0, and free for other uses.
    let high: UInt32

    /// Commands of different kinds with the same id are different commands: each kind has a key of its own.
    private static let orderKey = SipHash.Key.random()
    private static let restockKey = SipHash.Key.random()
    private static let cancelKey = SipHash.Key.random()

    package init(_ kind: CommandKind, store: BorrowedText, id: BorrowedText) {
        let key =
            switch kind {
            case .order: Self.orderKey
            case .restock: Self.restockKey
            case .cancel: Self.cancelKey
            }
        let hash = SipHash.wideHash(store.bytes, id.bytes, key: key)
        (low, high) = (hash.0, UInt32(truncatingIfNeeded: hash.1) & ~1)
    }
}
