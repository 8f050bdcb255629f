import Foundation
import JuiceMaker
import JuiceMessages

/// A command as the page sends it, checked before it goes to a topic.
struct CommandBody: Sendable, Equatable {
    /// The longest request, in bytes.
    static let maximumLength = 8192

    let kind: CommandKind
    /// With the beginning that the kiosks' ids have.
    let id: String
    let store: String
    /// The record's value.
    let value: [UInt8]

    /// As its answer will name it.
    var name: AwaitedAnswers.Command {
        AwaitedAnswers.Command(kind: kind, store: Name(store), id: Name(id))
    }

    private struct Order: Decodable {
        let orderId: String
        let store: String
        let juice: String
        let quantity: Int?
    }

    private struct Restock: Decodable {
        let restockId: String
        let store: String
        let add: [String: Int]?
        let set: [String: Int]?
    }

    /// The order in a request.
    ///
    /// - Throws: ``Refusal`` for what no page of this kiosk sends.
    static func order(_ data: Data, menu: Menu) throws(Refusal) -> CommandBody {
        let order: Order = try decode(data)
        guard menu.juiceIndex(id: order.juice) != nil else {
            throw .badRequest("the juice is not on the menu")
        }
        let quantity = order.quantity ?? 1
        guard JuiceMaker.quantities.contains(quantity) else {
            throw .badRequest("the quantity must be from 1 to 100")
        }
        let id = try KioskID.whole(order.orderId)
        var buffer = OutputBuffer()
        CommandEncoder.order(id: id, juice: order.juice, quantity: quantity, into: &buffer)
        return try CommandBody(.order, id: id, store: order.store, value: buffer.bytes)
    }

    /// The restock in a request. Whether the levels that come of it are allowed is the service's to say.
    ///
    /// - Throws: ``Refusal`` for what no page of this kiosk sends.
    static func restock(_ data: Data, menu: Menu) throws(Refusal) -> CommandBody {
        let restock: Restock = try decode(data)
        let (kind, amounts): (StockEdit.Kind, [String: Int])
        switch (restock.add, restock.set) {
        case (let add?, nil): (kind, amounts) = (.add, add)
        case (nil, let set?): (kind, amounts) = (.set, set)
        default: throw .badRequest("a restock has either add or set")
        }
        let named = menu.fruits.compactMap { fruit in
            amounts.first { $0.key.utf8.elementsEqual(fruit.id.utf8) }
                .map { FruitAmount(fruit: fruit.id, amount: $0.value) }
        }
        guard !named.isEmpty, named.count == amounts.count else {
            throw .badRequest("the fruits must be on the menu, at least one")
        }
        guard named.allSatisfy({ abs($0.amount.clamped) <= FruitStore.maximumLevel }) else {
            throw .badRequest("an amount is at most \(FruitStore.maximumLevel)")
        }
        let id = try KioskID.whole(restock.restockId)
        var buffer = OutputBuffer()
        CommandEncoder.restock(id: id, kind, named, into: &buffer)
        return try CommandBody(.restock, id: id, store: restock.store, value: buffer.bytes)
    }

    private init(_ kind: CommandKind, id: String, store: String, value: [UInt8]) throws(Refusal) {
        guard Self.isStore(store) else {
            throw .badRequest("a store's id has from 1 to \(StoreID.maximumLength) bytes")
        }
        (self.kind, self.id, self.store, self.value) = (kind, id, store, value)
    }

    /// Whether a text can be a store's id.
    static func isStore(_ text: String) -> Bool { (1...StoreID.maximumLength).contains(text.utf8.count) }

    private static func decode<Body: Decodable>(_ data: Data) throws(Refusal) -> Body {
        do {
            return try JSONDecoder().decode(Body.self, from: data)
        } catch {
            throw .badRequest("the request is not the JSON that it should be")
        }
    }
}

extension Int {
    /// The smallest number has no magnitude that fits.
    fileprivate var clamped: Int { Swift.max(self, -.max) }
}
