import JuiceMessages

/// The bytes of a partition's first answers that are in memory: the latest ones, by number, and older ones that were read back from
/// the journal for repeats, by offset.
struct AnswerValues {
    /// The values of consecutive answers. At least one chunk is kept, whatever the limit.
    private struct Chunk {
        var first: Int
        var ends: [UInt32] = []
        var bytes: [UInt8] = []

        var next: Int { first + ends.count }

        func range(of number: Int) -> Range<Int> {
            let index = number - first
            return (index > 0 ? Int(ends[index - 1]) : 0)..<Int(ends[index])
        }
    }

    /// The most bytes of the latest values, and of read-back values before unwanted ones are left out.
    private let limit: Int
    private let chunkSize: Int
    private var chunks: [Chunk] = []
    private var byteCount = 0
    /// The ranges in `readBackBytes`.
    private var readBack: [Offset: Range<Int>] = [:]
    private var readBackBytes: [UInt8] = []

    init(limit: Int) {
        self.limit = limit
        chunkSize = max(1, min(1 << 16, limit / 8))
    }

    /// Whether the value of an answer is among the latest.
    func isRecent(_ answer: DuplicateMemory.FirstAnswer) -> Bool { chunks.first.map { answer.number >= $0.first } ?? false }

    func has(_ answer: DuplicateMemory.FirstAnswer) -> Bool { isRecent(answer) || readBack[answer.offset] != nil }

    /// Calls `body` with the value of an answer; returns nil if it is not in memory.
    func withValue<Result>(of answer: DuplicateMemory.FirstAnswer, _ body: (UnsafeRawBufferPointer) -> Result) -> Result? {
        if isRecent(answer), let chunk = chunks.last(where: { $0.first <= answer.number }) {
            return chunk.bytes.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[chunk.range(of: answer.number)])) }
        }
        guard let range = readBack[answer.offset] else { return nil }
        return readBackBytes.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[range])) }
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
        // Reused, because new memory would need new pages from the system.
        var chunk = chunks.removeFirst()
        byteCount -= chunk.bytes.count
        chunk.first = number
        chunk.ends.removeAll(keepingCapacity: true)
        chunk.bytes.removeAll(keepingCapacity: true)
        chunks.append(chunk)
    }

    /// Removes the values from a number on.
    mutating func removeAll(from number: Int) {
        while var chunk = chunks.last, chunk.next > number {
            chunks.removeLast()
            byteCount -= chunk.bytes.count
            guard chunk.first < number else { continue }
            let end = chunk.range(of: number).lowerBound
            chunk.ends.removeLast(chunk.next - number)
            chunk.bytes.removeLast(chunk.bytes.count - end)
            byteCount += end
            chunks.append(chunk)
        }
    }

    // MARK: - Read back

    /// Forgets what was read back before, once that fills the limit.
    mutating func beginReadBack() {
        if readBackBytes.count >= limit { (readBack, readBackBytes) = ([:], []) }
    }

    /// Adds a value that was read back. An unwanted one is left out if there is no room for it.
    mutating func addReadBack(_ value: UnsafeRawBufferPointer, at offset: Offset, isWanted: Bool) {
        guard readBack[offset] == nil, isWanted || readBackBytes.count + value.count <= limit else { return }
        readBackBytes.append(contentsOf: value)
        readBack[offset] = readBackBytes.count - value.count..<readBackBytes.count
    }
}
