import Dispatch
import Foundation
import Kafka
import Logging
import Synchronization

/// Writes text to standard output or standard error on a dispatch queue of its own. A write to a pipe that is not read blocks, and
/// a service must not wait for its log collector. Text is dropped and counted if more than a megabyte waits, or if it cannot be
/// written.
final class OutputQueue: Sendable {
    private struct State {
        /// Reports dropped text once text can be written again; nil before the start.
        var logger: Logger?
        /// Bytes that are not written yet, plus a constant for each text.
        var size = 0
        /// Texts dropped since the queue was last empty, and since ``takeDropped()``.
        var dropped = 0, uncounted = 0

        mutating func drop() { (dropped, uncounted) = (dropped + 1, uncounted + 1) }
    }

    static let output = OutputQueue(STDOUT_FILENO, "standard output")
    static let error = OutputQueue(STDERR_FILENO, "standard error")
    static let all = [output, error]
    private static let capacity = 1 << 20

    private let descriptor: Int32
    private let state = Mutex(State())
    /// Labelled with the stream's name.
    private let writer: DispatchQueue

    init(_ descriptor: Int32, _ name: String) { (self.descriptor, writer) = (descriptor, DispatchQueue(label: name)) }

    /// Starts both queues, for a command that runs until it is stopped. At its exit the process waits up to half a second for them,
    /// since the last line says why it ended.
    static func startAll(_ format: LogFormat) {
        for queue in all { queue.start(.lines(level: .warning, format: format)) }
        atexit { for queue in OutputQueue.all { queue.flush(within: 0.25) } }
    }

    func start(_ logger: Logger) { state.withLock { $0.logger = logger } }

    /// A sentence while text is being dropped; nil otherwise.
    var warning: String? {
        let dropped = state.withLock(\.dropped)
        return dropped == 0 ? nil : "\(writer.label) is not read or cannot be written: \(dropped.counted("line")) dropped"
    }

    /// How many texts were dropped since the last call.
    func takeDropped() -> Int {
        state.withLock { state in
            defer { state.uncounted = 0 }
            return state.uncounted
        }
    }

    /// Returns false before the start; then the caller has to write the text.
    ///
    /// - Parameter isLast: whether the process is about to end. Such text always fits.
    func write(_ text: String, isLast: Bool = false) -> Bool {
        state.withLock { state in
            guard state.logger != nil else { return false }
            guard isLast || state.size <= Self.capacity else {
                state.drop()
                return true
            }
            state.size += text.utf8.count + 64
            writer.async { [self] in writeNow(text) }
            return true
        }
    }

    func flush(within seconds: Double) {
        let written = DispatchGroup()
        writer.async(group: written) {}
        written.hasEnded(within: .seconds(seconds))
    }

    private func writeNow(_ text: String) {
        let isWritten = writeAll(Array(text.utf8), to: descriptor)
        let (dropped, logger) = state.withLock { state in
            if !isWritten { state.drop() }
            state.size -= text.utf8.count + 64
            guard isWritten, state.size == 0 else { return (0, state.logger) }
            defer { state.dropped = 0 }
            return (state.dropped, state.logger)
        }
        if dropped > 0 { logger?.warning("dropped lines that were not read", metadata: ["lines": "\(dropped)"]) }
    }
}
