/// A piece of JSON that is the same in every answer: a place in a table of such pieces.
struct Fragment {
    fileprivate let start: Int
    fileprivate let end: Int
}

/// All the pieces an encoder writes again and again, escaped once.
///
/// They lie in one array and are known by their places, because a million small reads of many arrays would be as many
/// reference counts.
struct Fragments {
    private var pieces = OutputBuffer()

    /// Keeps a text as a part of a JSON string.
    mutating func add(escaped text: String) -> Fragment {
        add { pieces in BorrowedText.withText(text) { pieces.append(escaped: $0) } }
    }

    /// Keeps a text as a JSON string.
    mutating func add(quoted text: String) -> Fragment {
        add { $0.append(quoted: text) }
    }

    /// Keeps a text as the name of a member: a JSON string and a colon.
    mutating func add(key text: String) -> Fragment {
        add {
            $0.append(quoted: text)
            $0.append(":")
        }
    }

    private mutating func add(_ append: (inout OutputBuffer) -> Void) -> Fragment {
        let start = pieces.count
        append(&pieces)
        return Fragment(start: start, end: pieces.count)
    }

    /// Calls `body` with the bytes of a fragment.
    func withBytes(of fragment: Fragment, _ body: (UnsafeRawBufferPointer) -> Void) {
        pieces.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[fragment.start..<fragment.end])) }
    }
}

extension OutputBuffer {
    mutating func append(_ fragment: Fragment, of fragments: Fragments) {
        fragments.withBytes(of: fragment) { append($0) }
    }
}
