import Foundation
import Hummingbird
import Metrics
import TestSupport
import Testing

@testable import JuiceWeb

/// Tests the server against misbehaving connections, over TCP.
@Suite(.timeLimit(.minutes(10)))
struct ConnectionTests {
    private static let request = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"

    private static func limits(
        _ connections: Int = 100, timeout: Duration = .seconds(60), whenFull: Duration = .milliseconds(50)
    ) -> ConnectionLimits {
        var limits = ConnectionLimits(most: connections, parts: 1, of: .max)
        (limits.timeout, limits.timeoutWhenFull) = (timeout, whenFull)
        return limits
    }

    /// Serves "hello", and what is written at `/stream`.
    private func serving(
        _ limits: ConnectionLimits, metrics: any MetricsFactory = NOOPMetricsHandler.instance,
        _ body: @Sendable @escaping (HTTPAddress) throws -> Void,
        stream: @Sendable @escaping (inout any ResponseBodyWriter) async throws -> Void = { _ in }
    ) async throws {
        let router = Router()
        router.get("/") { _, _ in "hello" }
        router.get("/stream") { _, _ in Response(status: .ok, body: ResponseBody(stream)) }
        try await TestSupport.serving(router.buildResponder(), limits: limits, metrics: metrics) { address in
            try await onThread { try body(address) }
        }
    }

    private static func connect(_ address: HTTPAddress, _ request: String = request) throws -> RawConnection {
        let connection = try RawConnection(address)
        connection.send(request)
        return connection
    }

    /// A connection whose request was answered.
    private static func served(_ address: HTTPAddress) throws -> RawConnection {
        let connection = try connect(address)
        #expect(try connection.read(until: "hello").hasPrefix("HTTP/1.1 200 OK\r\n"))
        return connection
    }

    /// A connection at `/stream`, which writes "begun" first, and how many tries it took. On a busy machine the server may close
    /// one before it has read the request.
    private static func begun(_ address: HTTPAddress) throws -> (RawConnection, tries: Int) {
        for tries in 1...100 {
            let connection = try connect(address, "GET /stream HTTP/1.1\r\nHost: a\r\n\r\n")
            if try connection.read(until: "begun").contains("begun") { return (connection, tries) }
        }
        throw NothingBegun()
    }

    private struct NothingBegun: Error {}

    /// Whether another request on the connection is answered.
    private static func isOpen(_ connection: RawConnection) throws -> Bool {
        connection.send(request)
        return try connection.read(until: "hello").hasPrefix("HTTP/1.1 200 OK\r\n")
    }

