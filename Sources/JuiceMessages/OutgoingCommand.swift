import JuiceDomain

/// A command as a client sends it.
///
/// It is not checked: a client with no menu, or an old one, can still send, and the service answers.
package struct OutgoingCommand: Sendable, Equatable {
    package let kind: CommandKind
    package let id: String
    /// The store, which is the record's key.
    package let store: String
    package let value: [UInt8]

    package static func order(id: String, store: String, juice: String, quantity: Int = 1) -> OutgoingCommand {
        OutgoingCommand(.order, id: id, store: store, #""juice":\#(juice)"#, #""quantity":\#(quantity)"#)
    }

    package static func basket(id: String, store: String, _ items: [OrderedJuice]) -> OutgoingCommand {
        let items: [JSONText] = items.map { #"{"juice":\#($0.juice),"quantity":\#($0.quantity)}"# }
        return OutgoingCommand(.order, id: id, store: store, #""items":[\#(items)]"#)
    }

    /// An order of one juice if there is one item, and of a basket otherwise.
    package static func order(id: String, store: String, _ items: [OrderedJuice]) -> OutgoingCommand {
        guard let item = items.first, items.count == 1 else { return basket(id: id, store: store, items) }
        return order(id: id, store: store, juice: item.juice, quantity: item.quantity)
    }

    /// A cancel of the order with this id.
    package static func cancel(id: String, store: String) -> OutgoingCommand {
        OutgoingCommand(.cancel, id: id, store: store, #""cancel":true"#)
    }

    package static func restock(id: String, store: String, _ kind: StockEdit.Kind, _ amounts: [FruitAmount]) -> OutgoingCommand {
        let amounts: [JSONText] = amounts.map { #"\#($0.fruit):\#($0.amount)"# }
        return OutgoingCommand(.restock, id: id, store: store, #"\#("\(kind)"):{\#(amounts)}"#)
    }

    private init(_ kind: CommandKind, id: String, store: String, _ members: JSONText...) {
        let command: JSONText = #"{\#("\(kind.idField)"):\#(id),\#(members)}"#
        (self.kind, self.id, self.store, value) = (kind, id, store, command.bytes)
    }
}
