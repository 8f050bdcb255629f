import Foundation
import JuiceDomain
import MessageSamples
import Testing

@testable import JuiceMessages

// Logs name every argument of a test. Written out, a golden answer has its whole menu, and a command all its bytes as numbers.
extension GoldenAnswer: CustomTestStringConvertible {
    package var testDescription: String {
        (try? Answer(json: self[.english])).map { "\($0.command): \($0.message)" } ?? self[.english]
    }
}

extension OutgoingCommand: CustomTestStringConvertible {
    /// Its JSON.
    public var testDescription: String { String(decoding: value, as: UTF8.self) }
}

extension [UInt8] {
    init(_ text: String) { self.init(text.utf8) }
}

extension String {
    /// Calls `body` with the text as a record's value.
    func asValue<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try Array(utf8).withUnsafeBytes(body)
    }
}

/// Copies of a JSON document without one of its members, and with a number in place of a part, and the path of that part. Objects
/// within it may lack any member, unless they are items of an array.
func damages(_ json: String, mayLack: Set<String>) throws -> [(path: String, json: String)] {
    try damages(JSONSerialization.jsonObject(with: Data(json.utf8)), at: "", mayLack).map {
        ($0, String(decoding: try JSONSerialization.data(withJSONObject: $1), as: UTF8.self))
    }
}

private func damages(_ value: Any, at path: String, _ mayLack: Set<String>) -> [(path: String, value: Any)] {
    func changed(_ part: Any, at place: String) -> [(path: String, value: Any)] {
        [(place, 7.5)] + damages(part, at: place, mayLack)
    }
    if let array = value as? [Any] {
        return array.indices.flatMap { index in
            changed(array[index], at: "\(path)[\(index)]").map { ($0, Array(array[..<index] + [$1] + array[(index + 1)...])) }
        }
    }
    guard let members = value as? [String: Any] else { return [] }
    return members.flatMap { name, member in
        let place = path.isEmpty ? name : "\(path).\(name)"
        let isNeeded = path.isEmpty ? !mayLack.contains(name) : path.hasSuffix("]")
        return changed(member, at: place).map { ($0, members.merging([name: $1]) { $1 }) }
            + (isNeeded ? [(place, members.filter { $0.key != name })] : [])
    }
}
