/// Why the value of a record is not the message it should be.
public struct MalformedMessage: Error, Hashable, CustomStringConvertible {
    /// The path to the faulty part, such as `stock.kiwi`; empty when it is the value as a whole.
    public let place: String
    /// What is wrong there, in English.
    public let problem: String

    /// The place and the problem in English.
    public var description: String {
        place.isEmpty ? problem : "\(place): \(problem)"
    }

    init(_ place: String, _ problem: String) {
        self.place = place
        self.problem = problem
    }

    init(_ error: JSONError) {
        switch error {
        case .notJSON: self.init("", "not a JSON document in UTF-8")
        case .tooDeep: self.init("", "nested more than \(JSONReader.maximumDepth) levels deep")
        case .outOfMemory: self.init("", "no memory for a document of this size")
        }
    }
}

extension JSONReader {
    func readObject(_ bytes: UnsafeRawBufferPointer) throws(MalformedMessage) -> JSONObject {
        let root: JSONValue
        do throws(JSONError) {
            root = try read(bytes)
        } catch {
            throw MalformedMessage(error)
        }
        guard let object = root.object else { throw MalformedMessage("", "not a JSON object") }
        return object
    }
}

// Members of messages this project writes itself: each is there, once, and of one type. The path to the
// object ends with a dot, or is empty.
extension JSONObject {
    func value(_ name: StaticString, in path: String = "") throws(MalformedMessage) -> JSONValue {
        switch member(name) {
        case .value(let value): return value
        case .absent: throw MalformedMessage("\(path)\(name)", "missing")
        case .repeated: throw MalformedMessage("\(path)\(name)", "given twice")
        }
    }

    func text(_ name: StaticString, in path: String = "") throws(MalformedMessage) -> BorrowedText {
        guard let text = try value(name, in: path).string else {
            throw MalformedMessage("\(path)\(name)", "must be a string")
        }
        return text
    }

    func integer(_ name: StaticString, in path: String = "") throws(MalformedMessage) -> Int {
        guard let integer = try value(name, in: path).integer else {
            throw MalformedMessage("\(path)\(name)", "must be a whole number")
        }
        return integer
    }

    func object(_ name: StaticString, in path: String = "") throws(MalformedMessage) -> JSONObject {
        guard let object = try value(name, in: path).object else {
            throw MalformedMessage("\(path)\(name)", "must be an object")
        }
        return object
    }

    func array(_ name: StaticString, in path: String = "") throws(MalformedMessage) -> JSONArray {
        guard let array = try value(name, in: path).array else {
            throw MalformedMessage("\(path)\(name)", "must be an array")
        }
        return array
    }

    /// The members of an object that has a number for each of some fruits.
    func amounts(_ name: StaticString) throws(MalformedMessage) -> [FruitAmount] {
        var amounts: [FruitAmount] = []
        for (key, value) in try object(name) {
            guard let amount = value.integer else {
                throw MalformedMessage("\(name).\(key.clipped())", "must be a whole number")
            }
            amounts.append(FruitAmount(fruit: String(key), amount: amount))
        }
        return amounts
    }
}
