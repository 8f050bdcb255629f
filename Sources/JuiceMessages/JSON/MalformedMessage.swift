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
