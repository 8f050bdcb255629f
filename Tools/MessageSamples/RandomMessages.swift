import Foundation
import JuiceDomain
import JuiceMessages

/// Random texts and menus, full of edge cases.
package enum RandomSamples {
    /// A text of 1 to 24 characters, many of which JSON must escape.
    static func text(_ generator: inout SeededGenerator) -> String {
        let characters = [Character]("abc-019 \"\\/\n\r\t\u{0}\u{1f}\u{7f}é강🥝,:{}[]")
        let length = Int.random(in: 1...24, using: &generator)
        return String((0..<length).compactMap { _ in characters.randomElement(using: &generator) })
    }

    /// A menu of this many fruits. Its first juice takes all of them.
    package static func menu(fruits count: Int, _ generator: inout SeededGenerator) throws -> Menu {
        let fruits = (0..<count).map { Fruit(id: "fruit\"\($0)", name: LocalizedName(english: "fruit \($0)", korean: "과일 \($0)")) }
        let recipes = (0..<4).map { index in
            let size = index == 0 ? count : Int.random(in: 1...count, using: &generator)
            return fruits.shuffled(using: &generator).prefix(size).map {
                (fruit: $0.id, amount: Int.random(in: 1...50, using: &generator))
            }
        }
        let juices = recipes.enumerated().map { index, recipe in
            JuiceSpec(
                id: "juice\\\(index)", name: LocalizedName(english: "juice \(index)", korean: "쥬스 \(index)"),
                aliases: index == 1 ? ["alias \"\(index)\"", "별명"] : [], recipe: recipe)
        }
        return try Menu(fruits: fruits, juices: juices)
    }
}

extension Menu {
    /// The standard menu with another initial stock of each fruit. Throws ``MenuError`` if an initial stock is more than a store
    /// can hold.
    package static func standard(initialStock: (Fruit) -> Int) throws(MenuError) -> Menu {
        let fruits = standard.fruits.map { Fruit(id: $0.id, name: $0.name, initialStock: initialStock($0)) }
        let juices = standard.juices.map { juice in
            let recipe = juice.recipe.map { (fruit: standard.fruits[$0.fruit].id, amount: $0.amount) }
            return JuiceSpec(id: juice.id, name: juice.name, aliases: juice.aliases, recipe: recipe)
        }
        return try Menu(fruits: fruits, juices: juices)
    }
}

