import Foundation
import Kafka
import TestSupport
import Testing

@testable import juice

/// The program itself, in processes of its own, as a shell sees it.
@Suite(.serialized, .concurrencyLimited, .timeLimit(.minutes(5)))
struct ProcessTests {
    /// The program, which is built beside the tests.
    private static let program = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        .deletingLastPathComponent().appending(path: "juice").path

    /// A shell that runs the program as `juice`, with run files of its own.
    private static func shell(_ script: String, output: Pipe, environment: [String: String] = [:]) throws -> Process {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.arguments = ["-c", "juice() { \(program) \"$@\"; }\n\(script)"]
        let folder = NSTemporaryDirectory() + "juice-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        process.environment = ["PATH": "/usr/bin:/bin", "XDG_RUNTIME_DIR": folder].merging(environment) { $1 }
        (process.standardOutput, process.standardError) = (output, output)
        try EmbeddedBroker.ports.withLock { try process.run() }
        return process
    }

    /// The exit status as a shell reports it.
    private static func status(_ process: Process) -> Int32 {
        process.waitUntilExit()
        return process.terminationStatus + (process.terminationReason == .uncaughtSignal ? 128 : 0)
    }

    /// What a script prints, and its status.
    private static func run(_ script: String) throws -> (output: String, status: Int32) {
        let pipe = Pipe()
        let process = try shell(script, output: pipe)
        try pipe.fileHandleForWriting.close()
        let output = String(decoding: try pipe.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        return (output, status(process))
    }

    // MARK: - Signals

    /// Each waits for a broker, for a day unless a signal ends it.
    @Test(
        arguments: [
            ("results --follow", SIGINT, 130), ("results --follow", SIGTERM, 143), ("results --follow", SIGHUP, 129),
            ("results --since 7d", SIGINT, 130), ("stock --watch", SIGINT, 130),
            ("stores", SIGTERM, 143), ("dead-letters list", SIGINT, 130), ("dead-letters resend 0@0", SIGINT, 130),
            ("show x", SIGHUP, 129), ("results --changes", SIGINT, 130), ("audit", SIGINT, 130), ("doctor", SIGINT, 130),
            ("topics check", SIGTERM, 143), ("order kiwi --wait", SIGINT, 130), ("restock kiwi=1", SIGTERM, 143),
            ("cancel x", SIGHUP, 129), ("anchor --topic orders --partition 0 --latest", SIGINT, 130),
        ] as [(String, Int32, Int32)]
    )
    func aSignalEndsACommandThatWaits(command: String, signal: Int32, status: Int32) async throws {
        try await Self.expect(status, of: "exec \(Self.program) \(command) --timeout 1d", after: [signal])
    }

    @Test(
        arguments: [
            ("exec", "serve", [SIGTERM], 0), ("exec", "serve", [SIGHUP], 0), ("exec", "kiosk --http 127.0.0.1:0", [SIGINT], 0),
            ("exec", "traffic", [SIGINT], 130),
            // As after `nohup`.
            ("trap '' HUP; exec", "results --follow", [SIGHUP, SIGTERM], 143),
        ] as [(String, String, [Int32], Int32)]
    )
    func otherCommandsEndInOrder(shell: String, command: String, signals: [Int32], status: Int32) async throws {
        try await Self.expect(status, of: "\(shell) \(Self.program) \(command)", after: signals)
    }

    private static func expect(_ status: Int32, of script: String, after signals: [Int32]) async throws {
        let ended = try await onThread {
            let broker = SilentServer()
            let process = try shell("\(script) --bootstrap-servers \(broker.address)", output: Pipe())
            broker.waitForConnection()
            for signal in signals { kill(process.processIdentifier, signal) }
            return Self.status(process)
        }
        #expect(ended == status)
    }

    /// The log line of a start that waits, and how the start then ends.
    @Test(
        arguments: [
            ("serve --config FILE", "the configuration file FILE cannot be read", #"{"workers":"many"}"#, nil, 78),
            ("kiosk --kafka-property-file FILE", "the property file FILE cannot be read", "hunter2", nil, 78),
            ("serve --stores @FILE", "the list of stores FILE cannot be read", "", SIGTERM, 0),
            ("serve --http 192.0.2.1:80", "cannot listen on 192.0.2.1:80: Cannot assign requested address", "", SIGINT, 0),
        ] as [(String, String, String, Int32?, Int32)])
    func waitsForFilesAndAddresses(command: String, reason: String, text: String, signal: Int32?, status: Int32) async throws {
        let path = NSTemporaryDirectory() + "juice-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: path) }
        let (output, ended) = try await onThread {
            let pipe = Pipe()
            let command = command.replacing("FILE", with: path)
            let process = try Self.shell("exec \(Self.program) \(command) --bootstrap-servers 127.0.0.1:1", output: pipe)
            try pipe.fileHandleForWriting.close()
            var output = ""
            while !output.contains("\n"), case let data = pipe.fileHandleForReading.availableData, !data.isEmpty {
                output += String(decoding: data, as: UTF8.self)
            }
            if let signal { kill(process.processIdentifier, signal) } else { try Data(text.utf8).write(to: URL(filePath: path)) }
            return (output, Self.status(process))
        }
        #expect(output.contains("warning waiting: \(reason.replacing("FILE", with: path))"), "\(output)")
        #expect(ended == status)
    }

    // MARK: - Output

    @Test func aClosedPipeEndsItAsHeadExpects() async throws {
        let status = try await onThread {
            let pipe = Pipe()
            try pipe.fileHandleForReading.close()
            return try Self.status(Self.shell("exec \(Self.program) menu", output: pipe))
        }
        #expect(status == 128 + SIGPIPE)
    }

    /// An invalid period. The error shows it in this machine's time zone.
    private static let period = "--since 2026-01-02T00:00Z --until 2026-01-01T00:00Z"

    @Test(
        arguments: [
            ("juice menu >&-", 74, "standard output cannot be written"),
            ("juice --help >&-", 74, "standard output cannot be written"),
            ("juice menu > /dev/full", 74, "standard output cannot be written"), ("juice menu >&- 2>&-", 74, "\n"),
            ("juice menu <&- 2>&-", 0, "mangoKiwi"),
            ("juice help serve", 0, "USAGE: juice serve"), ("juice help nosuch", 64, "there is no command \"nosuch\""),
            ("juice help serve nosuch", 64, "there is no command \"nosuch\""),
            ("juice dead-letters shw", 64, "there is no command \"shw\"; did you mean show?"),
            ("juice stock --store \"$(printf 'gang\\377nam')\"", 64, "is not UTF-8"),
            ("export JUICE_STORE=\"$(printf 'gang\\377nam')\"; juice stock", 78, "JUICE_STORE in the environment is not UTF-8"),
            ("juice order kiwi --bootstrap-servers 127.0.0.1:1", 69, "no Kafka broker answers"),
            ("juice audit --bootstrap-servers 127.0.0.1:1", 69, "no Kafka broker answers"),
            ("juice doctor --bootstrap-servers 127.0.0.1:1", 69, "critical  no Kafka broker answers at 127.0.0.1:1"),
            (
                "juice kiosk --http /tmp:1 --bootstrap-servers 127.0.0.1:1 --staff-pin-file /", 78,
                "the staff PIN's file / cannot be read"
            ),
            ("juice stock --kafka-property socket.timeout.ms=x", 78, "Kafka property \"socket.timeout.ms\": its value is refused"),
            ("juice stock --kafka-property-file /no/such/file", 78, "the property file /no/such/file cannot be read: No such file"),
            ("echo '{\"language\":\"ko\"}' | juice menu --config /dev/stdin", 0, "망고"),
            ("echo kiwi | juice menu --menu /dev/stdin", 78, "the menu /dev/stdin cannot be used"),
            ("printf 'ga\\377' | juice serve --stores @/dev/stdin", 78, "/dev/stdin is not UTF-8"),
            ("juice order kiwi --order-id kiosk-1", 64, "not begin with kiosk-"),
            ("juice restock kiwi=1 --restock-id kiosk-1", 64, "not begin with kiosk-"),
            // Times as `date` shows them.
            ("TZ=:Asia/Seoul juice results \(period)", 64, "--since (2026-01-02 09:00:00+09:00)"),
            ("TZ=KST-9 juice results \(period)", 64, "--since (2026-01-02 09:00:00+09:00)"),
            ("TZ=XST3:30 juice results \(period)", 64, "--since (2026-01-01 20:30:00-03:30)"),
            ("TZ=/usr/share/zoneinfo/Asia/Seoul juice results \(period)", 64, "--since (2026-01-02 09:00:00+09:00)"),
            ("TZ=UTC juice results \(period)", 64, "--since (2026-01-02 00:00:00Z)"),
        ] as [(String, Int32, String)])
    func exitsWithTheExpectedStatusAndOutput(script: String, status: Int32, text: String) async throws {
        let (output, ended) = try await onThread { try Self.run(script) }
        #expect(ended == status && (output + "\n").contains(text), "\(ended): \(output)")
        #expect(!output.contains("it may have been written"))
    }

    /// As under a program that reads from many processes.
    @Test func aNonBlockingOutputIsWaitedFor() async throws {
        let (text, ended) = try await onThread {
            let pipe = Pipe()
            let writer = pipe.fileHandleForWriting.fileDescriptor
            // Linux's F_SETPIPE_SZ: the completion script fills a pipe of this size.
            _ = fcntl(writer, 1031, 4096)
            _ = fcntl(writer, F_SETFL, fcntl(writer, F_GETFL) | O_NONBLOCK)
            let process = try Self.shell("juice --generate-completion-script bash", output: pipe)
            try pipe.fileHandleForWriting.close()
            // Once it is full, the next write would block.
            var waiting: Int32 = 0
            while process.isRunning, waiting < 4096 {
                _ = ioctl(pipe.fileHandleForReading.fileDescriptor, UInt(FIONREAD), &waiting)
            }
            let text = try pipe.fileHandleForReading.readToEnd() ?? Data()
            return (text, Self.status(process))
        }
        #expect(ended == 0)
        #expect(text.count > 4096 && text.last == UInt8(ascii: "\n"), "\(text.count) bytes")
    }
}
