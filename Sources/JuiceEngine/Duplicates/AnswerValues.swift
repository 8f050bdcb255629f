/// The bytes of a partition's first answers that are at hand: of the latest ones, and of older ones that were read back from the
/// journal for repeats.
struct AnswerValues {
    /// The values of consecutive answers. At least one chunk is kept, whatever the limit.
    private struct Chunk {
        var first: Int
        var ends: [UInt32] = []
        var bytes: [UInt8] = []

        var next: Int { first + ends.count }

        func range(of number: Int) -> Range<Int> {
            let place = number - first
            return (place > 0 ? Int(ends[place - 1]) : 0)..<Int(ends[place])
        }
    }

    /// The most bytes of the latest values, and the most of those that were read back without being asked for.
    private let limit: Int
    private var chunks: [Chunk] = []
    private var byteCount = 0
    /// The ranges in `readBackBytes`, by the answers' offsets.
    private var readBack: [Offset: Range<Int>] = [:]
    private var readBackBytes: [UInt8] = []

    private let chunkSize: Int

    init(limit: Int) {
        self.limit = limit
        chunkSize = max(1, min(1 << 16, limit / 8))
    }

    // MARK: - The latest

    /// Adds the value of the answer with the next number. The oldest make room for it.
    mutating func append(_ value: UnsafeRawBufferPointer, number: Int) {
        if chunks.last.map({ $0.bytes.count + value.count > chunkSize }) ?? true { beginChunk(at: number) }
        let last = chunks.count - 1
        chunks[last].bytes.append(contentsOf: value)
        chunks[last].ends.append(UInt32(chunks[last].bytes.count))
        byteCount += value.count
    }

    private mutating func beginChunk(at number: Int) {
        guard byteCount + chunkSize > limit, !chunks.isEmpty else {
            chunks.append(Chunk(first: number))
            return chunks[chunks.count - 1].bytes.reserveCapacity(chunkSize)
        }
        // Reused: for new memory the system would have to find new pages.
        var chunk = chunks.removeFirst()
        byteCount -= chunk.bytes.count
        chunk.first = number
        chunk.ends.removeAll(keepingCapacity: true)
        chunk.bytes.removeAll(keepingCapacity: true)
        chunks.append(chunk)
    }

    /// Removes the values from a number on.
    mutating func removeAll(from number: Int) {
        while let last = chunks.last, last.next > number {
            chunks.removeLast()
            byteCount -= last.bytes.count
            guard last.first < number else { continue }
            var chunk = last
            let end = chunk.range(of: number).lowerBound
            chunk.ends.removeLast(chunk.next - number)
            chunk.bytes.removeLast(chunk.bytes.count - end)
            byteCount += end
            chunks.append(chunk)
        }
    }

    /// Calls `body` with the value of the answer with a number.
    ///
    /// - Returns: nil if it is not at hand.
    func withValue<Result>(of number: Int, _ body: (UnsafeRawBufferPointer) -> Result) -> Result? {
        guard let first = chunks.first, number >= first.first, let chunk = chunks.last(where: { $0.first <= number }),
            number < chunk.next
        else { return nil }
        return chunk.bytes.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[chunk.range(of: number)])) }
    }

    /// Whether the value of the answer with a number is among the latest.
    func has(_ number: Int) -> Bool { chunks.first.map { number >= $0.first } ?? false }

    // MARK: - Read back

    /// Forgets what was read back before, to make room.
    mutating func beginReadBack() {
        guard readBackBytes.count >= limit else { return }
        (readBack, readBackBytes) = ([:], [])
    }

    /// Adds a value that was read back. One that is not wanted is left out if there is no room for it.
    mutating func addReadBack(_ value: UnsafeRawBufferPointer, at offset: Offset, isWanted: Bool) {
        guard readBack[offset] == nil, isWanted || readBackBytes.count + value.count <= limit else { return }
        readBackBytes.append(contentsOf: value)
        readBack[offset] = readBackBytes.count - value.count..<readBackBytes.count
    }

    /// Calls `body` with the value of an answer that was read back.
    func withValue<Result>(at offset: Offset, _ body: (UnsafeRawBufferPointer) -> Result) -> Result? {
        guard let range = readBack[offset] else { return nil }
        return readBackBytes.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[range])) }
    }

    func has(at offset: Offset) -> Bool { readBack[offset] != nil }
}
