import JuiceMessages

/// What must hold whatever the bytes of a record are. Both the fuzzer and the tests go by it.
///
/// A check is for one thread, and keeps its decoders from input to input as the service does.
public protocol InvariantCheck {
    /// Judges one value of a record.
    func check(_ value: UnsafeRawBufferPointer) throws(InvariantViolation)
}

/// Something that must not be, in words.
public struct InvariantViolation: Error, CustomStringConvertible {
    /// What is wrong.
    public let description: String
}

/// Throws unless the condition holds.
func require(
    _ condition: Bool,
    _ violation: @autoclosure () -> String
) throws(InvariantViolation) {
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
