import JuiceDomain
import JuiceMessages

/// Generates orders of about 115 bytes, as a POS system might send them. The same seed gives the same orders.
struct OrderGenerator {
    /// Their ids have seven digits.
    static let mostStores = 9_999_999

    private let templates: [[UInt8]]
    private let digitsStart: Int
    private let stores: Int
    private var random: SeededGenerator

    init(stores: Int, seed: UInt64 = 1) {
        let head = #"{"orderId":"pos-7-"#
        templates = Menu.standard.juices.map { juice in
            let tail = #"000000000","juice":"\#(juice.id)","quantity":1,"note":"a POS system adds fields of its own, see"}"#
            return Array((head + tail).utf8)
        }
        digitsStart = head.utf8.count
        self.stores = stores
        random = SeededGenerator(seed: seed)
    }

    /// The order with this number: the store id as the key, and the value.
    mutating func next(number: Int) -> (key: [UInt8], value: [UInt8]) {
        var value = templates[Int.random(in: templates.indices, using: &random)]
        Self.write(number, digits: 9, into: &value, at: digitsStart)
        return (Self.store(Int.random(in: 0..<stores, using: &random)), value)
    }

    /// An order that is the same whenever its number is asked for.
    mutating func again(number: Int) -> (key: [UInt8], value: [UInt8]) {
        random = SeededGenerator(seed: UInt64(number))
        return next(number: number)
    }

    /// The id of the store with this number.
    static func store(_ number: Int) -> [UInt8] {
        var key = Array("store-0000000".utf8)
        write(number, digits: 7, into: &key, at: 6)
        return key
    }

    private static func write(_ number: Int, digits: Int, into bytes: inout [UInt8], at start: Int) {
        var rest = number
        for position in (start..<start + digits).reversed() {
            bytes[position] = UInt8(ascii: "0") + UInt8(rest % 10)
            rest /= 10
        }
    }

    /// The order number in the value of an order or answer; nil if there is none.
    static func number(in value: UnsafeRawBufferPointer) -> Int? {
        let mark = StaticString(#""orderId":"pos-7-"#)
        let pattern = UnsafeRawBufferPointer(start: mark.utf8Start, count: mark.utf8CodeUnitCount)
        guard value.count >= pattern.count + 9 else { return nil }
        for start in 0...(value.count - pattern.count - 9) {
            guard value[start..<start + pattern.count].elementsEqual(pattern) else { continue }
            return value[(start + pattern.count)...].prefix(9).reduce(0) { number, digit in
                number.flatMap { (48...57).contains(digit) ? $0 * 10 + Int(digit) - 48 : nil }
            }
        }
        return nil
    }
}

extension OrderGenerator {
    /// The mean size of the answers to the first orders, in bytes. Computes the answers without Kafka.
    static func meanAnswerSize(orders count: Int, stores: Int, initialStock: Int) throws -> Int {
        let menu = try Menu.standard { _ in initialStock }
        let (decoder, maker, encoder) = (CommandDecoder(menu: menu), JuiceMaker(menu: menu), AnswerEncoder(menu: menu))
        var orders = OrderGenerator(stores: stores)
        var fruits: [[UInt8]: FruitStore] = [:]
        var revisions: [[UInt8]: Int] = [:]
        var content = AnswerContent()
        var answer = OutputBuffer()
        var bytes = 0
        for number in 0..<count {
            let (key, value) = orders.next(number: number)
            var left = fruits.removeValue(forKey: key) ?? FruitStore(menu: menu)
            answer.removeAll()
            value.withUnsafeBytes { value in
                key.withUnsafeBytes { store in
                    guard case .command(let command) = decoder.decodeOrder(value), case .make(let order) = command.request else {
                        return
                    }
                    content.make(order, by: maker, from: &left)
                    content.revision = 0
                    if content.kind == .juiceMade {
                        revisions[key, default: 0] += 1
                        content.revision = revisions[key] ?? 0
                    }
                    let head = AnswerHead(.order, id: command.id, store: BorrowedText(store), offset: Int64(number))
                    encoder.write(content, head, into: &answer)
                }
            }
            bytes += answer.count
            fruits[key] = left
        }
        return bytes / count
    }
}

extension Menu {
    /// The standard menu with another initial stock of each fruit.
    ///
    /// - Throws: ``MenuError`` if an initial stock is more than a store can hold.
    static func standard(initialStock: (Fruit) -> Int) throws(MenuError) -> Menu {
        let fruits = standard.fruits.map { Fruit(id: $0.id, name: $0.name, initialStock: initialStock($0)) }
        let juices = standard.juices.map { juice in
            let recipe = juice.recipe.map { (fruit: standard.fruits[$0.fruit].id, amount: $0.amount) }
            return JuiceSpec(id: juice.id, name: juice.name, aliases: juice.aliases, recipe: recipe)
        }
        return try Menu(fruits: fruits, juices: juices)
    }
}
