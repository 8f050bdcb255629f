/// A piece of JSON that is the same in every record: its place in a table of ``Fragments``.
struct Fragment {
    fileprivate let start: Int
    fileprivate let end: Int
}

/// All the pieces an encoder writes again and again, escaped once.
///
/// They lie in one array and are known by their places: an array for each would count references at every read.
struct Fragments: Sendable {
    private var bytes: [UInt8] = []

    /// Keeps what `append` puts into the table.
    mutating func add(_ append: (inout OutputBuffer) -> Void) -> Fragment {
        var piece = OutputBuffer()
        append(&piece)
        let start = bytes.count
        bytes += piece.bytes
        return Fragment(start: start, end: bytes.count)
    }

    /// Calls `body` with the bytes of a fragment.
    @inline(__always)
    func withBytes<Result>(of fragment: Fragment, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        bytes.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[fragment.start..<fragment.end])) }
    }
}

extension OutputBuffer {
    mutating func append(_ fragment: Fragment, of fragments: Fragments) {
        fragments.withBytes(of: fragment) { append($0) }
    }
}
