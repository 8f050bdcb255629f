import JuiceMaker
import Kafka

/// A record as a client sends it.
struct Command: Sendable {
    /// `orders` or `restocks`.
    let topic: String
    let key: [UInt8]?
    var value: [UInt8]?
    var headers: [RecordHeader] = []
}

/// Generates commands: mostly valid ones, and some invalid ones of each kind.
struct CommandMix {
    private var random: SeededGenerator
    // Decides on baskets and cancels. Apart, so that a seed gives the same restocks and orders of one juice with and without them.
    private var variety: SeededGenerator
    private let client: Int
    private let stores: Int
    private let isPlain: Bool
    private var count = 0
    /// The latest orders: at most ``mostRecent``.
    private var recent: [Order] = []
    /// Orders that were cancelled before they were sent.
    private var early: [Command] = []

    /// What a cancel must know of an order.
    private struct Order {
        let id: String
        let key: [UInt8]?
    }

    private static let mostRecent = 50
    private static let fruits = ["strawberry", "banana", "pineapple", "kiwi", "mango"]
    private static let juices = ["strawberry", "banana", "kiwi", "pineapple", "strawberryBanana", "mango", "mangoKiwi", "durian"]

    init(client: Int, plan: Plan) {
        random = SeededGenerator(seed: plan.seed &* 31 &+ UInt64(client))
        variety = SeededGenerator(seed: plan.seed &* 37 &+ UInt64(client))
        self.client = client
        stores = plan.stores
        isPlain = plan.plain
    }

    mutating func next() -> Command {
        if !early.isEmpty, variety.chance(20) { return early.removeFirst() }
        if variety.chance(5), let order = recent.randomElement(using: &variety) { return cancel(order) }
        let (command, isOrder) = orderOrRestock()
        guard isOrder else { return command }
        let order = Order(id: id, key: command.key)
        if recent.count == Self.mostRecent { recent.removeFirst() }
        recent.append(order)
        guard variety.chance(2) else { return command }
        early.append(command)
        return cancel(order)
    }

    private mutating func orderOrRestock() -> (command: Command, isOrder: Bool) {
        count += 1
        let isOrder = random.chance(70)
        var command = Command(
            topic: isOrder ? "orders" : "restocks", key: key(), value: Array((isOrder ? order() : restock()).utf8))
        if random.chance(20) {
            let trace = "00-\(String(count, radix: 16))-\(client)-01"
            command.headers.append(RecordHeader(name: "traceparent", value: trace))
            if random.chance(20) { command.headers.append(RecordHeader(name: "tracestate", value: "till=\(client)")) }
        }
        if random.chance(10) { command.headers.append(RecordHeader(name: "shop", value: nil)) }
        return (random.chance(2) ? poisoned(command) : command, isOrder)
    }

    /// A repeat of the command, sometimes with another body.
    mutating func repeating(_ command: Command) -> Command {
        guard random.chance(5), let value = command.value else { return command }
        var other = command
        other.value = Array(String(decoding: value, as: UTF8.self).replacing(#""juice":"kiwi""#, with: #""juice":"mango""#).utf8)
        return other
    }

    private mutating func key() -> [UInt8]? {
        // The default partitioner may place a record without a key on any partition.
        if !isPlain, random.chance(3) { return random.chance(50) ? nil : [] }
        return Array("store-\(Int.random(in: 0..<stores, using: &random))".utf8)
    }

    private var id: String { "\(client)-\(count)" }

    private mutating func order() -> String {
        let juice = Self.juices.randomElement(using: &random) ?? ""
        let quantity = Self.quantity(&random)
        guard !variety.chance(15) else { return basket() }
        return #"{"orderId":"\#(id)","juice":"\#(juice)"\#(quantity)}"#
    }

    private mutating func basket() -> String {
        let items = (0..<variety.number(1...4)).map { _ in
            let juice = Self.juices.randomElement(using: &variety) ?? ""
            return #"{"juice":"\#(juice)"\#(Self.quantity(&variety))}"#
        }
        return #"{"orderId":"\#(id)","items":[\#(items.joined(separator: ","))]}"#
    }

    private static func quantity(_ random: inout SeededGenerator) -> String {
        random.chance(50) ? "" : #","quantity":\#(Int.random(in: 0...3, using: &random))"#
    }

    private func cancel(_ order: Order) -> Command {
        Command(topic: "orders", key: order.key, value: Array(#"{"orderId":"\#(order.id)","cancel":true}"#.utf8))
    }

    private mutating func restock() -> String {
        let isStep = random.chance(80)
        var fruits = Self.fruits.shuffled(using: &random).prefix(Int.random(in: 1...3, using: &random))
        if random.chance(2) { fruits.append("durian") }
        let amounts = fruits.map { fruit in #""\#(fruit)":\#(Int.random(in: isStep ? -4...16 : 0...30, using: &random))"# }
        return #"{"restockId":"\#(id)","\#(isStep ? "add" : "set")":{\#(amounts.joined(separator: ","))}}"#
    }

    /// An invalid record, of a random kind.
    private mutating func poisoned(_ command: Command) -> Command {
        func with(value: [UInt8]?) -> Command {
            Command(topic: command.topic, key: command.key, value: value, headers: command.headers)
        }
        switch Int.random(in: 0..<(isPlain ? 7 : 8), using: &random) {
        case 0: return with(value: nil)
        case 1: return with(value: Array("order a juice, please".utf8))
        case 2: return with(value: Array(#"{"juice":"kiwi"}"#.utf8))
        case 3: return with(value: Array(#"{"orderId":7,"restockId":""}"#.utf8))
        case 4: return with(value: Array(repeating: UInt8(ascii: "["), count: 200))
        case 5: return with(value: Array(repeating: UInt8(ascii: " "), count: 70_000))
        case 6: return Command(topic: command.topic, key: [0xFF, 0x00], value: command.value)
        // A header that claims the record was forwarded from an offset that does not exist.
        default:
            let origin = RecordHeader(name: "juice.forwarded.from", value: "0/\(Int64.max)")
            return Command(topic: command.topic, key: command.key, value: command.value, headers: command.headers + [origin])
        }
    }
}
