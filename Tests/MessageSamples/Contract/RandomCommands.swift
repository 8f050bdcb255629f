import JuiceMaker
import JuiceMessages

/// Random commands, in all the ways senders may write them.
struct RandomCommands {
    private static let extras = ["1", "-0.5e-3", "\"\"", "null", "true", "[[],{}]", #"{"orderId":[]}"#]

    private(set) var random: SeededGenerator
    /// The id of the latest order, which may be cancelled.
    private var orderID: String?

    init(seed: UInt64) { random = SeededGenerator(seed: seed) }

    /// A command for a store of this menu.
    mutating func next(of menu: Menu) -> (kind: CommandKind, value: String) {
        let id = text()
        if chance(1, of: 3) { return (.restock, restock(id, of: menu)) }
        if chance(1, of: 3) { return (.cancel, cancel(orderID ?? id)) }
        orderID = chance(5, of: 6) ? id : nil
        return (.order, chance(1, of: 2) ? order(id, of: menu) : basket(id, of: menu))
    }

    /// A store of the built-in menu or of a random one.
    mutating func shop() throws -> Shop {
        let fruits = Int.random(in: 1...12, using: &random)
        let menu = chance(1, of: 3) ? Menu.standard : try RandomSamples.menu(fruits: fruits, &random)
        return Shop(menu: menu, store: text())
    }

    /// A note of the journal.
    mutating func note() -> JournalNote { RandomSamples.note(&random) }

    private mutating func order(_ id: String, of menu: Menu) -> String {
        let juice = menu.juices.randomElement(using: &random)?.id ?? ""
        let quantity = chance(2, of: 3) ? 1 : Int.random(in: JuiceOrder.quantities, using: &random)
        if chance(1, of: 2) {
            let order = OutgoingCommand.order(id: id, store: "", juice: juice, quantity: quantity)
            return String(decoding: order.value, as: UTF8.self)
        }
        var members = [(name: "orderId", value: JSON.string(id)), ("juice", .string(juice))]
        if quantity > 1 || chance(1, of: 2) { members.append(("quantity", .literal(quantity > 1 ? String(quantity) : "null"))) }
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
            var members = [(name: "juice", value: JSON.string(item.juice))]
            if item.quantity > 1 { members.append(("quantity", .literal(String(item.quantity)))) }
            return JSON.object(members.shuffled(using: &random))
        }
        var members = [(name: "orderId", value: JSON.string(id)), ("items", .array(given))]
        if chance(1, of: 2) { members.append(("cancel", .literal(chance(1, of: 2) ? "false" : "null"))) }
        return oddly(members)
    }

    private mutating func cancel(_ id: String) -> String {
        if chance(1, of: 2) { return String(decoding: OutgoingCommand.cancel(id: id, store: "").value, as: UTF8.self) }
        var members = [(name: "orderId", value: JSON.string(id)), ("cancel", .literal("true"))]
        // Whatever they hold.
        for name in ["juice", "quantity", "items"] where chance(1, of: 3) {
            members.append((name, .literal(Self.extras.randomElement(using: &random) ?? "null")))
        }
        return oddly(members)
    }

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
        let given = JSON.object(amounts.map { ($0.fruit, .literal(String($0.amount))) })
        var members = [(name: "restockId", value: JSON.string(id)), (name, given)]
        if chance(1, of: 2) { members.append((other, .literal("null"))) }
        return oddly(members)
    }

    private mutating func amount(_ kind: StockEdit.Kind) -> Int {
        if chance(1, of: 20) { return Int.random(in: .min ... .max, using: &random) }
        return Int.random(in: (kind == .add ? -5 : 0)...50, using: &random)
    }

    /// Shuffled, with an unknown field, and with whitespace around.
    private mutating func oddly(_ members: [(name: String, value: JSON)]) -> String {
        let extra = Self.extras.randomElement(using: &random).map { [(name: "x", value: JSON.literal($0))] } ?? []
        return " \n" + JSON.object((members + extra).shuffled(using: &random)).text + "\r\n\t"
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
