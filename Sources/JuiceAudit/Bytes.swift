/// Stands for a sequence of numbers and byte strings. Two different ones never have the same value in practice.
struct Digest {
    private(set) var value: UInt64 = 0x9E37_79B9_7F4A_7C15

    mutating func add(_ word: UInt64) {
        let product = (value ^ 0xA076_1D64_78BD_642F).multipliedFullWidth(by: word ^ 0xE703_7ED1_A0B4_28DB)
        value = product.high ^ product.low ^ word
    }

    /// Adds a byte string. Its length is added too, so that two strings differ from one.
    mutating func add(_ bytes: UnsafeBufferPointer<UInt8>) {
        let raw = UnsafeRawBufferPointer(bytes)
        add(UInt64(raw.count))
        var position = 0
        while position + 8 <= raw.count {
            add(raw.loadUnaligned(fromByteOffset: position, as: UInt64.self))
            position += 8
        }
        if position < raw.count { add(raw[position...].reduce(0) { $0 << 8 | UInt64($1) }) }
    }

    /// Adds a byte string, or that there is none.
    mutating func add(_ bytes: [UInt8]?) {
        add(bytes == nil ? 0 : 1)
        bytes?.withUnsafeBufferPointer { add($0) }
    }
}

/// Whether two byte strings are the same.
func isSame(_ first: UnsafeBufferPointer<UInt8>, _ second: UnsafeBufferPointer<UInt8>) -> Bool {
    guard first.count == second.count else { return false }
    // Without an early end, so that many are compared at once.
    var difference: UInt8 = 0
    for index in first.indices { difference |= first[index] ^ second[index] }
    return difference == 0
}

func isSame(_ bytes: UnsafeBufferPointer<UInt8>, _ other: [UInt8]) -> Bool {
    other.withUnsafeBufferPointer { isSame(bytes, $0) }
}

func isSame(_ bytes: UnsafeBufferPointer<UInt8>, _ literal: StaticString) -> Bool {
    isSame(bytes, UnsafeBufferPointer(start: literal.utf8Start, count: literal.utf8CodeUnitCount))
}

func isUTF8(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool { String(validating: bytes, as: UTF8.self) != nil }

/// Text from records as faults show it: quoted, and cut after 64 bytes.
func quoted(_ bytes: some Collection<UInt8>) -> String {
    let longest = 64
    let text = String(decoding: bytes.prefix(longest), as: UTF8.self)
    return "\"\(text)\(bytes.count > longest ? "…" : "")\""
}

/// The latest values by their keys: at least as many as asked for, and at most twice as many.
struct Recent<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private var young: [Key: Value] = [:]
    private var old: [Key: Value] = [:]
    /// Whether some were dropped.
    private(set) var hasForgotten = false
    private let count: Int

    init(_ count: Int) { self.count = count }

    subscript(key: Key) -> Value? {
        get { young[key] ?? (old.isEmpty ? nil : old[key]) }
        set {
            young[key] = newValue
            if newValue == nil { old[key] = nil }
            if young.count >= count { (old, young, hasForgotten) = (young, [:], !old.isEmpty) }
        }
    }
}

// MARK: - JSON

// As the service writes it: without spaces.
extension [UInt8] {
    mutating func add(_ text: StaticString) {
        append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    mutating func add(_ number: Int) {
        guard number >= 0 else { return append(contentsOf: String(number).utf8) }
        if number >= 10 { add(number / 10) }
        append(UInt8(48 + number % 10))
    }

    mutating func add(quoted text: some Collection<UInt8>) {
        let (quote, escape) = (UInt8(ascii: "\""), UInt8(ascii: "\\"))
        append(quote)
        if text.contains(where: { $0 == quote || $0 == escape || $0 < 0x20 }) {
            for byte in text {
                switch byte {
                case quote, escape: append(contentsOf: [escape, byte])
                case UInt8(ascii: "\n"): add("\\n")
                case UInt8(ascii: "\r"): add("\\r")
                case UInt8(ascii: "\t"): add("\\t")
                case 0..<0x20:
                    add(byte < 0x10 ? "\\u000" : "\\u00")
                    append(contentsOf: String(byte, radix: 16).utf8)
                default: append(byte)
                }
            }
        } else {
            append(contentsOf: text)
        }
        append(quote)
    }

    /// Adds elements or members with commas between them.
    mutating func add<Part>(_ elements: some Sequence<Part>, _ body: (inout [UInt8], Part) -> Void) {
        var isFirst = true
        for element in elements {
            if !isFirst { add(",") }
            isFirst = false
            body(&self, element)
        }
    }

    /// Adds an object of fruits.
    mutating func add(
        _ amounts: some Sequence<AuditMenu.Amount>, _ menu: AuditMenu, by amount: (AuditMenu.Amount) -> Int = \.amount
    ) {
        add("{")
        add(amounts) { text, part in
            text += menu.fruits[part.fruit].member
            text.add(amount(part))
        }
        add("}")
    }
}
