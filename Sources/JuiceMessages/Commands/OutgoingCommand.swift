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
    public static func order(id: String, store: String, juice: String, quantity: Int = 1) -> OutgoingCommand {
        OutgoingCommand(.order, id: id, store: store) { value in
            value.append(",")
            value.append(membersOf: OrderedJuice(juice: juice, quantity: quantity))
        }
    }

    /// An order of a basket.
    public static func basket(id: String, store: String, _ items: [OrderedJuice]) -> OutgoingCommand {
        OutgoingCommand(.order, id: id, store: store) { value in
            value.append(#","items":["#)
            for (position, item) in items.enumerated() {
                value.append(position == 0 ? "{" : ",{")
                value.append(membersOf: item)
                value.append("}")
            }
            value.append("]")
        }
    }

    /// An order of one juice if there is one item, and of a basket otherwise.
    public static func order(id: String, store: String, _ items: [OrderedJuice]) -> OutgoingCommand {
        guard let item = items.first, items.count == 1 else { return basket(id: id, store: store, items) }
        return order(id: id, store: store, juice: item.juice, quantity: item.quantity)
    }

    /// A cancel of the order with this id.
    public static func cancel(id: String, store: String) -> OutgoingCommand {
        OutgoingCommand(.cancel, id: id, store: store) { $0.append(#","cancel":true"#) }
    }

    /// A restock of these fruits.
    public static func restock(id: String, store: String, _ kind: StockEdit.Kind, _ amounts: [FruitAmount]) -> OutgoingCommand {
        OutgoingCommand(.restock, id: id, store: store) { value in
            switch kind {
            case .add: value.append(#","add":{"#)
            case .set: value.append(#","set":{"#)
            }
            for (position, entry) in amounts.enumerated() {
                if position > 0 { value.append(",") }
                value.append(quoted: entry.fruit)
                value.append(":")
                value.append(decimal: entry.amount)
            }
            value.append("}")
        }
    }

    /// - Parameter members: appends what follows the id, each member with a comma before it.
    private init(_ kind: CommandKind, id: String, store: String, members: (inout OutputBuffer) -> Void) {
        var buffer = OutputBuffer()
        buffer.append("{\"")
        buffer.append(kind.idField)
        buffer.append("\":")
        buffer.append(quoted: id)
        members(&buffer)
        buffer.append("}")
        (self.kind, self.id, self.store, value) = (kind, id, store, buffer.bytes)
    }
}

extension OutputBuffer {
    fileprivate mutating func append(membersOf item: OrderedJuice) {
        append(#""juice":"#)
        append(quoted: item.juice)
        append(#","quantity":"#)
        append(decimal: item.quantity)
    }
}
