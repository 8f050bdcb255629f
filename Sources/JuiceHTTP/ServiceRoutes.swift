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
private struct HealthAnswer: ResponseEncodable {
    let status: String
    let reasons: [String]?
    private let isWell: Bool

    private enum CodingKeys: CodingKey {
        case status
        case reasons
    }

    init(_ report: ServiceHealth.Report, yes: String, no: String) {
        isWell = report.isWell
        status = isWell ? yes : no
        reasons = isWell ? nil : report.reasons
    }

    var response: EditedResponse<Self> {
        EditedResponse(
            status: isWell ? .ok : .serviceUnavailable,
            headers: [.cacheControl: "no-store"],
            response: self
        )
    }
}
