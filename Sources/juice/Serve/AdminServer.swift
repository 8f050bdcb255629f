import Hummingbird
import JuiceHTTP
import Logging

/// Shows the health and the metrics of a process to those who run it.
enum AdminServer {
    /// A server that does not listen yet.
    ///
    /// - Parameter counted: what the server's own connections are counted with, where it is the only one of the process.
    static func make(
        at address: HTTPAddress,
        liveness: @escaping AdminRoutes.Reasons,
        readiness: @escaping AdminRoutes.Reasons,
        metrics: Metrics,
        counted: HTTPMetrics = HTTPMetrics(),
        logger: Logger,
        onListening: @escaping @Sendable (HTTPAddress) async -> Void = { _ in }
    ) -> HTTPServer<RouterResponder<BasicRequestContext>> {
        let routes = AdminRoutes.router(liveness: liveness, readiness: readiness, metrics: metrics.registry)
        return HTTPServer(
            routes.buildResponder(),
            at: address,
            limits: .probes,
            metrics: counted,
            logger: logger,
            onListening: onListening
        )
    }
}
