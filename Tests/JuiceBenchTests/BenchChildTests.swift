import Foundation
import JuiceClient
import TestSupport
import Testing

@testable import JuiceBench

struct BenchChildTests {
    private func withChild(_ script: String, _ body: @escaping @Sendable (BenchChild) throws -> Void) async throws {
        let log = NSTemporaryDirectory() + "juice-\(UUID().uuidString).log"
        defer { try? FileManager.default.removeItem(atPath: log) }
        try await onThread {
            let child = try BenchChild("the child", executable: "/bin/sh", arguments: ["-c", script], log: log)
            try body(child)
        }
    }

    @Test func oneThatEndsIsAFailureWithItsLog() async throws {
        try await withChild("echo first; echo second >&2; exit 7") { child in
            #expect(child.status(within: .seconds(30)) == 7)
            let failure = #expect(throws: Failure.self) { try child.check() }
            #expect(failure?.message == "the child ended by itself with status 7")
            #expect(failure?.hint == "its log ends:\nfirst\nsecond")
        }
    }

    @Test func oneThatRunsTellsWhatItUses() async throws {
        try await withChild("echo ready; while :; do :; done") { child in
            while child.output.isEmpty { Pause.briefly() }
            try child.check()
            let before = try #require(child.processorTime)
            while try #require(child.processorTime) <= before { Pause.briefly() }
            #expect(try #require(child.residentBytes) > 0)
            // A shell does not ignore the signal, and the child does not inherit that this process may ignore it.
            child.stop()
            #expect(child.status(within: .zero) == -SIGTERM)
        }
    }

    @Test func oneThatIsLetGoIsEnded() async throws {
        let log = NSTemporaryDirectory() + "juice-\(UUID().uuidString).log"
        defer { try? FileManager.default.removeItem(atPath: log) }
        try await onThread {
            var child: BenchChild? = try BenchChild(
                "the child", executable: "/bin/sh", arguments: ["-c", "trap '' TERM; sleep 1000"], log: log)
            let processID = try #require(child?.processID)
            child = nil
            #expect(kill(processID, 0) == -1)
        }
    }
}
