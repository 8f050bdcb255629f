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
