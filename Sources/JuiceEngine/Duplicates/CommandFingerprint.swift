import JuiceMessages

/// Stands for a command's kind, store and id: 96 bits of a hash with a key of this process's own.
///
/// Ids are as long as their senders like. With a million of them in memory, the chance that a new one is taken for
/// another is 10^-23, far below that of a memory error, and as nobody outside knows the key, nobody can look for one.
package struct CommandFingerprint: Equatable {
    // In this order they leave the memory room for a time of 4 bytes.
    let low: UInt64
    let high: UInt32

    /// Stands for no command.
    static let none = CommandFingerprint(low: 0, high: 0)

    /// Orders and restocks with the same id are different commands: each kind has a key of its own.
    private static let orderKey = SipHash.Key.random()
    private static let restockKey = SipHash.Key.random()

    private init(low: UInt64, high: UInt32) {
        self.low = low
        self.high = high
    }

    package init(_ kind: CommandKind, store: BorrowedText, id: BorrowedText) {
        let key = kind == .order ? Self.orderKey : Self.restockKey
        let hash = SipHash.wideHash(store.bytes, id.bytes, key: key)
        self.init(low: hash.0, high: UInt32(truncatingIfNeeded: hash.1))
    }
}
