import JuiceMaker

/// A command as a client sends it.
///
/// It is not checked: a client with no menu, or an old one, can still send, and the service answers.
public struct OutgoingCommand: Sendable, Equatable {
    /// What it asks for.
    public let kind: CommandKind
    /// The sender's id for it.
    public let id: String
    /// The store, which is the record's key.
    public let store: String
    /// The record's value.
    public let value: [UInt8]

    /// An order.
    public static func order(
        id: String,
        store: String,
        juice: String,
        quantity: Int = 1
    ) -> OutgoingCommand {
        var buffer = OutputBuffer()
        buffer.append(#"{"orderId":"#)
        buffer.append(quoted: id)
        buffer.append(#","juice":"#)
        buffer.append(quoted: juice)
        buffer.append(#","quantity":"#)
        buffer.append(decimal: quantity)
        buffer.append("}")
        return OutgoingCommand(kind: .order, id: id, store: store, value: buffer.bytes)
    }

    /// An order of a basket.
    public static func basket(id: String, store: String, _ items: [OrderedJuice]) -> OutgoingCommand {
        var buffer = OutputBuffer()
        buffer.append(#"{"orderId":"#)
        buffer.append(quoted: id)
        buffer.append(#","items":["#)
        for (position, item) in items.enumerated() {
            buffer.append(position == 0 ? #"{"juice":"# : #",{"juice":"#)
            buffer.append(quoted: item.juice)
            buffer.append(#","quantity":"#)
            buffer.append(decimal: item.quantity)
            buffer.append("}")
        }
        buffer.append("]}")
        return OutgoingCommand(kind: .order, id: id, store: store, value: buffer.bytes)
    }

    /// An order of one juice if there is one item, and of a basket otherwise.
    public static func order(id: String, store: String, _ items: [OrderedJuice]) -> OutgoingCommand {
        guard let item = items.first, items.count == 1 else { return basket(id: id, store: store, items) }
        return order(id: id, store: store, juice: item.juice, quantity: item.quantity)
    }

    /// A cancel of the order with this id.
    public static func cancel(id: String, store: String) -> OutgoingCommand {
        var buffer = OutputBuffer()
        buffer.append(#"{"orderId":"#)
        buffer.append(quoted: id)
        buffer.append(#","cancel":true}"#)
        return OutgoingCommand(kind: .cancel, id: id, store: store, value: buffer.bytes)
    }

    /// A restock of these fruits.
    public static func restock(
        id: String,
        store: String,
        _ kind: StockEdit.Kind,
        _ amounts: [FruitAmount]
    ) -> OutgoingCommand {
        var buffer = OutputBuffer()
        buffer.append(#"{"restockId":"#)
        buffer.append(quoted: id)
        switch kind {
        case .add: buffer.append(#","add":{"#)
        case .set: buffer.append(#","set":{"#)
        }
        for (position, entry) in amounts.enumerated() {
            if position > 0 { buffer.append(",") }
            buffer.append(quoted: entry.fruit)
            buffer.append(":")
            buffer.append(decimal: entry.amount)
        }
        buffer.append("}}")
        return OutgoingCommand(kind: .restock, id: id, store: store, value: buffer.bytes)
    }
}
