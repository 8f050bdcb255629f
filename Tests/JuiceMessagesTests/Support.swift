import JuiceMaker

@testable import JuiceMessages

extension Array<UInt8> {
    init(_ string: String) {
        self.init(string.utf8)
    }

    var text: String {
        String(decoding: self, as: UTF8.self)
    }
}

/// What an encoder appends to an empty buffer.
func written(_ append: (inout OutputBuffer) -> Void) -> String {
    // Smaller than any answer, so that it has to grow.
    var buffer = OutputBuffer(capacity: 1)
    append(&buffer)
    return buffer.text
}

/// A restock or order in words, for tables of expected results.
func summary(_ decoded: Decoded<OrderCommand>, menu: Menu = .standard) -> String {
    switch decoded {
    case .command(let command):
        switch command.request {
        case .cancel: "\(String(command.id)): cancel"
        case .make(.single(let item)): "\(String(command.id)): \(item.quantity) \(menu.juices[item.juice].id)"
        case .make(.basket(let items)):
            "\(String(command.id)): ["
                + items.map { "\($0.quantity) \(menu.juices[$0.juice].id)" }.joined(separator: ", ") + "]"
        }
    case .rejected(let id, let rejection): "\(String(id)): \(rejection)"
    case .undecodable(let reason): reason.code
    }
}

func summary(_ decoded: Decoded<RestockCommand>, menu: Menu = .standard) -> String {
    switch decoded {
    case .command(let restock):
        "\(String(restock.id)): \(restock.edit.kind) "
            + restock.edit.entries.map { "\(menu.fruits[$0.fruit].id) \($0.amount)" }.joined(separator: ", ")
    case .rejected(let id, let rejection): "\(String(id)): \(rejection)"
    case .undecodable(let reason): reason.code
    }
}
