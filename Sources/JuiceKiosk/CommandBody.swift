import Foundation
import JuiceDomain
import JuiceMessages

/// Decodes and validates the commands that the page sends, before they are produced to a topic. It refuses what the kiosk's own
/// page would not send.
enum CommandBody {
    /// The longest request body, in bytes.
    static let maximumLength = 8192

    private struct Order: Decodable {
        let orderId: String
        let store: String
        let items: [OrderedJuice]

        private enum Field: String, CodingKey { case orderId, store, items, juice, quantity }

        init(from decoder: any Decoder) throws {
            let fields = try decoder.container(keyedBy: Field.self)
            orderId = try fields.decode(String.self, forKey: .orderId)
            store = try fields.decode(String.self, forKey: .store)
            if let items = try fields.decodeIfPresent([OrderedJuice].self, forKey: .items) {
                guard try fields.decodeIfPresent(String.self, forKey: .juice) == nil,
                    try fields.decodeIfPresent(Int.self, forKey: .quantity) == nil
                else { throw Refusal.badRequest("an order has either items or a juice") }
                self.items = items
            } else {
                // The only form that pages of versions before baskets send.
                items = [try OrderedJuice(from: decoder)]
            }
        }
    }

    private struct Cancel: Decodable {
        let orderId: String
        let store: String
    }

    private struct Restock: Decodable {
        let restockId: String
        let store: String
        let add: [String: Int]?
        let set: [String: Int]?
    }

    /// A basket of one item becomes an order of a single juice.
    static func order(_ data: Data, menu: Menu) throws(Refusal) -> OutgoingCommand {
        let order: Order = try decode(data)
        guard (1...JuiceOrder.mostItems).contains(order.items.count) else {
            throw .badRequest("an order has from 1 to \(JuiceOrder.mostItems) items")
        }
        for item in order.items {
            guard menu.juiceIndex(id: item.juice) != nil else { throw .badRequest("the juice is not on the menu") }
            guard JuiceOrder.quantities.contains(item.quantity) else {
                throw .badRequest("the quantity must be from 1 to \(JuiceOrder.quantities.upperBound)")
            }
        }
        return .order(id: try KioskID.whole(order.orderId), store: try checked(order.store), order.items)
    }

    /// Only the order's page knows the id: it is random, and no other page gets it.
    static func cancel(_ data: Data) throws(Refusal) -> OutgoingCommand {
        let cancel: Cancel = try decode(data)
        return .cancel(id: try KioskID.whole(cancel.orderId), store: try checked(cancel.store))
    }

    /// The service decides whether the resulting stock levels are allowed.
    static func restock(_ data: Data, menu: Menu) throws(Refusal) -> OutgoingCommand {
        let restock: Restock = try decode(data)
        let (kind, amounts): (StockEdit.Kind, [String: Int])
        switch (restock.add, restock.set) {
        case (let add?, nil): (kind, amounts) = (.add, add)
        case (nil, let set?): (kind, amounts) = (.set, set)
        default: throw .badRequest("a restock has either add or set")
        }
        let named = menu.fruits.compactMap { fruit in
            amounts.first { Name($0.key) == Name(fruit.id) }.map { FruitAmount(fruit: fruit.id, amount: $0.value) }
        }
        guard !named.isEmpty, named.count == amounts.count else {
            throw .badRequest("the fruits must be on the menu, at least one")
        }
        guard named.allSatisfy({ $0.amount.magnitude <= FruitStore.maximumLevel }) else {
            throw .badRequest("an amount is at most \(FruitStore.maximumLevel)")
        }
        return .restock(id: try KioskID.whole(restock.restockId), store: try checked(restock.store), kind, named)
    }

    static func isStore(_ text: String) -> Bool { (1...StoreID.maximumLength).contains(text.utf8.count) }

    private static func checked(_ store: String) throws(Refusal) -> String {
        guard isStore(store) else { throw .badRequest("a store's id has from 1 to \(StoreID.maximumLength) bytes") }
        return store
    }

    private static func decode<Body: Decodable>(_ data: Data) throws(Refusal) -> Body {
        do {
            return try JSONDecoder().decode(Body.self, from: data)
        } catch let refusal as Refusal {
            throw refusal
        } catch {
            throw .badRequest("the request is not the JSON that it should be")
        }
    }
}

/// The ids of the kiosk's commands: what the page chose, behind a prefix reserved for kiosks. So a page cannot use up an id that a
/// POS system is about to use.
enum KioskID {
    private static let prefix = "kiosk-"
    /// The longest part that a page may choose, in bytes.
    private static let maximumPartLength = CommandKind.maximumIDLength - prefix.utf8.count

    /// The command's id for the part that the page chose. A resend has the same id.
    static func whole(_ part: String) throws(Refusal) -> String {
        guard (1...maximumPartLength).contains(part.utf8.count) else {
            throw .badRequest("an id has from 1 to \(maximumPartLength) bytes")
        }
        return prefix + part
    }

    /// The part that the page chose.
    static func part(_ id: String) -> String {
        // Compares bytes: as a `String`, an id whose prefix is followed by a combining accent does not have the prefix.
        guard id.utf8.starts(with: prefix.utf8) else { return id }
        return String(Substring(id.utf8.dropFirst(prefix.utf8.count)))
    }
}
