import JuiceDomain
import JuiceMessages
import MessageSamples

/// Generates orders of about 110 bytes, as POS systems might send them. The same seed gives the same orders.
struct OrderGenerator {
    /// Store ids have seven digits.
    static let mostStores = 9_999_999
    /// The digits of an order's number, which end its id.
    static let digits = 11

    private static let head = #"{"orderId":"pos-7-"#
    /// The byte position of the number in an order.
    static let numberStart = head.utf8.count

    /// One order for each juice of the menu, with that juice first and with fields unknown to the service.
    private let templates: [[UInt8]]
    private let stores: Int
    private var random: SeededGenerator

    /// Orders for this many stores, of this many juices each. Several juices make a basket.
    init(stores: Int, items: Int = 1, seed: UInt64 = 1) {
        (self.stores, random) = (stores, SeededGenerator(seed: seed))
        let (all, plenty) = (Menu.standard.juices.map(\.id), Menu.withScarceFruit.plentyJuices)
        templates = all.indices.map { first in
            // As many baskets are made as orders of one juice.
            let choice = items > 1 && plenty.contains(all[first]) ? plenty : all
            let ordered = (first..<first + items).map { #""juice":"\#(choice[$0 % choice.count])","quantity":1"# }
            let order = items == 1 ? ordered[0] : "\"items\":[{\(ordered.joined(separator: "},{"))}]"
            let number = String(repeating: "0", count: Self.digits)
            return Array("\(Self.head)\(number)\",\(order),\"register\":\"7\",\"at\":\"2026-01-01T12:00:00Z\"}".utf8)
        }
    }

    /// The size of the largest order.
    var largest: Int { templates.map(\.count).max() ?? 0 }

    /// The order with this number: the store id as the key, and the value.
    mutating func next(number: Int) -> (key: [UInt8], value: [UInt8]) {
        let (store, _, value) = draw(number: number)
        return (Self.store(store), value)
    }

    /// The order with this number, the number of its store, and what it is for, if that is one juice.
    mutating func draw(number: Int) -> (store: Int, order: JuiceOrder, value: [UInt8]) {
        let juice = Int.random(in: templates.indices, using: &random)
        var value = templates[juice]
        Self.write(number, digits: Self.digits, into: &value, at: Self.numberStart)
        return (Int.random(in: 0..<stores, using: &random), .one(juice), value)
    }

    /// The order with this number, which is the same on each call.
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
        guard value.count >= pattern.count + digits else { return nil }
        for start in 0...(value.count - pattern.count - digits) {
            guard value[start..<start + pattern.count].elementsEqual(pattern) else { continue }
            return value[(start + pattern.count)...].prefix(digits).reduce(0) { number, digit in
                number.flatMap { (48...57).contains(digit) ? $0 * 10 + Int(digit) - 48 : nil }
            }
        }
        return nil
    }
}

/// Generated orders in contiguous memory, which are taken in turn at no cost.
final class OrderWorkload {
    /// The number of distinct orders, a power of two. Later orders repeat them under new ids.
    let count: Int
    let storeCount: Int
    /// The index of each order's store, and the size of its value.
    private let orders: [(store: Int, size: Int)]
    private let memory: UnsafeMutableRawBufferPointer
    private let stride: Int
    /// The latest lap, and its digits as they appear in ids.
    private var lap = 0
    private var lapDigits: UInt32 = 0x3030_3030

    private static let keySize = OrderGenerator.store(0).count
    private static let keyRoom = 16

    init(count: Int, storeCount: Int, items: Int = 1) {
        precondition(count.nonzeroBitCount == 1, "the number of orders must be a power of two")
        (self.count, self.storeCount) = (count, storeCount)
        var generator = OrderGenerator(stores: storeCount, items: items)
        stride = Self.keyRoom + generator.largest
        memory = .allocate(byteCount: count * stride, alignment: 8)
        orders = (0..<count).map { [memory, stride] number in
            let (store, _, value) = generator.draw(number: number)
            let slot = UnsafeMutableRawBufferPointer(rebasing: memory[number * stride..<(number + 1) * stride])
            slot.copyBytes(from: OrderGenerator.store(store))
            UnsafeMutableRawBufferPointer(rebasing: slot[Self.keyRoom...]).copyBytes(from: value)
            return (store, value.count)
        }
    }

    deinit { memory.deallocate() }

    private func bytes(at start: Int, _ count: Int) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: memory[start..<start + count])
    }

    /// The index of an order's store, from 0.
    func store(of number: Int) -> Int { orders[number & (count - 1)].store }

    func key(of number: Int) -> UnsafeRawBufferPointer { bytes(at: (number & (count - 1)) * stride, Self.keySize) }

    /// The value of an order, with an id that is unique to the number among the last 10,000 laps. It is valid until the value of a
    /// number that differs by a multiple of ``count`` is requested.
    func value(of number: Int) -> UnsafeRawBufferPointer {
        let index = number & (count - 1)
        let start = index * stride + Self.keyRoom
        if number / count != lap {
            lap = number / count
            let digits = Array(String(10_000 + lap % 10_000).utf8.dropFirst())
            lapDigits = digits.withUnsafeBytes { $0.loadUnaligned(as: UInt32.self) }
        }
        memory.storeBytes(of: lapDigits, toByteOffset: start + OrderGenerator.numberStart, as: UInt32.self)
        return bytes(at: start, orders[index].size)
    }

    /// The id of an order, valid as long as its value.
    func id(of number: Int) -> BorrowedText {
        let prefix = 6
        let value = value(of: number)
        let start = OrderGenerator.numberStart - prefix
        return BorrowedText(UnsafeRawBufferPointer(rebasing: value[start..<start + prefix + OrderGenerator.digits]))
    }
}

extension JuiceOrder {
    /// One juice with this index.
    static func one(_ juice: Int) -> JuiceOrder { .single(OrderItem(juice: juice, quantity: 1)) }
}

extension Menu {
    /// Plenty of all fruits except one: its juices are out of stock, all others are made.
    static let withScarceFruit = (try? standard { $0.id == scarce ? $0.initialStock : 10_000 }) ?? standard
    private static let scarce = "strawberry"

    /// The juices without the scarce fruit.
    fileprivate var plentyJuices: [String] {
        juices.filter { juice in juice.recipe.allSatisfy { fruits[$0.fruit].id != Self.scarce } }.map(\.id)
    }
}
