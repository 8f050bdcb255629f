import Foundation
import JuiceWeb
import Logging
import Synchronization
import TestSupport
import Testing

@testable import juice

/// What the start of a service waits for, and how it ends if that does not come.
struct PatienceTests {
    /// What a start needs.
    enum Need: Sendable {
        case file(String), certificate(String), property(String), address(String)

        func check() throws(Failure) {
            switch self {
            case .file(let path): _ = try Failure.bytes(of: path, "the file")
            case .certificate(let path): try KafkaProperties.check(["ssl.ca.location": path])
            case .property(let name): try KafkaProperties.check([name: "1"])
            case .address(let text): try HTTPAddress(text)?.check()
            }
        }
    }

    private func failure(_ patience: Patience?, _ check: () throws(Failure) -> Void) -> Failure? {
        do throws(Failure) { try Patience.having(patience, check) } catch { return error }
        return nil
    }

    /// Without patience, as in a command that a user runs, the status is that of a setting to be fixed.
    @Test(
        arguments: [
            (.file("/no/such/file"), .temporary, "the file /no/such/file cannot be read: No such file"),
            (.file("/dev/null/x"), .configuration, "Not a directory"), (.file("/"), .configuration, "the file / cannot be read"),
            (.certificate("/no/ca"), .temporary, "the file that ssl.ca.location names cannot be read"),
            (.property("a"), .configuration, "no Kafka property"),
            (.address("192.0.2.1:0"), .temporary, "cannot listen on 192.0.2.1:0: Cannot assign requested address"),
            (.address("no-such-host.invalid:0"), .temporary, "no host has this name"),
        ] as [(Need, Failure.Status, String)])
    func theStatusSaysWhetherToStartAgain(need: Need, status: Failure.Status, text: String) async throws {
        try await onThread {
            let (lines, patience) = Self.patience(limit: .zero)
            let awaited = failure(patience, need.check)
            #expect(awaited?.status == status && awaited?.message.contains(text) == true, "\(awaited?.report ?? "")")
            #expect(lines.all.isEmpty)
            #expect(failure(nil, need.check)?.status == .configuration)
        }
    }

    @Test func waitsForAFileToAppearAndBeWritten() async throws {
        let path = NSTemporaryDirectory() + "juice-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: path) }
        try await onThread {
            // A program that renders the file creates it first, and then writes it.
            let (lines, patience) = Self.patience { line in
                try? Data(line.contains("is empty") ? "x".utf8 : "".utf8).write(to: URL(filePath: path))
            }
            #expect(failure(patience, Need.file(path).check) == nil)
            #expect(
                lines.all == [
                    "warning waiting: the file \(path) cannot be read: No such file or directory",
                    "warning waiting: the file \(path) is empty",
                ])
        }
    }

    @Test func halfAFileIsReadAgainUnlessItIsOld() async throws {
        let path = NSTemporaryDirectory() + "juice-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: path) }
        try await onThread {
            @Sendable func write(_ text: String) { try? Data(text.utf8).write(to: URL(filePath: path)) }
            let read = { () throws(Failure) in _ = try KafkaProperties.read(file: path) }
            write("acks=all\nlinger.ms")
            let (lines, patience) = Self.patience { _ in write("linger.ms=1") }
            #expect(failure(patience, read) == nil)
            #expect(lines.all == ["warning waiting: line 2 of \(path) is not name=value"])
            write("linger.ms")
            try FileManager.default.setAttributes([.modificationDate: Date.now.addingTimeInterval(-60)], ofItemAtPath: path)
            #expect(failure(patience, read)?.status == .configuration)
            #expect(lines.all.count == 1)
        }
    }

    @Test func aPortThatIsReleasedIsTaken() async throws {
        try await onThread {
            let holder = Mutex<SilentServer?>(SilentServer())
            let address = holder.withLock { $0?.address ?? "" }
            let (lines, patience) = Self.patience { _ in holder.withLock { $0 = nil } }
            #expect(failure(patience, Need.address(address).check) == nil)
            #expect(lines.all == ["warning waiting: cannot listen on \(address): Address already in use"])
        }
    }

    /// A patience, and the lines that it logs. `react` is called with each line.
    private static func patience(
        limit: Duration = .seconds(60), _ react: @escaping @Sendable (String) -> Void = { _ in }
    ) -> (LogRecorder, Patience) {
        let recorder = LogRecorder(react)
        return (recorder, Patience(recorder.makeLogger(), limit: limit))
    }
}
