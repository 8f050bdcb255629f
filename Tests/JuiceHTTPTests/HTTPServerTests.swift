import CoreMetrics
import Foundation
import Hummingbird
import JuiceEngine
import Logging
import TestSupport
import Testing

@testable import JuiceHTTP
@testable import JuiceService

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Tests the service's routes over a real connection.
@Suite struct HTTPServerTests {
    private let health = ServiceHealth()
    private let registry = PrometheusRegistry()

    private var quiet: Logger { Logger(label: "test") { _ in SwiftLogNoOpLogHandler() } }

    private var responder: RouterResponder<BasicRequestContext> {
        AdminRoutes.router(
            liveness: { [health] in health.liveness.reasons }, readiness: { [health] in health.readiness.reasons },
            metrics: registry
        ).buildResponder()
    }

    /// Runs a server during the body.
    private func serving(_ body: @Sendable @escaping (HTTPAddress) async throws -> Void) async throws {
        try await TestSupport.serving(responder, body)
    }

    private struct Answer {
        let status: Int
        let headers: [AnyHashable: Any]
        let body: String
    }

    private func get(_ path: String, at address: HTTPAddress) async throws -> Answer {
        let url = try #require(URL(string: "http://\(address)\(path)"))
        let (data, response) = try await URLSession(configuration: .ephemeral).data(from: url)
        let http = try #require(response as? HTTPURLResponse)
        return Answer(status: http.statusCode, headers: http.allHeaderFields, body: String(decoding: data, as: UTF8.self))
    }

    @Test func readinessFollowsTheService() async throws {
        try await serving { [health] address in
            let early = try await get("/health/ready", at: address)
            #expect(early.status == 503)
            #expect(early.body == #"{"status":"not ready","reasons":["the topics are not checked yet"]}"#)
            health.started(workers: 1)
            health.record(.restored(partitions: [], RestoredState(stores: 0, commands: 0, records: 0)), ofWorker: 0)
            let ready = try await get("/health/ready", at: address)
            #expect(ready.status == 200)
            #expect(ready.body == #"{"status":"ready"}"#)
            #expect(ready.headers["Cache-Control"] as? String == "no-store")
            let live = try await get("/health/live", at: address)
            #expect((live.status, live.body) == (200, #"{"status":"alive"}"#))
        }
    }

    @Test func metricsAreShown() async throws {
        Counter(label: "x_total", factory: registry).increment(by: 3)
        try await serving { address in
            let answer = try await get("/metrics", at: address)
            #expect(answer.status == 200)
            #expect(answer.headers["Content-Type"] as? String == PrometheusRegistry.contentType)
            #expect(answer.body == "# TYPE x_total counter\nx_total 3\n")
            #expect(try await get("/", at: address).status == 404)
        }
    }

    @Test func anAddressThatIsTakenIsNamed() async throws {
        try await serving { [quiet, registry] address in
            let router = AdminRoutes.router(liveness: { [] }, readiness: { [] }, metrics: registry)
            let second = HTTPServer(router.buildResponder(), at: address, limits: .probes, logger: quiet)
            let error = await #expect(throws: HTTPServerError.self) { try await second.run() }
            #expect(error?.description == "cannot listen on \(address): Address already in use")
        }
    }
}