/// Random commands, in all the ways senders may write them.
package struct RandomCommands {
    private static let extras = ["1", "-0.5e-3", "\"\"", "null", "true", "[[],{}]", #"{"orderId":[]}"#]

    private var random: SeededGenerator
    /// The id of the latest order, which may be cancelled.
    private var orderID: String?

    package init(seed: UInt64) { random = SeededGenerator(seed: seed) }

    /// A well-formed command for a store of this menu.
    package mutating func next(of menu: Menu) -> (kind: CommandKind, value: String) {
        let id = text()
        let command = valid(id, of: menu, earlier: orderID)
        if command.kind == .order { orderID = chance(5, of: 6) ? id : nil }
        return (command.kind, command.value)
    }

    /// A well-formed command with this id or, if it cancels, with that of the other order, if there is one.
    package mutating func valid(
        _ id: String, of menu: Menu = .standard, earlier other: String?
    ) -> (kind: CommandKind, id: String, value: String) {
        if chance(1, of: 4) { return (.restock, id, restock(id, of: menu)) }
        if chance(1, of: 5) { return (.cancel, other ?? id, cancel(other ?? id)) }
        return (.order, id, order(id, of: menu))
    }

    /// A store of the built-in menu or of a random one.
    package mutating func shop() throws -> Shop {
        let fruits = Int.random(in: 1...12, using: &random)
        let menu = chance(1, of: 3) ? Menu.standard : try RandomSamples.menu(fruits: fruits, &random)
        return Shop(menu: menu, store: text())
    }

    /// An order of a juice, or a basket.
    private mutating func order(_ id: String, of menu: Menu) -> String {
        chance(1, of: 2) ? single(id, of: menu) : basket(id, of: menu)
    }

    private mutating func single(_ id: String, of menu: Menu) -> String {
        let juice = menu.juices.randomElement(using: &random)?.id ?? ""
        let quantity = chance(2, of: 3) ? 1 : Int.random(in: JuiceOrder.quantities, using: &random)
        if chance(1, of: 2) {
            let order = OutgoingCommand.order(id: id, store: "", juice: juice, quantity: quantity)
            return String(decoding: order.value, as: UTF8.self)
        }
        var members = ["orderId": quoted(id), "juice": quoted(juice)]
        if quantity > 1 || chance(1, of: 2) { members["quantity"] = quantity > 1 ? String(quantity) : "null" }
        return oddly(members)
    }

    private mutating func basket(_ id: String, of menu: Menu) -> String {
        let count = chance(1, of: 10) ? JuiceOrder.mostItems : Int.random(in: 1...5, using: &random)
        let items = (0..<count).map { _ in
            OrderedJuice(
                juice: menu.juices.randomElement(using: &random)?.id ?? "",
                quantity: chance(5, of: 6) ? 1 : Int.random(in: JuiceOrder.quantities, using: &random))
        }
        if chance(1, of: 2) {
            let basket = OutgoingCommand.basket(id: id, store: "", items)
            return String(decoding: basket.value, as: UTF8.self)
        }
        let given = items.map { item in
            object(["juice": quoted(item.juice)].merging(item.quantity > 1 ? ["quantity": "\(item.quantity)"] : [:]) { $1 })
        }
        var members = ["orderId": quoted(id), "items": "[\(given.joined(separator: ","))]"]
        if chance(1, of: 2) { members["cancel"] = chance(1, of: 2) ? "false" : "null" }
        return oddly(members)
    }

    private mutating func cancel(_ id: String) -> String {
        if chance(1, of: 2) { return String(decoding: OutgoingCommand.cancel(id: id, store: "").value, as: UTF8.self) }
        var members = ["orderId": quoted(id), "cancel": "true"]
        // A cancel may have other fields with any values.
        for name in ["juice", "quantity", "items"] where chance(1, of: 3) {
            members[name] = Self.extras.randomElement(using: &random)
        }
        return oddly(members)
    }

    /// A restock of some fruits.
    private mutating func restock(_ id: String, of menu: Menu) -> String {
        let kind: StockEdit.Kind = chance(2, of: 3) ? .add : .set
        let count = Int.random(in: 1...menu.fruits.count, using: &random)
        let amounts = menu.fruits.shuffled(using: &random).prefix(count).map { fruit in
            FruitAmount(fruit: fruit.id, amount: amount(kind))
        }
        if chance(1, of: 2) {
            let restock = OutgoingCommand.restock(id: id, store: "", kind, amounts)
            return String(decoding: restock.value, as: UTF8.self)
        }
        let (name, other) = kind == .add ? ("add", "set") : ("set", "add")
        let given = object(Dictionary(uniqueKeysWithValues: amounts.map { ($0.fruit, String($0.amount)) }))
        var members = ["restockId": quoted(id), name: given]
        if chance(1, of: 2) { members[other] = "null" }
        return oddly(members)
    }

    /// A command that is rejected by a store of the built-in menu.
    package mutating func rejected(_ id: String) -> (kind: CommandKind, id: String, value: String) {
        if chance(1, of: 3) {
            let members = GoldenCommands.faultyRestocks.randomElement(using: &random)?.members ?? ""
            return (.restock, id, GoldenCommands.restock(members, id: quoted(id)))
        }
        let members = GoldenCommands.faultyOrders.randomElement(using: &random)?.members ?? ""
        return (.order, id, GoldenCommands.order(members, id: quoted(id)))
    }

    /// A value that is no command.
    package mutating func undecodable() -> [UInt8]? {
        if chance(1, of: 5) { return chance(1, of: 2) ? nil : [0xFF, 0xFE] }
        return GoldenCommands.deadLetters.randomElement(using: &random).map { Array($0.value.utf8) }
    }

    private mutating func amount(_ kind: StockEdit.Kind) -> Int {
        if chance(1, of: 20) { return Int.random(in: .min ... .max, using: &random) }
        return Int.random(in: (kind == .add ? -5 : 0)...50, using: &random)
    }

    /// A JSON object with an unknown field, and with whitespace around it.
    private mutating func oddly(_ members: [String: String]) -> String {
        let extra = Self.extras.randomElement(using: &random).map { ["x": $0] } ?? [:]
        return " \n" + object(members.merging(extra) { $1 }) + "\r\n\t"
    }

    /// A JSON object with its members in any order.
    private mutating func object(_ members: [String: String]) -> String {
        let shuffled = members.sorted { $0.key < $1.key }.shuffled(using: &random)
        return "{" + shuffled.map { "\(quoted($0)):\($1)" }.joined(separator: ",") + "}"
    }

    private func quoted(_ text: String) -> String {
        // Most are plain, and a simulation needs millions.
        if text.utf8.allSatisfy({ 0x20..<0x7F ~= $0 && !#""\/"#.utf8.contains($0) }) { return "\"\(text)\"" }
        return (try? JSONEncoder().encode(text)).map { String(decoding: $0, as: UTF8.self) } ?? "null"
    }

    /// An id of 1 to 128 bytes.
    private mutating func text() -> String {
        if chance(1, of: 20) { return String(repeating: "가", count: 42) + "ab" }
        if chance(1, of: 2) { return RandomSamples.text(&random) }
        var text = ""
        let length = Int.random(in: 1...32, using: &random)
        while text.unicodeScalars.count < length {
            if let scalar = Unicode.Scalar(UInt32.random(in: 0...0x10FFFF, using: &random)) { text.unicodeScalars.append(scalar) }
        }
        return text
    }

    private mutating func chance(_ part: Int, of whole: Int) -> Bool {
        Int.random(in: 0..<whole, using: &random) < part
    }
}
