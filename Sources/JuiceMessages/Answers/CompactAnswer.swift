/// An answer in 16 bytes, of which a million are remembered.
///
/// It holds an ``AnswerContent``, or else the number of an ``AnswerTemplate`` and what fills its blanks; the command brings
/// the id and the store. It can be unpacked only under the menu it was packed under, and only beside the templates that
/// its number counts. `CompactAnswer?` takes 16 bytes as well.
///
/// - Juice made: juice, quantity, the level of each ingredient's fruit.
/// - Out of stock: juice, quantity, and for each ingredient its level plus 1 if it was short, else 0.
/// - Restocked: a bit for each fruit it named, and the level of each.
/// - Templated: the template's number and the numbers for its blanks or, if they do not fit, the number under which
///   these are kept.
public struct CompactAnswer: Sendable, Equatable {
    enum Kind: Equatable {
        case content(AnswerContent.Kind)
        case templated
        case templatedElsewhere

        /// The kind of content; nil for an answer that needs a template.
        var content: AnswerContent.Kind? {
            if case .content(let kind) = self { kind } else { nil }
        }
    }

    // An enum, whose unused values `Optional` takes for `nil`. With it, the other four are 16 bytes.
    let kind: Kind
    private let byte0: UInt8
    private let bytes1To2: UInt16
    private let bytes3To6: UInt32
    private let bytes7To14: UInt64

    /// An answer of these numbers, or `nil` if they do not fit.
    init?(_ kind: Kind, _ numbers: CompactNumbers) {
        guard numbers.fit else { return nil }
        self.init(kind, numbers.bits)
    }

    private init(_ kind: Kind, _ bits: UInt128) {
        self.kind = kind
        byte0 = UInt8(truncatingIfNeeded: bits)
        bytes1To2 = UInt16(truncatingIfNeeded: bits >> 8)
        bytes3To6 = UInt32(truncatingIfNeeded: bits >> 24)
        bytes7To14 = UInt64(truncatingIfNeeded: bits >> 56)
    }

    private var bits: UInt128 {
        UInt128(byte0) | UInt128(bytes1To2) << 8 | UInt128(bytes3To6) << 24 | UInt128(bytes7To14) << 56
    }

    /// The numbers, from the first one on.
    var numbers: CompactNumbers.Reader { CompactNumbers.Reader(rest: bits) }
}

// MARK: - Contents

extension CompactAnswer {
    /// Packs what an answer says; `nil` if it does not fit.
    public init?(_ content: AnswerContent) {
        var numbers = CompactNumbers()
        switch content.kind {
        case .juiceMade, .outOfStock:
            numbers.append(content.order.juice)
            numbers.append(content.order.quantity)
        case .restocked:
            var named = FruitSet()
            for place in 0..<content.count where !named.insert(content[place].fruit) { return nil }
            numbers.append(named.bits)
        }
        let offset = content.kind.packingOffset
        for place in 0..<content.count { numbers.append(content[place].level + offset) }
        self.init(.content(content.kind), numbers)
    }
}

extension AnswerContent.Kind {
    /// What packing adds to a level: in an out-of-stock answer 0 stands for "enough".
    var packingOffset: Int { self == .outOfStock ? 1 : 0 }
}

/// The fruits that a restock named, a bit for each.
struct FruitSet {
    private(set) var bits: Int

    init(bits: Int = 0) {
        self.bits = bits
    }

    /// Adds a fruit that comes after all the others; `false` if it does not, or if there is no bit for it.
    mutating func insert(_ fruit: Int) -> Bool {
        guard (0..<Int.bitWidth - 1).contains(fruit), bits >> fruit == 0 else { return false }
        bits |= 1 << fruit
        return true
    }

    mutating func popFirst() -> Int? {
        guard bits != 0 else { return nil }
        defer { bits &= bits - 1 }
        return bits.trailingZeroBitCount
    }

    /// Whether a menu of so many fruits has all of them, and there is one.
    func isOfMenu(fruits: Int) -> Bool {
        bits > 0 && bits >> fruits == 0
    }
}

// MARK: - Templates

extension CompactAnswer {
    /// What an answer is made of that no encoder writes: a template, and what fills its blanks.
    public struct Templated: Sendable, Equatable {
        /// The template's number.
        public let template: UInt32
        /// What fills its blanks.
        public let numbers: Numbers

        /// Where the numbers are.
        public enum Numbers: Sendable, Equatable {
            /// These; whatever comes after them is 0.
            case here([Int])
            /// Under this number, wherever the templates are kept.
            case elsewhere(UInt32)
        }
    }

    /// The template's number comes first, in four bytes.
    private static let roomBesideTemplate = CompactNumbers.capacity - 4

    /// An answer of the template with this number, or `nil` if there is no room for the numbers.
    public init?(template: UInt32, numbers: [Int]) {
        var compact = CompactNumbers(capacity: Self.roomBesideTemplate)
        for number in numbers { compact.append(number) }
        guard compact.fit else { return nil }
        self.init(.templated, UInt128(template) | compact.bits << 32)
    }

    /// An answer of the template with this number, whose numbers are kept elsewhere.
    public init(template: UInt32, numbersAt place: UInt32) {
        self.init(.templatedElsewhere, UInt128(template) | UInt128(place) << 32)
    }

    /// The template that it needs; `nil` for an answer that an encoder writes.
    public var templated: Templated? {
        let template = UInt32(truncatingIfNeeded: bits)
        switch kind {
        case .content:
            return nil
        case .templated:
            var reader = CompactNumbers.Reader(rest: bits >> 32)
            // Each takes a byte at least, but for zeros at the end.
            let numbers = (0..<Self.roomBesideTemplate).map { _ in reader.next() }
            return Templated(template: template, numbers: .here(numbers))
        case .templatedElsewhere:
            let place = UInt32(truncatingIfNeeded: bits >> 32)
            return Templated(template: template, numbers: .elsewhere(place))
        }
    }
}
