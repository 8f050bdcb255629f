import Hummingbird
import JuiceHTTP
import Logging

/// The server for a process' health and metrics.
enum AdminServer {
    /// Creates a server. It does not listen before it runs.
    ///
    /// - Parameter counted: counts the server's own connections, if it is the only server of the process.
    static func make(
        at address: HTTPAddress, liveness: @escaping AdminRoutes.Reasons, readiness: @escaping AdminRoutes.Reasons,
        metrics: Metrics, counted: HTTPMetrics = HTTPMetrics(), logger: Logger,
        onListening: @escaping @Sendable (HTTPAddress) async -> Void = { _ in }
    ) -> HTTPServer<RouterResponder<BasicRequestContext>> {
        let routes = AdminRoutes.responder(liveness: liveness, readiness: readiness, metrics: metrics.registry)
        return HTTPServer(
            routes, at: address, limits: .probes, metrics: counted, logger: logger, onListening: onListening)
    }
}
