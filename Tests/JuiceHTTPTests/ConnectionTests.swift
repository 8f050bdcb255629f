import Foundation
import Hummingbird
import TestSupport
import Testing

@testable import JuiceHTTP

/// Tests the server against misbehaving connections, over TCP.
@Suite(.timeLimit(.minutes(10)))
struct ConnectionTests {
    private static let request = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"

    private static func limits(
        _ connections: Int = 100,
        timeout: Duration = .seconds(60),
        minimumIdleTime: Duration = .seconds(60)
    ) -> ConnectionLimits {
        var limits = ConnectionLimits(most: connections, parts: 1, of: .max)
        limits.timeout = timeout
        limits.minimumIdleTime = minimumIdleTime
        limits.linger = .milliseconds(50)
        return limits
    }

    private static func router() -> Router<BasicRequestContext> {
        let router = Router()
        router.get("/") { _, _ in "hello" }
        return router
    }

    private func serving(
        _ limits: ConnectionLimits, metrics: HTTPMetrics = HTTPMetrics(), _ body: @Sendable @escaping (HTTPAddress) throws -> Void
    ) async throws {
        try await TestSupport.serving(Self.router().buildResponder(), limits: limits, metrics: metrics) { address in
            try await onThread { try body(address) }
        }
    }

    @Test func oneTooManyIsToldSo() async throws {
        try await serving(Self.limits(2)) { address in
            let served = try (0..<2).map { _ in try RawConnection(address) }
            for connection in served {
                connection.send(Self.request)
                #expect(try connection.read(until: "hello").hasPrefix("HTTP/1.1 200 OK\r\n"))
            }
            for request in [Self.request, ""] {
                let refused = try RawConnection(address)
                refused.send(request)
                let answer = try refused.read()
                #expect(answer.hasPrefix("HTTP/1.1 503 Service Unavailable\r\n"))
                for header in ["Retry-After: 1", "Connection: close", "Content-Length: 0"] {
                    #expect(answer.contains("\r\n\(header)\r\n"))
                }
            }
            // Existing connections stay open.
            for connection in served {
                connection.send(Self.request)
                #expect(try connection.read(until: "hello").hasPrefix("HTTP/1.1 200 OK\r\n"))
            }
        }
    }

