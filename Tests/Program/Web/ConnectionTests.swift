import Foundation
import Hummingbird
import TestSupport
import Testing

@testable import JuiceWeb

/// Tests the server against misbehaving connections, over TCP.
@Suite(.timeLimit(.minutes(10)))
struct ConnectionTests {
    private static let request = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"

    private static func limits(
        _ connections: Int = 100, timeout: Duration = .seconds(60), minimumIdleTime: Duration = .seconds(60)
    ) -> ConnectionLimits {
        var limits = ConnectionLimits(most: connections, parts: 1, of: .max)
        (limits.timeout, limits.minimumIdleTime) = (timeout, minimumIdleTime)
        return limits
    }

    /// Serves "hello", and what is written at `/stream`.
    private func serving(
        _ limits: ConnectionLimits, metrics: HTTPMetrics = HTTPMetrics(),
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

    /// Whether another request on the connection is answered.
    private static func isOpen(_ connection: RawConnection) throws -> Bool {
        connection.send(request)
        return try connection.read(until: "hello").hasPrefix("HTTP/1.1 200 OK\r\n")
    }

    @Test func oneTooManyIsClosed() async throws {
        try await serving(Self.limits(2)) { address in
            let served = try (0..<2).map { _ in try Self.served(address) }
            for request in [Self.request, ""] { #expect(try Self.connect(address, request).read() == "") }
            for connection in served { #expect(try Self.isOpen(connection)) }
        }
    }

    @Test func aFloodOfRefusalsLeavesThePlacesAsTheyAre() async throws {
        try await serving(Self.limits(1)) { address in
            var served: RawConnection? = try Self.served(address)
            // More connections than are accepted at once, and none of them closes by itself.
            let refused = try (0..<20).map { _ in try RawConnection(address) }
            for connection in refused { #expect(try connection.read() == "") }
            withExtendedLifetime(served) {}
            served = nil
            // The server notices the end of others with a delay.
            var answer = ""
            repeat { answer = try Self.connect(address).read(until: "hello") } while answer.isEmpty
            #expect(answer.hasSuffix("hello"))
        }
    }

    @Test func theLongestIdleMakesWay() async throws {
        try await serving(Self.limits(2, minimumIdleTime: .zero)) { address in
            let idle = try (0..<2).map { _ in try Self.served(address) }
            let new = try Self.served(address)
            #expect(try idle[0].read() == "")
            #expect(try Self.isOpen(idle[1]))
            withExtendedLifetime(new) {}
        }
    }

    /// The start of the request, and what is then sent byte by byte, endlessly.
    @Test(arguments: [
        "GET / HTTP/1.1\r\nHost: a\r\nX: ", "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nffff\r\n", "GET / HTTP/1.1\r\nHost: a\r\n\r\nGET /",
    ])
    func whoeverDawdlesIsClosed(_ beginning: String) async throws {
        try await serving(Self.limits(timeout: .milliseconds(150))) { address in
            let connection = try Self.connect(address, beginning)
            let begun = ContinuousClock.now
            while connection.send("x"), ContinuousClock.now - begun < .seconds(10) { usleep(10_000) }
            let taken = ContinuousClock.now - begun
            #expect(taken >= .milliseconds(140) && taken < .seconds(10))
        }
    }

    @Test func anAnswerInTheMakingIsNotIdle() async throws {
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        try await serving(Self.limits(timeout: .milliseconds(150))) { address in
            let connection = try Self.connect(address, "GET /stream HTTP/1.1\r\nHost: a\r\n\r\n")
            _ = try connection.read(until: "begun")
            // Connections that were opened later are closed first.
            for _ in 0..<2 { #expect(try RawConnection(address).read() == "") }
            open.yield()
            #expect(try connection.read(until: "ended").contains("ended"))
        } stream: { writer in
            try await writer.write(ByteBuffer(string: "begun"))
            for await _ in gate { break }
            try await writer.write(ByteBuffer(string: "ended"))
            try await writer.finish(nil)
        }
    }

    @Test func whoeverDoesNotReadIsClosed() async throws {
        let ended = DispatchSemaphore(value: 0)
        try await serving(Self.limits(timeout: .milliseconds(150))) { address in
            let connection = try Self.connect(address, "GET /stream HTTP/1.1\r\nHost: a\r\n\r\n")
            ended.wait()
            withExtendedLifetime(connection) {}
        } stream: { writer in
            defer { ended.signal() }
            while true { try await writer.write(ByteBuffer(repeating: 0x78, count: 1 << 20)) }
        }
    }

    @Test func connectionsAreCountedAndSoIsHowTheyEnd() async throws {
        let registry = PrometheusRegistry()
        let metrics = HTTPMetrics(factory: registry)
        func counts() -> [String] {
            ["refused", "displaced", "slow"].map { reason in
                let lines = registry.text().split(separator: "\n")
                return String(lines.first { $0.contains("\"\(reason)\"} ") }?.last ?? "-")
            }
        }
        #expect(counts() == ["0", "0", "0"])
        let cases: [(limits: ConnectionLimits, counts: [String])] = [
            (Self.limits(1), ["1", "0", "0"]), (Self.limits(1, minimumIdleTime: .zero), ["1", "1", "0"]),
            (Self.limits(2, timeout: .milliseconds(20)), ["1", "1", "2"]),
        ]
        for (limits, expected) in cases {
            try await serving(limits, metrics: metrics) { address in
                let first = try Self.served(address)
                if limits.timeout > .seconds(1) { #expect(registry.text().contains("juice_http_connections 1\n")) }
                let second = try Self.connect(address)
                _ = try second.read(until: "\r\n\r\n")
                guard limits.timeout < .seconds(1) else { return withExtendedLifetime(first) {} }
                for connection in [first, second] { _ = try connection.read() }
            }
            #expect(counts() == expected)
        }
    }

    @Test(arguments: [
        ("GET / HTTP/1.1\r\nHost: a\r\n\r\n", 200), ("GET / HTTP/1.1\r\nHost: [::1]:8080\r\n\r\n", 200),
        ("GET / HTTP/1.0\r\n\r\n", 200), ("GET / HTTP/1.1\r\n\r\n", 400), ("GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\nX: y\r\nhOST: b\r\n\r\n", 400), ("GET / HTTP/1.0\r\nHost: a\r\nhost: b\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\n b\r\n\r\n", 400), ("GET / HTTP/1.1\r\nHost: a\r\n Host: b\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost : a\r\n\r\n", 400), ("GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\nHost:\r\n\r\n", 400),
    ])
    func aRequestNamesOneHost(_ request: String, _ status: Int) async throws {
        try await serving(Self.limits()) { address in
            // A second request after a refused one is ignored.
            let connection = try Self.connect(address, request + (status == 400 ? Self.request : ""))
            let answer = try connection.read(until: status == 400 ? nil : "hello")
            #expect(answer.hasPrefix("HTTP/1.") && answer.dropFirst(9).hasPrefix("\(status) "), "\(answer)")
            #expect(answer.contains("hello") == (status == 200))
        }
    }

    @Test func limitsLeaveFilesForTheRest() {
        for files in [20, 64, 256, 1024, 4096, 65536, 1 << 20, .max] {
            let pages = ConnectionLimits(most: 4096, parts: 2, of: files)
            let probes = ConnectionLimits(most: 512, parts: 8, of: files)
            let taken = [pages, probes].reduce(0) { $0 + $1.connections + 1 }
            #expect(taken <= files / 8 * 5 + 6, "of \(files)")
            #expect(pages.connections > 0 && probes.connections > 0 && pages.connections <= 4096)
        }
        #expect(ConnectionLimits(most: 4096, parts: 2, of: 1024).connections == 512)
        #expect(OpenFileLimit.raised >= 20)
    }
}
