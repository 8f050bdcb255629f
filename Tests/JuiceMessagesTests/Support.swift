import JuiceMaker

@testable import JuiceMessages

extension Array<UInt8> {
    init(_ string: String) { self.init(string.utf8) }

    var text: String { String(decoding: self, as: UTF8.self) }
}

/// What an encoder appends to an empty buffer.
func written(_ append: (inout OutputBuffer) -> Void) -> String {
    // Smaller than any answer, so that it has to grow.
    var buffer = OutputBuffer(capacity: 1)
    append(&buffer)
    return buffer.text
}

private func summary(_ request: OrderCommand.Request, menu: Menu) -> String {
    switch request {
    case .make(let order):
        let items = order.items.map { "\($0.quantity) \(menu.juices[$0.juice].id)" }.joined(separator: ", ")
        return if case .basket = order { "[\(items)]" } else { items }
    case .cancel: return "cancel"
    }
}

/// A restock or order in words, for tables of expected results.
func summary(_ decoded: consuming Decoded<OrderCommand>, menu: Menu = .standard) -> String {
    switch decoded {
    case .command(let command): "\(String(command.id)): \(summary(command.request, menu: menu))"
    case .rejected(let id, let rejection): "\(String(id)): \(rejection)"
    case .undecodable(let reason): reason.code
    }
}

func summary(_ decoded: consuming Decoded<RestockCommand>, menu: Menu = .standard) -> String {
    switch decoded {
    case .command(let restock):
        "\(String(restock.id)): \(restock.edit.kind) "
            + restock.edit.entries.map { "\(menu.fruits[$0.fruit].id) \($0.amount)" }.joined(separator: ", ")
    case .rejected(let id, let rejection): "\(String(id)): \(rejection)"
    case .undecodable(let reason): reason.code
    }
}

extension JuiceOrder {
    /// An order of one juice of a menu.
    static func single(_ juice: Int, _ quantity: Int = 1) -> JuiceOrder {
        .single(OrderItem(juice: juice, quantity: quantity))
    }

    /// A basket of juices of a menu.
    static func basket(_ items: (juice: Int, quantity: Int)...) -> JuiceOrder {
        .basket(items.map { OrderItem(juice: $0.juice, quantity: $0.quantity) })
    }
}
