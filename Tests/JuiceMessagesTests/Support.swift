import JuiceDomain

@testable import JuiceMessages

/// An order in words, for tables of expected results.
func summary(_ decoded: consuming Decoded<OrderCommand>, menu: Menu = .standard) -> String {
    switch decoded {
    case .command(let command):
        switch command.request {
        case .cancel: return "\(String(command.id)): cancel"
        case .make(let order):
            let items = order.items.map { "\($0.quantity) \(menu.juices[$0.juice].id)" }.joined(separator: ", ")
            return "\(String(command.id)): " + (order.isBasket ? "[\(items)]" : items)
        }
    case .rejected(let id, let rejection): return "\(String(id)): \(rejection)"
    case .undecodable(let reason): return reason.code
    }
}

/// A restock in words.
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
    fileprivate var isBasket: Bool {
        if case .basket = self { true } else { false }
    }
}

extension [UInt8] {
    init(_ text: String) { self.init(text.utf8) }
}

extension String {
    /// Calls `body` with the text as a record's value.
    func asValue<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try Array(utf8).withUnsafeBytes(body)
    }
}
