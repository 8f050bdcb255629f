/// The answer to a command that was carried out, in 16 bytes: what is remembered of it, for a million of them.
///
/// It holds the numbers that the answer does not share with others; the id and the store are known from the command.
/// Juices, fruits and ingredients are their places on the menu, so it means something only to an encoder of the menu
/// it was made with. `CompactAnswer?` takes 16 bytes as well.
///
/// - A juice that was made: juice, quantity, the level of each ingredient's fruit.
/// - A juice that was out of stock: juice, quantity, for each ingredient 0, or how many there were of its fruit plus 1
///   if it was short.
/// - A restock: a bit for each fruit it named, the level of each of them.
public struct CompactAnswer: Sendable, Equatable {
    enum Kind: UInt8 {
        case juiceMade
        case outOfStock
        case restocked
    }

    // An enum, in whose unused values `Optional` finds room for `nil`. With it, the other four are 16 bytes.
    let kind: Kind
    private let byte0: UInt8
    private let bytes1To2: UInt16
    private let bytes3To6: UInt32
    private let bytes7To14: UInt64

    /// An answer of these numbers, or `nil` if they do not fit.
    init?(_ kind: Kind, _ numbers: CompactNumbers) {
        guard numbers.fit else { return nil }
        self.kind = kind
        byte0 = UInt8(truncatingIfNeeded: numbers.bits)
        bytes1To2 = UInt16(truncatingIfNeeded: numbers.bits >> 8)
        bytes3To6 = UInt32(truncatingIfNeeded: numbers.bits >> 24)
        bytes7To14 = UInt64(truncatingIfNeeded: numbers.bits >> 56)
    }

    /// The numbers, from the first one on.
    var numbers: CompactNumbers.Reader {
        CompactNumbers.Reader(
            rest: UInt128(byte0) | UInt128(bytes1To2) << 8 | UInt128(bytes3To6) << 24 | UInt128(bytes7To14)
                << 56
        )
    }
}
