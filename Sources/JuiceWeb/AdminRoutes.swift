import Foundation
import Hummingbird

package enum AdminRoutes {
    /// Why a check fails, one sentence per reason; empty if it succeeds.
    package typealias Reasons = @Sendable () -> [String]

    /// - `GET /health/live`: 200 while the process makes progress, else 503 with the reasons.
    /// - `GET /health/ready`: 200 while it does its work, else 503 with the reasons. Warnings name problems that do not stop it.
    /// - `GET /metrics`: the metrics in Prometheus' text format, those of the process included.
    package static func responder(
        liveness: @escaping Reasons, readiness: @escaping Reasons, warnings: @escaping Reasons = { [] }, metrics: PrometheusRegistry
    ) -> RouterResponder<BasicRequestContext> {
        let router = Router(options: .autoGenerateHeadEndpoints)
        router.get("/health/live") { _, _ in health(liveness(), good: "alive", bad: "stuck") }
        router.get("/health/ready") { _, _ in health(readiness(), warnings: warnings(), good: "ready", bad: "not ready") }
        // The routes are made when the process starts.
        let startedAt = Date.now.timeIntervalSince1970
        router.get("/metrics") { _, _ in
            let text = metrics.text() + ProcessMetrics.text(startedAt: startedAt)
            return Response(
                status: .ok, headers: [.contentType: PrometheusRegistry.contentType],
                body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
        }
        return router.buildResponder()
    }

    /// `{"status":"ready"}`, or `{"reasons":["worker 0 restores partition 3"],"status":"not ready"}`. Either may have `warnings`.
    private static func health(_ reasons: [String], warnings: [String] = [], good: String, bad: String) -> Response {
        var content: [String: Any] = ["status": reasons.isEmpty ? good : bad]
        for (name, list) in [("reasons", reasons), ("warnings", warnings)] where !list.isEmpty { content[name] = list }
        return .json(JSONSerialization.bytes(content), status: reasons.isEmpty ? .ok : .serviceUnavailable)
    }
}

extension JSONSerialization {
    /// An object in one line, with sorted members.
    static func bytes(_ content: [String: Any]) -> Data {
        (try? data(withJSONObject: content, options: [.sortedKeys, .withoutEscapingSlashes])) ?? Data("{}".utf8)
    }
}

extension Response {
    static func json(_ bytes: some Sequence<UInt8>, status: HTTPResponse.Status = .ok) -> Response {
        Response(
            status: status, headers: [.contentType: "application/json; charset=utf-8", .cacheControl: "no-store"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
    }
}
