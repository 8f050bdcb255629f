import JuiceDomain

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

/// Why the value of a record is not the message it should be.
public struct MalformedMessage: Error, Hashable, CustomStringConvertible {
    /// The path to the faulty part, such as `stock.kiwi`; empty when it is the value as a whole.
    public let place: String
    /// What is wrong there, in English.
    public let problem: String

    /// The place and the problem in English.
    public var description: String { place.isEmpty ? problem : "\(place): \(problem)" }

    init(_ place: String, _ problem: String) {
        self.place = place
        self.problem = problem
    }

    init(_ error: JSONError) {
        switch error {
        case .notJSON: self.init("", "not a JSON document in UTF-8")
        case .tooDeep: self.init("", "nested more than \(JSONReader.maximumDepth) levels deep")
        case .tooLong: self.init("", "longer than \(JSONReader.maximumLength) bytes")
        }
    }
}

extension JSONReader {
    func readObject(_ bytes: UnsafeRawBufferPointer) throws(MalformedMessage) -> JSONObject {
        let root: JSONValue
        do throws(JSONError) { root = try read(bytes) } catch { throw MalformedMessage(error) }
        guard let object = root.object else { throw MalformedMessage("", "not a JSON object") }
        return object
    }
}

// Members of messages that this project writes itself: each is present, once, and of one type.
extension JSONObject.Member {
    @inline(__always)
    private func value<Value>(
        _ place: () -> String,
        _ kind: StaticString,
        _ read: (JSONValue) -> Value?
    ) throws(MalformedMessage) -> Value {
        switch self {
        case .absent: throw MalformedMessage(place(), "missing")
        case .repeated: throw MalformedMessage(place(), "given twice")
        case .value(let value):
            guard let value = read(value) else { throw MalformedMessage(place(), "must be \(kind)") }
            return value
        }
    }

    func text(_ place: @autoclosure () -> String) throws(MalformedMessage) -> BorrowedText {
        try value(place, "a string") { $0.string }
    }

    /// A whole number within a range, so that callers can calculate with it without overflow.
    func integer(_ place: @autoclosure () -> String, from range: ClosedRange<Int> = .min ... .max) throws(MalformedMessage) -> Int {
        let number = try value(place, "a whole number") { $0.integer }
        guard range.contains(number) else {
            throw MalformedMessage(place(), "must be from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    /// Whether it is `true`; the other value is never written.
    func isMarked(_ place: @autoclosure () -> String) throws(MalformedMessage) -> Bool {
        isAbsent ? false : try value(place, "true") { $0.boolean == true ? true : nil }
    }

    func object(_ place: @autoclosure () -> String) throws(MalformedMessage) -> JSONObject {
        try value(place, "an object") { $0.object }
    }

    func array(_ place: @autoclosure () -> String) throws(MalformedMessage) -> JSONArray {
        try value(place, "an array") { $0.array }
    }
}

// The same by name. The path to the object is empty or ends with a dot.
extension JSONObject {
    func text(_ name: StaticString, in path: String = "") throws(MalformedMessage) -> BorrowedText {
        try member(name).text("\(path)\(name)")
    }

    func integer(_ name: StaticString, in path: String = "", from range: ClosedRange<Int> = .min ... .max) throws(MalformedMessage)
        -> Int
    { try member(name).integer("\(path)\(name)", from: range) }

    func object(_ name: StaticString, in path: String = "") throws(MalformedMessage) -> JSONObject {
        try member(name).object("\(path)\(name)")
    }

    func array(_ name: StaticString, in path: String = "") throws(MalformedMessage) -> JSONArray {
        try member(name).array("\(path)\(name)")
    }

    /// The members of an object that has an amount for each of some fruits.
    func amounts(_ name: StaticString) throws(MalformedMessage) -> [FruitAmount] {
        var amounts: [FruitAmount] = []
        for (key, value) in try object(name) {
            guard let amount = value.amount else { throw MalformedMessage("\(name).\(key.clipped())", JSONValue.noAmount) }
            amounts.append(FruitAmount(fruit: String(key), amount: amount))
        }
        return amounts
    }

    /// The elements of an array of objects. `element` gets the path of each.
    func objects<Element>(
        _ name: StaticString,
        _ element: (JSONObject, String) throws(MalformedMessage) -> Element
    ) throws(MalformedMessage) -> [Element] {
        var elements: [Element] = []
        for value in try array(name) {
            let place = "\(name)[\(elements.count)]"
            guard let object = value.object else { throw MalformedMessage(place, "must be an object") }
            elements.append(try element(object, place))
        }
        return elements
    }
}
