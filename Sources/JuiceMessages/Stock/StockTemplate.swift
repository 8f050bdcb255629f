import JuiceMaker

/// Reads stock records the way they were written: by the same pieces, compared byte by byte, with numbers in between.
///
/// Of a million stores to restore, almost every record is what this service wrote under this menu, and comparing is
/// twenty times faster than parsing JSON. Any other record, whatever it is, is left to those who can read JSON.
struct StockTemplate {
    private static let beforeStore = Array(#"{"store":""#.utf8)
    private static let beforeRevision = Array(#"","revision":"#.utf8)
    /// What stands before the level of each fruit.
    private let beforeLevels: [[UInt8]]
    private static let end = Array("}}".utf8)

    init(menu: Menu) {
        beforeLevels = menu.fruits.enumerated().map { index, fruit in
            var piece = OutputBuffer()
            piece.append(index == 0 ? #","stock":{"# : ",")
            piece.append(quoted: fruit.id)
            piece.append(":")
            return piece.bytes
        }
    }

    /// Reads the levels in menu order, and returns the revision; nil when the record is not written just so.
    ///
    /// - Parameter store: the record's key.
    func read(_ value: UnsafeRawBufferPointer, of store: UnsafeRawBufferPointer, into levels: inout [Int])
        -> Int?
    {
        var text = Cursor(rest: value)
        // A store whose name is escaped is not found here, since the key is not.
        guard text.skip(Self.beforeStore), text.skip(store), text.skip(Self.beforeRevision),
            let revision = text.number()
        else { return nil }
        for fruit in beforeLevels.indices {
            guard text.skip(beforeLevels[fruit]), let level = text.number() else { return nil }
            levels[fruit] = level
        }
        return text.skip(Self.end) && text.rest.isEmpty ? revision : nil
    }

    private struct Cursor {
        var rest: UnsafeRawBufferPointer

        @inline(__always)
        mutating func skip(_ piece: [UInt8]) -> Bool {
            piece.withUnsafeBytes { skip($0) }
        }

        @inline(__always)
        mutating func skip(_ piece: UnsafeRawBufferPointer) -> Bool {
            guard rest.count >= piece.count else { return false }
            let start = UnsafeRawBufferPointer(rebasing: rest[..<piece.count])
            guard start.hasSameBytes(as: piece) else { return false }
            rest = UnsafeRawBufferPointer(rebasing: rest[piece.count...])
            return true
        }

        /// A whole number as the encoder writes it, of no more than 18 digits.
        @inline(__always)
        mutating func number() -> Int? {
            var (number, digits) = (0, 0)
            while digits < rest.count, digits <= 18 {
                let digit = rest[digits] &- UInt8(ascii: "0")
                guard digit < 10 else { break }
                number = number &* 10 &+ Int(digit)
                digits += 1
            }
            let hasLeadingZero = digits > 1 && rest[0] == UInt8(ascii: "0")
            guard (1...18).contains(digits), !hasLeadingZero else { return nil }
            rest = UnsafeRawBufferPointer(rebasing: rest[digits...])
            return number
        }
    }
}
