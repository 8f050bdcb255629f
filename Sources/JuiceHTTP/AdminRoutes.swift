import Foundation
import HTTPTypes
import Hummingbird

/// The admin routes of a process: health and metrics.
public enum AdminRoutes {
    /// Why a check fails, one sentence for people per reason; empty if it succeeds.
    public typealias Reasons = @Sendable () -> [String]

    /// - `GET /health/live`: 200 while the process makes progress, else 503 with the reasons.
    /// - `GET /health/ready`: 200 while it does its work, else 503 with the reasons.
    /// - `GET /metrics`: the metrics in Prometheus' text format.
    public static func router(liveness: @escaping Reasons, readiness: @escaping Reasons, metrics: PrometheusRegistry) -> Router<
        BasicRequestContext
    > {
        let router = Router(options: .autoGenerateHeadEndpoints)
        router.get("/health/live") { _, _ in HealthAnswer(reasons: liveness(), yes: "alive", no: "stuck").response }
        router.get("/health/ready") { _, _ in HealthAnswer(reasons: readiness(), yes: "ready", no: "not ready").response }
        router.get("/metrics") { _, _ in
            Response(
                status: .ok, headers: [.contentType: PrometheusRegistry.contentType],
                body: ResponseBody(byteBuffer: ByteBuffer(string: metrics.text())))
        }
        return router
    }
}

/// `{"status":"ready"}`, or `{"status":"not ready","reasons":["worker 0 restores partition 3"]}`.
private struct HealthAnswer {
    private let status: String
    private let reasons: [String]

    init(reasons: [String], yes: String, no: String) {
        status = reasons.isEmpty ? yes : no
        self.reasons = reasons
    }

    var response: Response {
        Response(
            status: reasons.isEmpty ? .ok : .serviceUnavailable,
            headers: [.contentType: "application/json; charset=utf-8", .cacheControl: "no-store"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: json)))
    }

    /// Built by hand to fix the order of the members, because people read it.
    private var json: String {
        guard !reasons.isEmpty else { return #"{"status":"\#(status)"}"# }
        // Encoding strings cannot fail.
        let list = (try? JSONEncoder().encode(reasons)).map { String(decoding: $0, as: UTF8.self) } ?? "[]"
        return #"{"status":"\#(status)","reasons":\#(list)}"#
    }
}
