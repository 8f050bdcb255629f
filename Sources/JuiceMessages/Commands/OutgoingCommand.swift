import JuiceMaker

/// A command as a client sends it.
public struct OutgoingCommand: Sendable, Equatable {
    /// Whether it is an order or a restock.
    public let kind: CommandKind
    /// The sender's id for it.
    public let id: String
    /// The store, which is the record's key.
    public let store: String
    /// The record's value.
    public let value: [UInt8]

    /// An order of so many of a juice.
    public static func order(id: String, store: String, juice: String, quantity: Int) -> OutgoingCommand {
        var buffer = OutputBuffer()
        CommandEncoder.order(id: id, juice: juice, quantity: quantity, into: &buffer)
        return OutgoingCommand(kind: .order, id: id, store: store, value: buffer.bytes)
    }

    /// A restock of these fruits.
    public static func restock(
        id: String,
        store: String,
        _ kind: StockEdit.Kind,
        _ amounts: [FruitAmount]
    ) -> OutgoingCommand {
        var buffer = OutputBuffer()
        CommandEncoder.restock(id: id, kind, amounts, into: &buffer)
        return OutgoingCommand(kind: .restock, id: id, store: store, value: buffer.bytes)
    }
}
