import JuiceMaker

/// Generates orders of about 115 bytes, as a POS system might send them. The same seed gives the same orders.
package struct BenchOrders {
    /// The highest number of stores: their ids have seven digits.
    package static let mostStores = 9_999_999

    private let templates: [[UInt8]]
    private let digitsStart: Int
    private let stores: Int
    private var random: SeededGenerator

    init(menu: Menu = .standard, stores: Int, seed: UInt64 = 1) {
        let head = #"{"orderId":"pos-7-"#
        templates = menu.juices.map { juice in
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
