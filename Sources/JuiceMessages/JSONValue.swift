import CSimdJSON
import JuiceMaker

/// A value of the document that a ``JSONReader`` read last: a place in its tokens, cheap to pass on, and gone
/// when the reader reads again.
struct JSONValue {
    fileprivate let tokens: UnsafePointer<csj_token>
    fileprivate let index: Int

    init(tokens: UnsafePointer<csj_token>, index: Int) {
        self.tokens = tokens
        self.index = index
    }

    private var token: csj_token {
        tokens[index]
    }

    // The first token after this value and all it holds.
    fileprivate var end: Int {
        Int(tokens[index].next)
    }

    var isNull: Bool {
        token.kind == .null
    }

    /// The value of `true` or `false`.
    var boolean: Bool? {
        switch token.kind {
        case .true: true
        case .false: false
        case .object, .array, .string, .integer, .number, .null: nil
        }
    }

    /// The value of a number that is written as an integer and fits 64 bits. `1.0` and `1e3` are not.
    var integer: Int? {
        token.kind == .integer ? Int(token.integer) : nil
    }

    /// An ``integer`` that can be the level of a fruit in a store. What else a record may say, nobody calculates with.
    var amount: Int? {
        integer.flatMap { (0...FruitStore.maximumLevel).contains($0) ? $0 : nil }
    }

    /// What is wrong with a value that is no ``amount``.
    static let noAmount = "must be a whole number from 0 to \(FruitStore.maximumLevel)"

    /// The text of a string, without escapes.
    var string: BorrowedText? {
        guard token.kind == .string else { return nil }
        return BorrowedText(UnsafeRawBufferPointer(start: token.text, count: Int(token.length)))
    }

    var object: JSONObject? {
        token.kind == .object ? JSONObject(value: self) : nil
    }

    var array: JSONArray? {
        token.kind == .array ? JSONArray(value: self) : nil
    }
}

/// The members of an object in document order, a key that is given twice being two members.
struct JSONObject: Sequence {
    fileprivate let value: JSONValue

    func makeIterator() -> Iterator {
        Iterator(tokens: value.tokens, position: value.index + 1, end: value.end)
    }

    struct Iterator: IteratorProtocol {
        fileprivate let tokens: UnsafePointer<csj_token>
        fileprivate var position: Int
        fileprivate let end: Int

        mutating func next() -> (key: BorrowedText, value: JSONValue)? {
            guard position < end else { return nil }
            let key = tokens[position]
            let value = JSONValue(tokens: tokens, index: position + 1)
            position = value.end
            return (BorrowedText(UnsafeRawBufferPointer(start: key.text, count: Int(key.length))), value)
        }
    }

    /// What an object holds under a name.
    enum Member {
        case absent
        case value(JSONValue)
        /// JSON leaves open what a name given twice means, so no reader here chooses.
        case repeated

        fileprivate mutating func note(_ value: JSONValue) {
            switch self {
            case .absent: self = .value(value)
            case .value, .repeated: self = .repeated
            }
        }
    }

    /// Looks a member up. Linear, which for the few members of a command is faster than any table.
    func member(_ name: StaticString) -> Member {
        let name = BorrowedText(name)
        var found: JSONValue?
        for (key, value) in self where key == name {
            guard found == nil else { return .repeated }
            found = value
        }
        return found.map(Member.value) ?? .absent
    }

    /// Looks three members up in one go.
    func members(
        _ first: StaticString,
        _ second: StaticString,
        _ third: StaticString
    ) -> (Member, Member, Member) {
        let names = (BorrowedText(first), BorrowedText(second), BorrowedText(third))
        var found = (Member.absent, Member.absent, Member.absent)
        for (key, value) in self {
            if key == names.0 {
                found.0.note(value)
            } else if key == names.1 {
                found.1.note(value)
            } else if key == names.2 {
                found.2.note(value)
            }
        }
        return found
    }

    var isEmpty: Bool {
        value.end == value.index + 1
    }
}

/// The elements of an array.
struct JSONArray: Sequence {
    fileprivate let value: JSONValue

    func makeIterator() -> Iterator {
        Iterator(tokens: value.tokens, position: value.index + 1, end: value.end)
    }

    struct Iterator: IteratorProtocol {
        fileprivate let tokens: UnsafePointer<csj_token>
        fileprivate var position: Int
        fileprivate let end: Int

        mutating func next() -> JSONValue? {
            guard position < end else { return nil }
            let value = JSONValue(tokens: tokens, index: position)
            position = value.end
            return value
        }
    }
}