    @Test func aFloodOfRefusalsLeavesThePlacesAsTheyAre() async throws {
        try await serving(Self.limits(1)) { address in
            var served: RawConnection? = try RawConnection(address)
            served?.send(Self.request)
            _ = try served?.read(until: "hello")
            // More connections than may linger, and none of them closes by itself.
            let refused = try (0..<20).map { _ in try RawConnection(address) }
            for connection in refused { #expect(try connection.read().hasPrefix("HTTP/1.1 503 ")) }
            served = nil
            let next = try Self.untilServed(address)
            #expect(next.hasSuffix("hello"))
        }
    }

    /// Sends the request on new connections until one is not refused: the server notices the end of others with a delay.
    private static func untilServed(_ address: HTTPAddress) throws -> String {
        while true {
            let connection = try RawConnection(address)
            connection.send(request)
            let answer = try connection.read(until: "hello")
            if !answer.hasPrefix("HTTP/1.1 503 ") { return answer }
        }
    }

    @Test func theLongestIdleMakesWay() async throws {
        try await serving(Self.limits(2, minimumIdleTime: .zero)) { address in
            let idle = try (0..<2).map { _ in
                let connection = try RawConnection(address)
                connection.send(Self.request)
                _ = try connection.read(until: "hello")
                return connection
            }
            let new = try RawConnection(address)
            new.send(Self.request)
            #expect(try new.read(until: "hello").hasPrefix("HTTP/1.1 200 OK\r\n"))
            #expect(try idle[0].read() == "")
            idle[1].send(Self.request)
            #expect(try idle[1].read(until: "hello").hasPrefix("HTTP/1.1 200 OK\r\n"))
        }
    }

    /// The start of the request, and what is then sent byte by byte, endlessly.
    @Test(arguments: [
        "GET / HTTP/1.1\r\nHost: a\r\nX: ", "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nffff\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\n\r\nGET /",
    ])
    func whoeverDawdlesIsClosed(_ beginning: String) async throws {
        try await serving(Self.limits(timeout: .milliseconds(150))) { address in
            let connection = try RawConnection(address)
            connection.send(beginning)
            let begun = ContinuousClock.now
            while connection.send("x"), ContinuousClock.now - begun < .seconds(10) { usleep(10_000) }
            let taken = ContinuousClock.now - begun
            #expect(taken >= .milliseconds(140) && taken < .seconds(10))
        }
    }

    @Test func anAnswerInTheMakingIsNotIdle() async throws {
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let router = Self.router()
        router.get("/slow") { _, _ in
            Response(
                status: .ok,
                body: ResponseBody { writer in
                    try await writer.write(ByteBuffer(string: "begun"))
                    for await _ in gate { break }
                    try await writer.write(ByteBuffer(string: "ended"))
                    try await writer.finish(nil)
                })
        }
        let limits = Self.limits(timeout: .milliseconds(150))
        try await TestSupport.serving(router.buildResponder(), limits: limits) { address in
            try await onThread {
                let connection = try RawConnection(address)
                connection.send("GET /slow HTTP/1.1\r\nHost: a\r\n\r\n")
                _ = try connection.read(until: "begun")
                // A connection that was opened later is closed first.
                #expect(try RawConnection(address).read() == "")
                #expect(try RawConnection(address).read() == "")
                open.yield()
                _ = try connection.read(until: "ended")
            }
        }
    }

    @Test func whoeverDoesNotReadIsClosed() async throws {
        let (ends, ended) = AsyncStream.makeStream(of: Void.self)
        let router = Self.router()
        router.get("/endless") { _, _ in
            Response(
                status: .ok,
                body: ResponseBody { writer in
                    defer { ended.yield() }
                    let piece = ByteBuffer(repeating: 0x78, count: 1 << 20)
                    while true { try await writer.write(piece) }
                })
        }
        let limits = Self.limits(timeout: .milliseconds(150))
        try await TestSupport.serving(router.buildResponder(), limits: limits) { address in
            let connection = try RawConnection(address)
            connection.send("GET /endless HTTP/1.1\r\nHost: a\r\n\r\n")
            for await _ in ends { break }
            withExtendedLifetime(connection) {}
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
                let first = try RawConnection(address)
                first.send(Self.request)
                _ = try first.read(until: "hello")
                if limits.timeout > .seconds(1) { #expect(registry.text().contains("juice_http_connections 1\n")) }
                let second = try RawConnection(address)
                second.send(Self.request)
                _ = try second.read(until: "\r\n\r\n")
                guard limits.timeout < .seconds(1) else { return }
                for connection in [first, second] { _ = try connection.read() }
            }
            #expect(counts() == expected)
        }
    }

    @Test(arguments: [
        ("GET / HTTP/1.1\r\nHost: a\r\n\r\n", 200), ("GET / HTTP/1.1\r\nHost: [::1]:8080\r\n\r\n", 200),
        ("GET / HTTP/1.0\r\n\r\n", 200), ("GET / HTTP/1.1\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\nX: y\r\nhOST: b\r\n\r\n", 400),
        ("GET / HTTP/1.0\r\nHost: a\r\nhost: b\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\n b\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\n Host: b\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost : a\r\n\r\n", 400), ("GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\nHost:\r\n\r\n", 400),
    ])
    func aRequestNamesOneHost(_ request: String, _ status: Int) async throws {
        try await serving(Self.limits()) { address in
            let connection = try RawConnection(address)
            // A second request after a refused one is ignored.
            connection.send(request + (status == 400 ? Self.request : ""))
            let answer = try connection.read(until: status == 400 ? nil : "hello")
            #expect(answer.hasPrefix("HTTP/1.") && answer.dropFirst(9).hasPrefix("\(status) "), "\(answer)")
            #expect(answer.contains("hello") == (status == 200))
        }
    }

    @Test func limitsLeaveFilesForTheRest() {
        for files in [20, 64, 256, 1024, 4096, 65536, 1 << 20, .max] {
            let pages = ConnectionLimits(most: 4096, parts: 2, of: files)
            let probes = ConnectionLimits(most: 512, parts: 8, of: files)
            let taken = [pages, probes].reduce(0) { $0 + $1.connections + 2 * $1.refusals }
            #expect(taken <= files / 8 * 5 + 6, "of \(files)")
            #expect(pages.connections > 0 && probes.connections > 0 && pages.connections <= 4096)
        }
        #expect(ConnectionLimits(most: 4096, parts: 2, of: 1024).connections == 410)
        #expect(OpenFileLimit.raised >= 20)
    }
}
