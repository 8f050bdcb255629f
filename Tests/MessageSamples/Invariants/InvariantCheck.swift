import JuiceMessages

/// An invariant of any record, whatever its bytes. The fuzzer and the tests check it.
///
/// A check is for one thread, and reuses its decoders for all inputs as the service does.
public protocol InvariantCheck {
    /// Checks the value of a record.
    func check(_ value: UnsafeRawBufferPointer) throws(InvariantViolation)
}

/// A violated invariant.
public struct InvariantViolation: Error, CustomStringConvertible {
    /// What was violated, in words.
    public let description: String
}

/// Throws unless the condition holds.
func require(_ condition: Bool, _ violation: @autoclosure () -> String) throws(InvariantViolation) {
    guard condition else { throw InvariantViolation(description: violation()) }
}

/// Ids and stores are of 1 to 128 bytes of UTF-8.
func requireName(_ name: BorrowedText) throws(InvariantViolation) {
    try require((1...128).contains(name.bytes.count), "a name of \(name.bytes.count) bytes")
    try require(String(name).utf8.elementsEqual(name.bytes), "a name that is not UTF-8: \(String(name))")
}

/// What an encoder appends to an empty buffer.
func bytes(_ append: (inout OutputBuffer) -> Void) -> [UInt8] {
    var buffer = OutputBuffer()
    append(&buffer)
    return buffer.bytes
}

extension AnswerDecoder {
    /// The answer in bytes that this project wrote.
    func decodeOwn(_ bytes: [UInt8]) throws(InvariantViolation) -> Answer {
        do {
            return try bytes.withUnsafeBytes { try decode($0) }
        } catch {
            throw InvariantViolation(description: "\(error): \(String(decoding: bytes, as: UTF8.self))")
        }
    }
}
