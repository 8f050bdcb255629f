import Foundation
import Hummingbird

/// The admin routes of a process: health and metrics.
package enum AdminRoutes {
    /// Why a check fails, one sentence for people per reason; empty if it succeeds.
    package typealias Reasons = @Sendable () -> [String]

    /// - `GET /health/live`: 200 while the process makes progress, else 503 with the reasons.
    /// - `GET /health/ready`: 200 while it does its work, else 503 with the reasons. Warnings are about what does not hinder it.
    /// - `GET /metrics`: the metrics in Prometheus' text format.
    package static func responder(
        liveness: @escaping Reasons, readiness: @escaping Reasons, warnings: @escaping Reasons = { [] }, metrics: PrometheusRegistry
    ) -> RouterResponder<BasicRequestContext> {
        let router = Router(options: .autoGenerateHeadEndpoints)
        router.get("/health/live") { _, _ in health(liveness(), good: "alive", bad: "stuck") }
        router.get("/health/ready") { _, _ in health(readiness(), warnings: warnings(), good: "ready", bad: "not ready") }
        router.get("/metrics") { _, _ in
            Response(
                status: .ok, headers: [.contentType: PrometheusRegistry.contentType],
                body: ResponseBody(byteBuffer: ByteBuffer(string: metrics.text())))
        }
        return router.buildResponder()
    }

    /// `{"status":"ready"}`, or `{"status":"not ready","reasons":["worker 0 restores partition 3"]}`. Either may have `warnings`.
    private static func health(_ reasons: [String], warnings: [String] = [], good: String, bad: String) -> Response {
        // Written by hand to fix the order of the members, because people read it. Encoding strings cannot fail.
        let lists = [("reasons", reasons), ("warnings", warnings)].filter { !$0.1.isEmpty }.map { name, list in
            #","\#(name)":"# + ((try? JSONEncoder().encode(list)).map { String(decoding: $0, as: UTF8.self) } ?? "[]")
        }
        let json = #"{"status":"\#(reasons.isEmpty ? good : bad)"\#(lists.joined())}"#
        return Response(
            status: reasons.isEmpty ? .ok : .serviceUnavailable,
            headers: [.contentType: "application/json; charset=utf-8", .cacheControl: "no-store"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: json)))
    }
}
