import Foundation
import HTTPTypes
import Hummingbird
import JuiceService
import PrometheusMetrics

/// What the service shows over HTTP: its health and its metrics.
public enum ServiceRoutes {
    /// - `GET /health/live`: 200 while the workers get on, else 503 with the reasons.
    /// - `GET /health/ready`: 200 while all partitions that are due are restored and read, else 503 with the reasons.
    /// - `GET /metrics`: the metrics in Prometheus' text format.
    public static func router(
        health: ServiceHealth,
        metrics: PrometheusRegistry
    ) -> Router<BasicRequestContext> {
        let router = Router(options: .autoGenerateHeadEndpoints)
        router.get("/health/live") { _, _ in
            HealthAnswer(health.liveness, yes: "alive", no: "stuck").response
        }
        router.get("/health/ready") { _, _ in
            HealthAnswer(health.readiness, yes: "ready", no: "not ready").response
        }
        router.get("/metrics") { _, _ in
            Response(
                status: .ok,
                headers: [.contentType: PrometheusRegistry.contentType],
                body: ResponseBody(byteBuffer: ByteBuffer(string: metrics.text()))
            )
        }
        return router
    }
}

/// `{"status":"ready"}`, or `{"status":"not ready","reasons":["worker 0 restores partition 3"]}`.
private struct HealthAnswer {
    private let status: String
    private let reasons: [String]

    init(_ report: ServiceHealth.Report, yes: String, no: String) {
        status = report.isWell ? yes : no
        reasons = report.reasons
    }

    var response: Response {
        Response(
            status: reasons.isEmpty ? .ok : .serviceUnavailable,
            headers: [.contentType: "application/json; charset=utf-8", .cacheControl: "no-store"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: json))
        )
    }

    /// Written member by member: people read it, and an encoder has an order of its own.
    private var json: String {
        guard !reasons.isEmpty else { return #"{"status":"\#(status)"}"# }
        // Texts always have a JSON form.
        let list = (try? JSONEncoder().encode(reasons)).map { String(decoding: $0, as: UTF8.self) } ?? "[]"
        return #"{"status":"\#(status)","reasons":\#(list)}"#
    }
}
