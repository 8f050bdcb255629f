import Foundation
import HTTPTypes
import Hummingbird
import PrometheusMetrics

/// What a process shows to those who run it: its health and its metrics.
public enum AdminRoutes {
    /// What is amiss, each in a sentence for a person; nothing where all is well.
    public typealias Reasons = @Sendable () -> [String]

    /// - `GET /health/live`: 200 while the process gets on, else 503 with the reasons.
    /// - `GET /health/ready`: 200 while it does what it is there for, else 503 with the reasons.
    /// - `GET /metrics`: the metrics in Prometheus' text format.
    public static func router(
        liveness: @escaping Reasons,
        readiness: @escaping Reasons,
        metrics: PrometheusRegistry
    ) -> Router<BasicRequestContext> {
        let router = Router(options: .autoGenerateHeadEndpoints)
        router.get("/health/live") { _, _ in
            HealthAnswer(reasons: liveness(), yes: "alive", no: "stuck").response
        }
        router.get("/health/ready") { _, _ in
            HealthAnswer(reasons: readiness(), yes: "ready", no: "not ready").response
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

    init(reasons: [String], yes: String, no: String) {
        status = reasons.isEmpty ? yes : no
        self.reasons = reasons
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
