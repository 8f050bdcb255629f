/// A JSON document that can be damaged. Its literals are kept as written.
indirect enum JSON {
    case object([(name: String, value: JSON)])
    case array([JSON])
    /// A number, a string with its quotes, `true`, `false` or `null`.
    case literal(String)

    var text: String {
        switch self {
        case .object(let members): "{" + members.map { "\(JSON.quoted($0.name)):\($0.value.text)" }.joined(separator: ",") + "}"
        case .array(let elements): "[" + elements.map(\.text).joined(separator: ",") + "]"
        case .literal(let text): text
        }
    }

    static func string(_ text: String) -> JSON { .literal(quoted(text)) }

    private static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"", "\\": quoted += "\\\(scalar)"
            case "\u{0}"..<" ": quoted += "\\u00\(scalar.value < 16 ? "0" : "")\(String(scalar.value, radix: 16))"
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }

    /// The value at a path of names and positions; `*` is an object's first member.
    subscript(path: [Substring]) -> JSON? {
        guard let step = path.first else { return self }
        switch self {
        case .object(let members):
            guard let place = place(of: step, in: members) else { return nil }
            return members[place].value[Array(path.dropFirst())]
        case .array(let elements):
            guard let place = Int(step), elements.indices.contains(place) else { return nil }
            return elements[place][Array(path.dropFirst())]
        case .literal: return nil
        }
    }

    /// The document with another value at a path, or without it if `value` is nil. A new member is appended to its object.
    /// Nil if there is no such object, or nothing to remove.
    func replacing(_ path: [Substring], with value: JSON?) -> JSON? {
        guard let step = path.first else { return value }
        let rest = Array(path.dropFirst())
        switch self {
        case .object(var members):
            guard let place = place(of: step, in: members) else {
                guard rest.isEmpty, let value, step != "*" else { return nil }
                return .object(members + [(String(step), value)])
            }
            if rest.isEmpty, value == nil {
                members.remove(at: place)
            } else {
                guard let replaced = members[place].value.replacing(rest, with: value) else { return nil }
                members[place].value = replaced
            }
            return .object(members)
        case .array(var elements):
            guard let place = Int(step), elements.indices.contains(place),
                let replaced = elements[place].replacing(rest, with: value)
            else { return nil }
            elements[place] = replaced
            return .array(elements)
        case .literal: return nil
        }
    }

    private func place(of step: Substring, in members: [(name: String, value: JSON)]) -> Int? {
        step == "*" ? members.indices.first : members.firstIndex { $0.name.utf8.elementsEqual(step.utf8) }
    }
}

extension JSON: Decodable {
    private struct Name: CodingKey {
        let stringValue: String
        let intValue: Int? = nil

        init(stringValue: String) { self.stringValue = stringValue }

        init?(intValue: Int) { nil }
    }

    init(from decoder: any Decoder) throws {
        if let object = try? decoder.container(keyedBy: Name.self) {
            // In an order that is the same in every run.
            let names = object.allKeys.sorted { $0.stringValue < $1.stringValue }
            self = .object(try names.map { ($0.stringValue, try object.decode(JSON.self, forKey: $0)) })
        } else if var array = try? decoder.unkeyedContainer() {
            var elements: [JSON] = []
            while !array.isAtEnd { elements.append(try array.decode(JSON.self)) }
            self = .array(elements)
        } else {
            let value = try decoder.singleValueContainer()
            if value.decodeNil() {
                self = .literal("null")
            } else if let boolean = try? value.decode(Bool.self) {
                self = .literal(boolean ? "true" : "false")
            } else if let number = try? value.decode(Int.self) {
                self = .literal(String(number))
            } else if let number = try? value.decode(Double.self) {
                self = .literal(String(number))
            } else {
                self = .string(try value.decode(String.self))
            }
        }
    }
}
