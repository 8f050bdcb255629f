import Hummingbird
import HummingbirdCore
import Logging
import Metrics
import NIOCore
import ServiceLifecycle

/// Serves HTTP at an address until graceful shutdown.
package struct HTTPServer<Responder: HTTPResponder>: Service
where Responder.Context: InitializableFromSource<ApplicationRequestContextSource> {
    private let responder: Responder
    private let address: HTTPAddress
    private let limits: ConnectionLimits
    private let metrics: any MetricsFactory
    private let logger: Logger
    private let onListening: @Sendable (HTTPAddress) async -> Void

    /// A server that does not listen before ``run()``.
    ///
    /// - Parameter onListening: called with the bound address once the server accepts connections.
    package init(
        _ responder: Responder, at address: HTTPAddress, limits: ConnectionLimits,
        metrics: any MetricsFactory = NOOPMetricsHandler.instance, logger: Logger,
        onListening: @escaping @Sendable (HTTPAddress) async -> Void = { _ in }
    ) {
        (self.responder, self.address, self.limits, self.metrics) = (responder, address, limits, metrics)
        (self.logger, self.onListening) = (logger, onListening)
    }

    /// Serves until graceful shutdown.
    ///
    /// - Throws: ``HTTPServerError`` if it cannot listen at the address.
    package func run() async throws {
        var quiet = logger
        // Hummingbird's own notices repeat those logged here.
        quiet.logLevel = max(logger.logLevel, .warning)
        let connections = ConnectionCount(limits, metrics: metrics)
        let application = Application(
            responder: responder,
            server: .http1(configuration: .init(additionalChannelHandlers: [ConnectionHandler(connections)])),
            configuration: .init(
                address: .hostname(address.host, port: address.port), availableConnectionsDelegate: connections),
            onServerRunning: { channel in
                let bound = HTTPAddress(host: address.host, port: channel.localAddress?.port ?? address.port)
                logger.notice("HTTP at http://\(bound)")
                await onListening(bound)
            },
            logger: quiet)
        do { try await application.run() } catch { throw HTTPServerError(address, error) as (any Error)? ?? error }
    }
}
