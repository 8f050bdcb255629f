/// Writes in batches, because one write per line would dominate the cost.
struct BatchedOutput {
    private let writeBatch: ([UInt8]) -> Void
    private var buffer: [UInt8] = []

    private static let batchSize = 65536

    /// - Parameter writeBatch: writes a batch, to standard output unless another is given.
    init(_ writeBatch: @escaping ([UInt8]) -> Void = StandardOutput.write) {
        self.writeBatch = writeBatch
    }

    /// Adds a line without its end.
    mutating func line(_ text: String) { write(Array(text.utf8) + [UInt8(ascii: "\n")]) }

    mutating func write(_ bytes: [UInt8]) {
        buffer += bytes
        if buffer.count > Self.batchSize { flush() }
    }

    /// Writes what was added since the last batch.
    mutating func flush() {
        guard !buffer.isEmpty else { return }
        writeBatch(buffer)
        buffer.removeAll(keepingCapacity: true)
    }
}
