import JuiceMessages

/// Identifies a command by an 86-bit hash of its kind, store and id. Among a million commands, a new one collides with another with
/// a probability of 10^-20, far below that of a memory error; and no one can search for a collision without this process's keys.
package struct CommandFingerprint: Equatable {
    let low: UInt64
    let high: UInt32

    /// The bits of ``high`` that are 0, and free for other uses.
    static let freeBits: UInt32 = 0x3FF

    package init(_ kind: CommandKind, store: BorrowedText, id: BorrowedText) {
        self.init(kind, store: SipHash(of: store.bytes), id: id)
    }

    /// - Parameter store: the hash of the store's name.
    init(_ kind: CommandKind, store: SipHash, id: BorrowedText) {
        // Commands of different kinds with the same id are different commands.
        let hash = store.wideHash(with: id.bytes, kind: kind.letter)
        (low, high) = (hash.low, UInt32(truncatingIfNeeded: hash.high) & ~Self.freeBits)
    }
}
