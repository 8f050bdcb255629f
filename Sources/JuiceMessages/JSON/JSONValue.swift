import JuiceMaker

/// A value of the last document of a ``JSONReader``: a pointer to its token, valid until the reader reads again.
struct JSONValue {
    fileprivate let first: UnsafePointer<JSONToken>

    init(_ first: UnsafePointer<JSONToken>) { self.first = first }

    private var token: JSONToken { first.pointee }

    // The first token after this value and its descendants.
    fileprivate var end: UnsafePointer<JSONToken> { first + Int(first.pointee.size) }

    var isNull: Bool { token.kind == .null }

    /// The value of `true` or `false`.
    var boolean: Bool? {
        switch token.kind {
        case .true: true
        case .false: false
        case .object, .array, .string, .integer, .number, .null: nil
        }
    }

    /// The value of a number that is written as an integer and fits 64 bits. `1.0` and `1e3` are not.
    var integer: Int? { token.kind == .integer ? token.integer : nil }

    /// An ``integer`` in the range of a store's levels, so that callers can calculate with it without overflow.
    var amount: Int? { integer.flatMap { (0...FruitStore.maximumLevel).contains($0) ? $0 : nil } }

    /// The problem of a value that is not an ``amount``.
    static let noAmount = "must be a whole number from 0 to \(FruitStore.maximumLevel)"

    /// The text of a string, without escapes.
    @inline(__always)
    var string: BorrowedText? {
        token.kind == .string ? token.string : nil
    }

    var object: JSONObject? { token.kind == .object ? JSONObject(value: self) : nil }

    var array: JSONArray? { token.kind == .array ? JSONArray(value: self) : nil }
}

extension JSONToken {
    /// The text of a string.
    fileprivate var string: BorrowedText {
        BorrowedText(UnsafeRawBufferPointer(start: text, count: Int(count)))
    }
}

/// The members of an object in document order. A key given twice makes two members.
struct JSONObject: Sequence {
    fileprivate let value: JSONValue

    func makeIterator() -> Iterator { Iterator(position: value.first + 1, end: value.end) }

    struct Iterator: IteratorProtocol {
        fileprivate var position: UnsafePointer<JSONToken>
        fileprivate let end: UnsafePointer<JSONToken>

        mutating func next() -> (key: BorrowedText, value: JSONValue)? {
            guard position < end else { return nil }
            let key = position
            let value = JSONValue(key + 1)
            position = value.end
            return (key.pointee.string, value)
        }
    }

    /// What an object has under a name.
    enum Member {
        case absent
        case value(JSONValue)
        /// The name is given twice. JSON does not define its meaning, so no reader here picks one.
        case repeated

        @inline(__always)
        mutating func add(_ value: JSONValue) {
            switch self {
            case .absent: self = .value(value)
            case .value, .repeated: self = .repeated
            }
        }

        var isAbsent: Bool {
            if case .absent = self { true } else { false }
        }

        /// The text of the only value, if there is one and it is a string.
        var string: BorrowedText? {
            if case .value(let value) = self { value.string } else { nil }
        }
    }

    /// Looks up a member. Linear, which is faster than a table for the few members of a command.
    func member(_ name: StaticString) -> Member {
        let name = BorrowedText(name)
        var found: JSONValue?
        for (key, value) in self where key == name {
            guard found == nil else { return .repeated }
            found = value
        }
        return found.map(Member.value) ?? .absent
    }

    var isEmpty: Bool { value.first.pointee.size == 1 }
}

/// The elements of an array.
struct JSONArray: Sequence {
    fileprivate let value: JSONValue

    func makeIterator() -> Iterator { Iterator(position: value.first + 1, end: value.end) }

    struct Iterator: IteratorProtocol {
        fileprivate var position: UnsafePointer<JSONToken>
        fileprivate let end: UnsafePointer<JSONToken>

        mutating func next() -> JSONValue? {
            guard position < end else { return nil }
            let value = JSONValue(position)
            position = value.end
            return value
        }
    }
}
