import Dispatch
import Foundation
import Logging
import Synchronization
import TestSupport
import Testing

@testable import juice

/// Text for a pipe without a reader.
@Suite struct OutputQueueTests {
    /// A pipe, and a queue that writes to it.
    private final class Reader: Sendable {
        let pipe = Pipe()
        let queue: OutputQueue
        let reports: LogRecorder
        let reported = DispatchSemaphore(value: 0)

        init() {
            queue = OutputQueue(pipe.fileHandleForWriting.fileDescriptor, "a pipe")
            reports = LogRecorder { [reported] _ in reported.signal() }
            queue.start(reports.makeLogger())
        }

        /// Reads until a line is there.
        func read(until line: String) -> [Substring] {
            var bytes = Data()
            while !bytes.suffix(line.utf8.count + 1).elementsEqual((line + "\n").utf8) {
                bytes += pipe.fileHandleForReading.availableData
            }
            return String(decoding: bytes, as: UTF8.self).split(separator: "\n")
        }
    }

    private static let line = String(repeating: "x", count: 935) + "\n"

    @Test(.timeLimit(.minutes(1))) func writingNeverWaitsAndDroppedLinesAreCounted() {
        let reader = Reader()
        let queue = reader.queue
        // At most a megabyte is kept, besides what the pipe holds.
        for _ in 0..<3000 { #expect(queue.write(Self.line)) }
        let dropped = queue.takeDropped()
        #expect(queue.warning == "a pipe is not read or cannot be written: \(dropped) lines dropped")
        #expect((1500...1960).contains(dropped))
        #expect(queue.takeDropped() == 0)
        #expect(queue.write("why it ended\n", isLast: true))
        let lines = reader.read(until: "why it ended")
        #expect(lines.count == 3000 - dropped + 1)
        reader.reported.expect("a report")
        #expect(reader.reports.all == ["warning dropped lines that were not read lines=\(dropped)"])
        #expect(queue.warning == nil)
        #expect(queue.write("on\n"))
        #expect(reader.read(until: "on") == ["on"])
        #expect(queue.takeDropped() == 0)
    }

    @Test(.timeLimit(.minutes(1))) func aFlushEndsWithoutAReader() {
        let reader = Reader()
        for _ in 0..<200 { _ = reader.queue.write(Self.line) }
        reader.queue.flush(within: 0.05)
        _ = reader.queue.write("end\n")
        #expect(reader.read(until: "end").count == 201)
    }

    @Test(.timeLimit(.minutes(1))) func textThatCannotBeWrittenIsCounted() throws {
        let full = try #require(FileHandle(forWritingAtPath: "/dev/full"))
        let queue = OutputQueue(full.fileDescriptor, "a full disk")
        #expect(!queue.write("too early\n"), "the caller has to write it")
        queue.start(.quiet)
        for _ in 0..<3 { #expect(queue.write("lost\n")) }
        queue.flush(within: 30)
        #expect(queue.takeDropped() == 3)
        withExtendedLifetime(full) {}
    }
}
