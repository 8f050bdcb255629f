import JuiceMessages

/// The numbers of a content, as many as it has.
public struct NumberArray: NumberSink, NumberSource, Equatable {
    private var numbers: [Int] = []
    private var position = 0

    /// No numbers yet.
    public init() {}

    /// How many there are.
    public var count: Int { numbers.count }

    /// Appends a number.
    public mutating func append(_ number: Int) { numbers.append(number) }

    /// The next number, from the first one on; 0 after the last.
    public mutating func next() -> Int {
        guard position < numbers.count else { return 0 }
        defer { position += 1 }
        return numbers[position]
    }
}

extension AnswerContent {
    /// Whether the other packs into the same numbers.
    public func isSame(as other: AnswerContent) -> Bool {
        var (own, others) = (NumberArray(), NumberArray())
        return kind == other.kind && pack(into: &own) && other.pack(into: &others) && own == others
    }
}
