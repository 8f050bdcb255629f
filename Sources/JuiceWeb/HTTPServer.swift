import Foundation
import Hummingbird
import HummingbirdCore
import Logging
import Metrics
import NIOCore
import NIOPosix
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

package struct HTTPServerError: Error, CustomStringConvertible {
    let address: HTTPAddress
    let reason: String
    /// Whether the address may become available: an interface gets it, its name is resolved, or another process releases the port.
    package let mayPass: Bool

    package var description: String { "cannot listen on \(address): \(reason)" }
}

extension HTTPServerError {
    /// Nil for an error of another kind.
    fileprivate init?(_ address: HTTPAddress, _ error: any Error) {
        self.address = address
        switch error {
        case let error as IOError:
            reason = String(cString: strerror(error.errnoCode))
            mayPass = [EADDRNOTAVAIL, EADDRINUSE].contains(error.errnoCode)
        case is SocketAddressError.UnknownHost: (reason, mayPass) = ("no host has this name", true)
        case let error as SocketAddressError: (reason, mayPass) = ("\(error)", false)
        default: return nil
        }
    }
}
