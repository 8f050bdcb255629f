/// An answer in 16 bytes, of which a million are remembered.
///
/// It holds an ``AnswerContent``, or else the number of an ``AnswerTemplate`` and what fills its blanks; the command brings
/// the id and the store. It can be unpacked only under the menu it was packed under, and only beside the templates that
/// its number counts. `CompactAnswer?` takes 16 bytes as well.
///
/// - A content: its numbers or, if they do not fit, the place where these are kept.
/// - Templated: the template's number and the numbers for its blanks or, if they do not fit, the place where these are kept.
public struct CompactAnswer: Sendable, Equatable {
    enum Kind: Equatable {
        case content(AnswerContent.Kind)
        case contentElsewhere(AnswerContent.Kind)
        case templated
        case templatedElsewhere
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

    /// The numbers of its content, from the first one on. They mean nothing if they are kept elsewhere.
    var numbers: some NumberSource { CompactNumbers.Reader(rest: bits) }
}

// MARK: - Contents

extension CompactAnswer {
    /// Packs what an answer says; `nil` if it does not fit.
    public init?(_ content: AnswerContent) {
        var numbers = CompactNumbers()
        guard content.pack(into: &numbers) else { return nil }
        self.init(.content(content.kind), numbers)
    }

    /// An answer of this kind of content, whose numbers are kept elsewhere.
    public init(_ kind: AnswerContent.Kind, numbersAt place: Int) {
        self.init(.contentElsewhere(kind), UInt128(UInt64(place)))
    }

    /// Where its numbers are kept; `nil` if it holds them itself.
    public var numbersPlace: Int? {
        switch kind {
        case .content, .templated: nil
        case .contentElsewhere: Int(bytesOfPlace(at: 0))
        case .templatedElsewhere: Int(bytesOfPlace(at: 32))
        }
    }

    private func bytesOfPlace(at shift: Int) -> UInt64 { UInt64(truncatingIfNeeded: bits >> shift) }

    /// The kind of its content; nil for an answer that needs a template.
    public var contentKind: AnswerContent.Kind? {
        switch kind {
        case .content(let kind), .contentElsewhere(let kind): kind
        case .templated, .templatedElsewhere: nil
        }
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
            /// At this place, wherever the templates are kept.
            case elsewhere(Int)
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
    public init(template: UInt32, numbersAt place: Int) {
        self.init(.templatedElsewhere, UInt128(template) | UInt128(UInt64(place)) << 32)
    }

    /// The template that it needs; `nil` for an answer that an encoder writes.
    public var templated: Templated? {
        let template = UInt32(truncatingIfNeeded: bits)
        switch kind {
        case .content, .contentElsewhere:
            return nil
        case .templated:
            var reader = CompactNumbers.Reader(rest: bits >> 32)
            // Each takes a byte at least, but for zeros at the end.
            let numbers = (0..<Self.roomBesideTemplate).map { _ in reader.next() }
            return Templated(template: template, numbers: .here(numbers))
        case .templatedElsewhere:
            return Templated(template: template, numbers: .elsewhere(Int(bytesOfPlace(at: 32))))
        }
    }
}
