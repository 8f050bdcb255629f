/// Why a text could not be read as JSON.
enum JSONError: Error, Hashable {
    /// Not one JSON document in UTF-8.
    case notJSON
    /// Objects and arrays nested more than ``JSONReader/maximumDepth`` levels deep.
    case tooDeep
    /// Longer than ``JSONReader/maximumLength``.
    case tooLong
}

/// Reads one JSON document (RFC 8259) at a time, and reuses its memory for the next.
///
/// A byte order mark in front of the document is skipped.
struct JSONReader: ~Copyable {
    /// How many levels of objects and arrays a document may nest.
    static let maximumDepth = 128
    /// The longest document, in bytes.
    static let maximumLength = 1 << 30

    private let memory: Memory

    /// A reader with room for documents of up to `capacity` bytes. It grows for longer ones.
    init(capacity: Int) { memory = Memory(capacity: capacity) }

    /// The root of the document in these bytes, which are copied. It is valid until the next call.
    func read(_ bytes: UnsafeRawBufferPointer) throws(JSONError) -> JSONValue {
        guard bytes.count <= Self.maximumLength else { throw .tooLong }
        memory.makeRoom(for: bytes.count)
        let (text, tokens) = (memory.text, memory.tokens)
        // Zeros, which no document has, separate it from the rest of a longer document before it.
        UnsafeMutableRawBufferPointer(start: text, count: bytes.count).copyMemory(from: bytes)
        (text + bytes.count).initializeMemory(as: UInt8.self, repeating: 0, count: JSONScanner.padding)
        var scanner = JSONScanner(text, count: bytes.count, tokens: tokens)
        try scanner.scan()
        return JSONValue(tokens)
    }

    /// Room for a document and its tokens.
    private final class Memory {
        private(set) var text: UnsafeMutableRawPointer
        private(set) var tokens: UnsafeMutablePointer<JSONToken>
        private var capacity: Int

        init(capacity: Int) {
            self.capacity = capacity
            text = .allocate(byteCount: capacity + JSONScanner.padding, alignment: 8)
            tokens = .allocate(capacity: JSONScanner.mostTokens(inBytes: capacity))
        }

        deinit {
            text.deallocate()
            tokens.deallocate()
        }

        @inline(__always)
        func makeRoom(for count: Int) {
            if count > capacity { grow(to: count) }
        }

        private func grow(to count: Int) {
            // Doubled, so that ever longer documents cost few reallocations.
            capacity = max(count, capacity * 2)
            text.deallocate()
            text = .allocate(byteCount: capacity + JSONScanner.padding, alignment: 8)
            tokens.deallocate()
            tokens = .allocate(capacity: JSONScanner.mostTokens(inBytes: capacity))
        }
    }
}

/// One value of a document, or one key of an object. Tokens are in document order: an object is followed by its members, each
/// a string (the key) and then the value, and an array by its elements.
struct JSONToken {
    enum Kind: UInt8 {
        case object
        case array
        case string
        /// A number written as an integer that fits 64 signed bits.
        case integer
        /// Any other number that JSON allows: with a fraction or an exponent, or beyond 64 bits.
        case number
        case `true`
        case `false`
        case null
    }

    let kind: Kind
    /// The number of tokens of this value and its descendants. While an object or array is open: the place of its parent.
    var size: UInt32 = 1
    /// Of a string: its length in bytes, unescaped.
    var count: UInt32 = 0
    /// Of a string: its bytes.
    var text: UnsafeRawPointer?
    /// The value of an integer.
    var integer = 0
}
