import JuiceDomain
import JuiceMessages

/// Orders as POS systems send them, as bytes in contiguous memory. Stores and juices are shuffled, but the same every time.
final class OrderWorkload {
    /// Plenty of all fruits except one, strawberries: their juices are out of stock, all others are made.
    static let menu = (try? Menu.standard { $0.id == scarce ? $0.initialStock : 10_000 }) ?? Menu.standard
    private static let scarce = "strawberry"

    /// How many orders there are, a power of two. Further ones repeat them under new ids.
    let count: Int
    /// The number of stores.
    let storeCount: Int

    private let memory: UnsafeMutableRawBufferPointer
    private let stride: Int
    private let orders: [Order]

    private struct Order {
        let store: Int
        let keyLength: Int
        let valueLength: Int
    }

    /// The latest lap, and its digits as they appear in ids.
    private var lap = -1
    private var lapDigits: UInt32 = 0

    private static let keyRoom = 16
    private static let beforeID = Array(#"{"orderId":"pos-"#.utf8)

    /// Orders for this many stores.
    ///
    /// - Parameters:
    ///   - count: how many, a power of two.
    ///   - storeCount: the number of stores.
    ///   - items: how many juices each asks for; more than one make baskets.
    init(count: Int, storeCount: Int, items: Int = 1) {
        precondition(count.nonzeroBitCount == 1, "the number of orders must be a power of two")
        (self.count, self.storeCount) = (count, storeCount)
        let juices = Self.menu.juices.map(\.id)
        let plenty = Self.menu.juices.filter { juice in juice.recipe.allSatisfy { Self.menu.fruits[$0.fruit].id != Self.scarce } }
            .map(\.id)
        let longest = String(repeating: "x", count: juices.map(\.utf8.count).max() ?? 0)
        stride = Self.keyRoom + Self.value(number: 0, Array(repeating: longest, count: items)).count
        memory = .allocate(byteCount: count * stride, alignment: 8)
        var orders: [Order] = []
        orders.reserveCapacity(count)
        for number in 0..<count {
            // Fibonacci hashing scatters consecutive numbers.
            let mixed = UInt64(number + 1) &* 0x9E37_79B9_7F4A_7C15
            let store = Int(mixed >> 32) % storeCount
            let first = Int(mixed >> 16 & 0xFFFF)
            // As many baskets are made as orders of one juice.
            let isMade = plenty.contains(juices[first % juices.count])
            let choice = items > 1 && isMade ? plenty : juices
            let ordered = (first..<first + items).map { choice[$0 % choice.count] }
            let key = Array("store-\(store)".utf8)
            let value = Self.value(number: number, ordered)
            let slot = UnsafeMutableRawBufferPointer(rebasing: memory[number * stride..<(number + 1) * stride])
            slot.copyBytes(from: key)
            UnsafeMutableRawBufferPointer(rebasing: slot[Self.keyRoom...]).copyBytes(from: value)
            orders.append(Order(store: store, keyLength: key.count, valueLength: value.count))
        }
        self.orders = orders
    }

    deinit { memory.deallocate() }

    /// Some 110 bytes for one juice, with fields unknown to the service.
    private static func value(number: Int, _ juices: [String]) -> [UInt8] {
        let items = juices.map { #""juice":"\#($0)","quantity":1"# }
        let order = items.count == 1 ? items[0] : "\"items\":[{\(items.joined(separator: "},{"))}]"
        return beforeID + digits(0, 4) + Array("-".utf8) + digits(number, 8)
            + Array(#"",\#(order),"register":"7","at":"2026-01-01T12:00:00Z"}"#.utf8)
    }

    private static func digits(_ number: Int, _ count: Int) -> [UInt8] {
        let digits = Array(String(number).utf8.suffix(count))
        return Array(repeating: UInt8(ascii: "0"), count: count - digits.count) + digits
    }

    /// The key of an order.
    func key(of number: Int) -> UnsafeRawBufferPointer {
        let index = number & (count - 1)
        let start = index * stride
        return UnsafeRawBufferPointer(rebasing: memory[start..<start + orders[index].keyLength])
    }

    /// The value of an order, with an id that is unique to the number. It is valid until the value of a number that differs by
    /// a multiple of ``count`` is requested.
    func value(of number: Int) -> UnsafeRawBufferPointer {
        let index = number & (count - 1)
        let start = index * stride + Self.keyRoom
        if number / count != lap {
            lap = number / count
            lapDigits = Self.digits(lap, 4).withUnsafeBytes { $0.loadUnaligned(as: UInt32.self) }
        }
        memory.storeBytes(of: lapDigits, toByteOffset: start + Self.beforeID.count, as: UInt32.self)
        return UnsafeRawBufferPointer(rebasing: memory[start..<start + orders[index].valueLength])
    }

    /// The index of an order's store, from 0.
    func store(of number: Int) -> Int { orders[number & (count - 1)].store }
}