    @Test func oneTooManyWaitsForAPlace() async throws {
        try await serving(Self.limits(1, whenFull: .seconds(60))) { address in
            var served: RawConnection? = try Self.served(address)
            var others = try (0..<20).map { _ in try Self.connect(address) }
            if let served { #expect(try Self.isOpen(served)) }
            served = nil
            // Each gets the place that the one before it leaves.
            while !others.isEmpty { #expect(try others.removeFirst().read(until: "hello").hasSuffix("hello")) }
        }
    }

    @Test(arguments: ["", request, "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n"])
    func idleConnectionsMakeRoom(_ idle: String) async throws {
        try await serving(Self.limits(2)) { address in
            let idle = try (0..<20).map { _ in try Self.connect(address, idle) }
            // Even a request may be displaced before it is read.
            #expect(try (0..<100).contains { _ in try Self.connect(address).read(until: "hello").hasSuffix("hello") })
            withExtendedLifetime(idle) {}
        }
    }

    @Test func idleConnectionsStayWhileThereIsRoom() async throws {
        let registry = PrometheusRegistry()
        try await serving(Self.limits(3), metrics: registry) { address in
            let idle = try (0..<2).map { _ in try Self.served(address) }
            #expect(registry.text().contains("juice_http_connections 2\n"))
            usleep(300_000)
            for connection in idle { #expect(try Self.isOpen(connection)) }
        }
    }

    /// The start of the request. More bytes follow one by one, endlessly.
    @Test(arguments: [
        "GET / HTTP/1.1\r\nHost: a\r\nX: ", "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nffff\r\n", "GET / HTTP/1.1\r\nHost: a\r\n\r\nGET /",
    ])
    func aSlowRequestIsClosed(_ beginning: String) async throws {
        try await serving(Self.limits(timeout: .milliseconds(150))) { address in
            let begun = ContinuousClock.now
            let connection = try Self.connect(address, beginning)
            // Other tests may keep the server waiting for a processor.
            while connection.send("x"), ContinuousClock.now - begun < .seconds(60) { usleep(10_000) }
            let taken = ContinuousClock.now - begun
            #expect(taken >= .milliseconds(140) && taken < .seconds(60))
        }
    }

    @Test func aPendingResponseIsNotIdle() async throws {
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        try await serving(Self.limits(timeout: .milliseconds(150))) { address in
            let (connection, _) = try Self.begun(address)
            // A connection that was opened later is closed first.
            #expect(try RawConnection(address).read() == "")
            open.yield()
            #expect(try connection.read(until: "ended").contains("ended"))
        } stream: { writer in
            try await writer.write(ByteBuffer(string: "begun"))
            for await _ in gate { break }
            try await writer.write(ByteBuffer(string: "ended"))
            try await writer.finish(nil)
        }
    }

    /// The requests, and the status lines of their answers. After the last one the connection ends, and what follows is not read.
    @Test(
        arguments: [
            ("GET / HTTP/1.0\r\n\r\n", ["HTTP/1.0 200 OK"]),
            ("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", ["HTTP/1.0 200 OK"]),
            ("GET / HTTP/1.1\r\nHost: a\r\nConnection: Close\r\n\r\n", ["HTTP/1.1 200 OK"]),
            ("GET / HTTP/1.1\r\nHost: a\r\nConnection: close, TE\r\nTE: trailers\r\n\r\n", ["HTTP/1.1 200 OK"]),
            ("GET / HTTP/1.1\r\nHost: a\r\nConnection: TE\r\nConnection: CLOSE\r\n\r\n", ["HTTP/1.1 200 OK"]),
            (request + "GET / HTTP/1.0\r\n\r\n" + request, ["HTTP/1.1 200 OK", "HTTP/1.0 200 OK"]),
            ("GET / HTTP/1.0\r\n\r\nGET / HTTP/1.0\r\n\r\n", ["HTTP/1.0 200 OK"]),
        ])
    func theLastAnswerEndsTheConnection(requests: String, statuses: [String]) async throws {
        try await serving(Self.limits()) { address in
            let answers = try Self.connect(address, requests).read()
            let lines = answers.replacing("hello", with: "\r\n").components(separatedBy: "\r\n")
            #expect(lines.filter { $0.hasPrefix("HTTP/") } == statuses, "\(answers)")
            #expect(answers.contains("\r\nconnection: close\r\n") && answers.hasSuffix("\r\n\r\nhello"), "\(answers)")
        }
    }

    @Test(arguments: [("1.0", "\r\n\r\nab"), ("1.1", "\r\n\r\n1\r\na\r\n1\r\nb\r\n0\r\n\r\n")])
    func aStreamHasNoChunksBeforeHTTP11(version: String, body: String) async throws {
        try await serving(Self.limits()) { address in
            let request = "GET /stream HTTP/\(version)\r\nHost: a\r\nConnection: close\r\n\r\n"
            let answer = try Self.connect(address, request).read()
            #expect(answer.hasPrefix("HTTP/\(version) 200 OK\r\n") && answer.hasSuffix(body), "\(answer)")
            #expect(answer.contains("transfer-encoding") == (version == "1.1"), "\(answer)")
        } stream: { writer in
            for text in ["a", "b"] { try await writer.write(ByteBuffer(string: text)) }
            try await writer.finish(nil)
        }
    }

    @Test func aClientThatDoesNotReadIsClosed() async throws {
        let ended = DispatchSemaphore(value: 0)
        let registry = PrometheusRegistry()
        try await serving(Self.limits(timeout: .milliseconds(500)), metrics: registry) { address in
            let (connection, tries) = try Self.begun(address)
            ended.expect("the server ends its write")
            #expect(registry.text().contains("juice_http_ended_connections_total{reason=\"slow\"} \(tries)\n"))
            // Should the write go on, this ends it.
            connection.resetAtEnd()
        } stream: { writer in
            defer { ended.signal() }
            try await writer.write(ByteBuffer(string: "begun"))
            while true { try await writer.write(ByteBuffer(repeating: 0x78, count: 1 << 20)) }
        }
    }

    @Test(arguments: [(limits(1), ["1", "0"]), (limits(timeout: .milliseconds(50)), ["0", "1"])])
    func closedConnectionsAreCounted(limits: ConnectionLimits, counts: [String]) async throws {
        let registry = PrometheusRegistry()
        try await serving(limits, metrics: registry) { address in
            let answer = try RawConnection(address).read()
            #expect(answer == "")
        }
        for (reason, count) in zip(["displaced", "slow"], counts) {
            #expect(registry.text().contains("juice_http_ended_connections_total{reason=\"\(reason)\"} \(count)\n"))
        }
        #expect(registry.text().contains("juice_http_connections 0\n"))
    }

    @Test func limitsLeaveFilesForTheRest() {
        for files in [20, 64, 256, 1024, 4096, 65536, 1 << 20, .max] {
            let pages = ConnectionLimits(most: 4096, parts: 2, of: files)
            let probes = ConnectionLimits(most: 512, parts: 8, of: files)
            let taken = pages.connections + probes.connections
            #expect(taken <= files / 8 * 5 + 4, "of \(files)")
            #expect(pages.connections > 0 && probes.connections > 0 && pages.connections <= 4096)
        }
        #expect(ConnectionLimits(most: 4096, parts: 2, of: 1024).connections == 512)
        #expect(OpenFileLimit.raised >= 20)
    }
}
