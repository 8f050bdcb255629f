import JuiceMessages

/// Stands for a command's kind, store and id: 128 bits of a hash with a key of this process's own.
///
/// Ids are as long as their senders like. With a million of them in memory, the chance that a new one is taken for
/// another is 10^-32, far below that of a memory error, and as nobody outside knows the key, nobody can look for one.
package struct CommandFingerprint: Equatable {
    let low: UInt64
    let high: UInt64

    /// Stands for no command.
    static let none = CommandFingerprint(low: 0, high: 0)

    private init(low: UInt64, high: UInt64) {
        self.low = low
        self.high = high
    }

    package init(_ kind: CommandKind, store: BorrowedText, id: BorrowedText) {
        var hasher = Hasher()
        // The length keeps store and id apart.
        hasher.combine(store.bytes.count << 1 | (kind == .order ? 0 : 1))
        hasher.combine(bytes: store.bytes)
        hasher.combine(bytes: id.bytes)
        // Both halves come from the hasher's whole state, which has 256 bits.
        var second = hasher
        second.combine(UInt8(1))
        low = UInt64(bitPattern: Int64(hasher.finalize()))
        high = UInt64(bitPattern: Int64(second.finalize()))
    }
}
