import CoreMetrics
import Logging
import Synchronization
import TestSupport
import Testing

@testable import JuiceWeb

/// Tests the admin routes over a real connection.
@Suite struct HTTPServerTests {
    private func get(_ path: String, at address: HTTPAddress) async throws -> String {
        try await onThread { try Site(address: address).request("GET", path, "Connection: close\r\n").read() }
    }

    @Test func healthIsShownWithReasonsAndWarnings() async throws {
        let stuck = Mutex<[String]>([])
        let unready = Mutex<[String]>([])
        let responder = AdminRoutes.responder(
            liveness: { stuck.withLock { $0 } }, readiness: { unready.withLock { $0 } }, warnings: { ["12 lines dropped"] },
            metrics: PrometheusRegistry())
        try await serving(responder) { address in
            func expect(_ status: Int, _ path: String, _ body: String) async throws {
                let answer = try await get("/health/\(path)", at: address)
                #expect(answer.hasPrefix("HTTP/1.1 \(status) ") && answer.hasSuffix("\r\n\r\n\(body)"), "\(answer)")
                #expect(answer.contains("\r\nCache-Control: no-store\r\n"), "\(answer)")
            }
            try await expect(200, "live", #"{"status":"alive"}"#)
            try await expect(200, "ready", #"{"status":"ready","warnings":["12 lines dropped"]}"#)
            unready.withLock { $0 = ["a \"worker\"", "b"] }
            let notReady = #"{"reasons":["a \"worker\"","b"],"status":"not ready","warnings":["12 lines dropped"]}"#
            try await expect(503, "ready", notReady)
            try await expect(200, "live", #"{"status":"alive"}"#)
            stuck.withLock { $0 = ["c"] }
            try await expect(503, "live", #"{"reasons":["c"],"status":"stuck"}"#)
        }
    }

    @Test func metricsAreShown() async throws {
        let registry = PrometheusRegistry()
        Counter(label: "x_total", factory: registry).increment(by: 3)
        try await serving(AdminRoutes.responder(liveness: { [] }, readiness: { [] }, metrics: registry)) { address in
            let answer = try await get("/metrics", at: address)
            #expect(answer.hasPrefix("HTTP/1.1 200 ") && answer.contains("\r\nContent-Type: \(PrometheusRegistry.contentType)\r\n"))
            #expect(answer.contains("\r\n\r\n# TYPE x_total counter\nx_total 3\n# HELP process_"), "\(answer)")
            #expect(try await get("/", at: address).hasPrefix("HTTP/1.1 404 "))
        }
    }

    @Test func anAddressThatIsTakenIsNamed() async throws {
        let responder = AdminRoutes.responder(liveness: { [] }, readiness: { [] }, metrics: PrometheusRegistry())
        try await serving(responder) { address in
            let second = HTTPServer(responder, at: address, limits: .probes, logger: .quiet)
            let error = await #expect(throws: HTTPServerError.self) { try await second.run() }
            #expect(error?.description == "cannot listen on \(address): Address already in use")
        }
    }
}

@Suite struct HTTPAddressTests {
    @Test(arguments: [
        ("127.0.0.1:8080", "127.0.0.1", 8080), ("localhost:0", "localhost", 0), ("[::1]:80", "::1", 80),
        ("0.0.0.0:65535", "0.0.0.0", 65535),
    ])
    func isReadAndWritten(text: String, host: String, port: Int) {
        let address = HTTPAddress(text)
        #expect(address == HTTPAddress(host: host, port: port))
        #expect(address?.description == text)
    }

    @Test(arguments: ["", "8080", ":8080", "localhost", "localhost:", "::1:80", "a b:80", "a:65536", "a:-1", "a:x"])
    func refusesMalformedAddresses(text: String) {
        #expect(HTTPAddress(text) == nil)
    }
}
