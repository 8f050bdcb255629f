import JuiceDomain

/// A value of the last document of a ``JSONReader``: a pointer to its token, valid until the reader reads again.
struct JSONValue {
    private let first: UnsafePointer<JSONToken>

    init(_ first: UnsafePointer<JSONToken>) { self.first = first }

    private var token: JSONToken { first.pointee }

    fileprivate var start: UnsafePointer<JSONToken> { first + 1 }

    /// The first token after this value and its descendants.
    fileprivate var end: UnsafePointer<JSONToken> { first + Int(first.pointee.size) }

    var isNull: Bool { token.kind == .null }

    var boolean: Bool? { token.kind == .true ? true : token.kind == .false ? false : nil }

    /// The value of a number that is written as an integer and fits 64 bits. `1.0` and `1e3` are not.
    var integer: Int? { token.kind == .integer ? token.integer : nil }

    /// An ``integer`` in the range of a store's levels, so that callers can calculate with it without overflow.
    var amount: Int? { integer.flatMap { (0...FruitStore.maximumLevel).contains($0) ? $0 : nil } }

    static let noAmount = "must be a whole number from 0 to \(FruitStore.maximumLevel)"

    /// The text of a string, without escapes.
    @inline(__always)
    var string: BorrowedText? { token.kind == .string ? token.string : nil }

    var object: JSONObject? { token.kind == .object ? JSONObject(position: start, end: end) : nil }

    var array: JSONArray? { token.kind == .array ? JSONArray(position: start, end: end) : nil }
}

extension JSONToken {
    fileprivate var string: BorrowedText { BorrowedText(UnsafeRawBufferPointer(start: text, count: Int(count))) }
}

struct JSONArray: Sequence, IteratorProtocol {
    fileprivate var position: UnsafePointer<JSONToken>
    fileprivate let end: UnsafePointer<JSONToken>

    mutating func next() -> JSONValue? {
        guard position < end else { return nil }
        let value = JSONValue(position)
        position = value.end
        return value
    }
}

/// The members of an object in document order. A key given twice makes two members.
struct JSONObject: Sequence, IteratorProtocol {
    fileprivate var position: UnsafePointer<JSONToken>
    fileprivate let end: UnsafePointer<JSONToken>

    mutating func next() -> (key: BorrowedText, value: JSONValue)? {
        guard position < end else { return nil }
        let key = position
        let value = JSONValue(key + 1)
        position = value.end
        return (key.pointee.string, value)
    }

    var isEmpty: Bool { position == end }

    /// Looks up a member. Linear, which is faster than a table for the few members of a command.
    func member(_ name: StaticString) -> Member {
        var member = Member.absent
        for (key, value) in self where key == BorrowedText(name) { member.add(value) }
        return member
    }

    enum Member {
        case absent
        case value(JSONValue)
        /// The name is given twice. JSON does not define its meaning, so no reader here picks one of the values.
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
}

extension JSONReader {
    func readObject(_ bytes: UnsafeRawBufferPointer) throws(MalformedMessage) -> JSONObject {
        do throws(JSONError) {
            if let object = try read(bytes).object { return object }
        } catch {
            switch error {
            case .notJSON: throw MalformedMessage("", "not a JSON document in UTF-8")
            case .tooDeep: throw MalformedMessage("", "nested more than \(Self.maximumDepth) levels deep")
            case .tooLong: throw MalformedMessage("", "longer than \(Self.maximumLength) bytes")
            }
        }
        throw MalformedMessage("", "not a JSON object")
    }
}

// Members of messages that this project writes itself: each is present, once, and of one type.
extension JSONObject.Member {
    @inline(__always)
    private func value<Value>(
        _ path: () -> String, _ kind: StaticString, _ read: (JSONValue) -> Value?
    ) throws(MalformedMessage) -> Value {
        switch self {
        case .absent: throw MalformedMessage(path(), "missing")
        case .repeated: throw MalformedMessage(path(), "given twice")
        case .value(let value):
            guard let value = read(value) else { throw MalformedMessage(path(), "must be \(kind)") }
            return value
        }
    }

    func text(_ path: @autoclosure () -> String) throws(MalformedMessage) -> BorrowedText {
        try value(path, "a string") { $0.string }
    }

    /// A whole number within a range, so that callers can calculate with it without overflow.
    func integer(_ path: @autoclosure () -> String, from range: ClosedRange<Int> = .min ... .max) throws(MalformedMessage) -> Int {
        let number = try value(path, "a whole number") { $0.integer }
        guard range.contains(number) else {
            throw MalformedMessage(path(), "must be from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    /// Whether it is `true`. `false` is never written: the member is absent instead.
    func isMarked(_ path: @autoclosure () -> String) throws(MalformedMessage) -> Bool {
        isAbsent ? false : try value(path, "true") { $0.boolean == true ? true : nil }
    }

    func object(_ path: @autoclosure () -> String) throws(MalformedMessage) -> JSONObject {
        try value(path, "an object") { $0.object }
    }

    fileprivate func array(_ path: @autoclosure () -> String) throws(MalformedMessage) -> JSONArray {
        try value(path, "an array") { $0.array }
    }
}

// The same by name. The path to the object is empty or ends with a dot.
extension JSONObject {
    func text(_ name: StaticString, in path: String = "") throws(MalformedMessage) -> String {
        String(try member(name).text("\(path)\(name)"))
    }

    func integer(_ name: StaticString, in path: String = "", from range: ClosedRange<Int> = .min ... .max) throws(MalformedMessage)
        -> Int
    { try member(name).integer("\(path)\(name)", from: range) }

    func object(_ name: StaticString, in path: String = "") throws(MalformedMessage) -> JSONObject {
        try member(name).object("\(path)\(name)")
    }

    /// The members of an object that maps fruits to amounts.
    func amounts(_ name: StaticString) throws(MalformedMessage) -> [FruitAmount] {
        try object(name).map { (key, value) throws(MalformedMessage) in
            guard let amount = value.amount else { throw MalformedMessage("\(name).\(key.clipped())", JSONValue.noAmount) }
            return FruitAmount(fruit: String(key), amount: amount)
        }
    }

    func texts(_ name: StaticString, in path: String = "") throws(MalformedMessage) -> [String] {
        try elements(name, in: path, "a string") { value, _ in value.string.map(String.init) }
    }

    /// The elements of an array of objects. `element` gets the path of each.
    func objects<Element>(
        _ name: StaticString, _ element: (JSONObject, String) throws(MalformedMessage) -> Element
    ) throws(MalformedMessage) -> [Element] {
        try elements(name, in: "", "an object") { (value, path) throws(MalformedMessage) in
            guard let object = value.object else { return nil }
            return try element(object, path)
        }
    }

    private func elements<Element>(
        _ name: StaticString, in path: String, _ kind: StaticString,
        _ read: (JSONValue, String) throws(MalformedMessage) -> Element?
    ) throws(MalformedMessage) -> [Element] {
        var elements: [Element] = []
        for value in try member(name).array("\(path)\(name)") {
            let elementPath = "\(path)\(name)[\(elements.count)]"
            guard let element = try read(value, elementPath) else { throw MalformedMessage(elementPath, "must be \(kind)") }
            elements.append(element)
        }
        return elements
    }
}
