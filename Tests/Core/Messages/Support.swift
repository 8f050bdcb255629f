import JuiceDomain
import MessageSamples
import Testing

@testable import JuiceMessages

// Logs name every argument of a test. Written out, a golden answer has its whole menu, and a command all its bytes as numbers.
extension GoldenAnswer: CustomTestStringConvertible {
    package var testDescription: String {
        (try? Answer(json: self[.english])).map { "\($0.command): \($0.message)" } ?? self[.english]
    }
}

extension OutgoingCommand: CustomTestStringConvertible {
    /// Its JSON.
    public var testDescription: String { String(decoding: value, as: UTF8.self) }
}

/// A command in words, for tables of expected results.
func summary(_ decoded: consuming DecodedRecord, menu: Menu = .standard) -> String {
    switch decoded {
    case .command(_, let id, .cancel): return "\(String(id)): cancel"
    case .command(_, let id, .make(let order)):
        let items = order.items.map { "\($0.quantity) \(menu.juices[$0.juice].id)" }.joined(separator: ", ")
        return "\(String(id)): " + (order.isBasket ? "[\(items)]" : items)
    case .command(_, let id, .apply(let edit)):
        let entries = edit.entries.map { "\(menu.fruits[$0.fruit].id) \($0.amount)" }
        return "\(String(id)): \(edit.kind) " + entries.joined(separator: ", ")
    case .command(_, let id, .reject(let rejection)): return "\(String(id)): \(rejection)"
    case .undecodable(let reason): return reason.code
    }
}

extension CommandDecoder {
    func decodeOrder(_ value: UnsafeRawBufferPointer?) -> DecodedRecord { decode(value, of: .orders) }

    func decodeRestock(_ value: UnsafeRawBufferPointer?) -> DecodedRecord { decode(value, of: .restocks) }
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
