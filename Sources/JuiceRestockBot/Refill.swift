import JuiceMessages

/// One restock that the bot sends: what a store is short of.
public struct Refill: Sendable, Equatable {
    /// So many of one fruit: how many there were when it was decided, and how many are added. Steps leave room for whatever
    /// happens to the stock meanwhile.
    public struct Entry: Sendable, Equatable {
        package let fruit: String
        package let level: Int
        let target: Int
        package var amount: Int { target - level }
    }

    package var id: String
    /// The one that owns the store.
    package let partition: Int32
    package let store: String
    /// When the answer of the id was written, in milliseconds since 1970. The record carries it: so a copy that is sent much
    /// later counts as sent at the same time, and is known as a repeat.
    package let time: Int64
    package let entries: [Entry]

    /// The restock as a record's value.
    package var value: [UInt8] {
        var buffer = OutputBuffer()
        let amounts = entries.map { FruitAmount(fruit: $0.fruit, amount: $0.amount) }
        CommandEncoder.restock(id: id, .add, amounts, into: &buffer)
        return buffer.bytes
    }
}

/// What the bots call the restocks of a partition: `juice-restock-bot/3-1042` refills a store since the answer at offset 1042 of
/// partition 3. It follows from the answers alone: whoever decides again decides the same id, and the service makes it once.
public struct RefillIDs: Sendable {
    /// The longest name of a group, in bytes: what is left of the 128 bytes of an id.
    public static let maximumGroupLength = CommandKind.maximumIDLength - "/-".utf8.count - 10 - 19

    let partition: Int32
    private let prefix: String

    package init(group: String, partition: Int32) {
        (self.partition, prefix) = (partition, "\(group)/\(partition)-")
    }

    package subscript(offset: Int64) -> String { "\(prefix)\(offset)" }

    /// The offset in an id of one of these restocks; nil for any other id.
    func offset(in id: String) -> Int64? {
        let number = String(id.utf8.dropFirst(prefix.utf8.count)) ?? ""
        guard let offset = Int64(number), offset >= 0 else { return nil }
        // Another beginning, signs and leading zeros make another id.
        return self[offset].utf8.elementsEqual(id.utf8) ? offset : nil
    }
}
