import JuiceMaker

/// Writes stock records, and reads back those that were written this way.
///
/// A record is a few fixed pieces with texts and numbers in between. On restore almost every one of a million records was
/// written under the present menu, and comparing its pieces is twenty times faster than parsing JSON. Any other record is
/// left to a JSON reader.
struct StockTemplate: Sendable {
    private let fragments: Fragments
    private let beforeStore: Fragment
    private let beforeRevision: Fragment
    /// What comes before the level of each fruit.
    private let beforeLevels: [Fragment]
    private let end: Fragment

    init(menu: Menu) {
        var fragments = Fragments()
        beforeStore = fragments.add { $0.append(#"{"store":""#) }
        beforeRevision = fragments.add { $0.append(#"","revision":"#) }
        beforeLevels = menu.fruits.enumerated().map { index, fruit in
            fragments.add { $0.append(index == 0 ? #","stock":{"# : ",", key: fruit.id) }
        }
        end = fragments.add { $0.append("}}") }
        self.fragments = fragments
    }

    /// Appends the record of a store after its `revision`th change.
    func write(store: BorrowedText, revision: Int, levels: FruitStore, into buffer: inout OutputBuffer) {
        buffer.append(beforeStore, of: fragments)
        buffer.append(escaped: store)
        buffer.append(beforeRevision, of: fragments)
        buffer.append(decimal: revision)
        for fruit in beforeLevels.indices {
            buffer.append(beforeLevels[fruit], of: fragments)
            buffer.append(decimal: levels[fruit])
        }
        buffer.append(end, of: fragments)
    }

    /// Reads the levels in menu order.
    ///
    /// - Parameters:
    ///   - value: the record's value.
    ///   - store: the record's key.
    ///   - levels: room for the level of each fruit.
    /// - Returns: the revision; nil if the record was not written by ``write(store:revision:levels:into:)``.
    func read(_ value: UnsafeRawBufferPointer, of store: UnsafeRawBufferPointer, into levels: inout [Int]) -> Int? {
        var text = Cursor(rest: value)
        // A store with escapes in its name is left to the JSON reader: its key has none.
        guard skip(beforeStore, in: &text), text.skip(store), skip(beforeRevision, in: &text), let revision = text.number() else {
            return nil
        }
        for fruit in beforeLevels.indices {
            guard skip(beforeLevels[fruit], in: &text), let level = text.number() else { return nil }
            levels[fruit] = level
        }
        return skip(end, in: &text) && text.rest.isEmpty ? revision : nil
    }

    @inline(__always)
    private func skip(_ fragment: Fragment, in text: inout Cursor) -> Bool {
        fragments.withBytes(of: fragment) { text.skip($0) }
    }

    private struct Cursor {
        var rest: UnsafeRawBufferPointer

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
