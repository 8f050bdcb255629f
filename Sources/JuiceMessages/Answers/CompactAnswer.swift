/// The answer to a command, in 16 bytes: what is remembered of it, for a million of them.
///
/// It holds the numbers that the answer does not share with others; the id and the store are known from the command.
/// Juices, fruits and ingredients are their places on the menu, so it means something only to an encoder of the menu
/// it was made with; a template, to whoever keeps the template. `CompactAnswer?` takes 16 bytes as well.
///
/// - A juice that was made: juice, quantity, the level of each ingredient's fruit.
/// - A juice that was out of stock: juice, quantity, for each ingredient 0, or how many there were of its fruit plus 1
///   if it was short.
/// - A restock: a bit for each fruit it named, the level of each of them.
/// - Any other answer: the number of its ``AnswerTemplate``, and what that leaves blank; or, if that is too much, the
///   number under which it is kept.
public struct CompactAnswer: Sendable, Equatable {
    enum Kind: UInt8 {
        case juiceMade
        case outOfStock
        case restocked
        case templated
        case templatedElsewhere
    }

    // An enum, in whose unused values `Optional` finds room for `nil`. With it, the other four are 16 bytes.
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
        case .juiceMade, .outOfStock, .restocked:
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
