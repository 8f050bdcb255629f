import Foundation
import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import ServiceLifecycle

/// Serves HTTP at an address until graceful shutdown.
public struct HTTPServer<Responder: HTTPResponder>: Service
where Responder.Context: InitializableFromSource<ApplicationRequestContextSource> {
    private let address: HTTPAddress
    private let responder: Responder
    private let limits: ConnectionLimits
    private let metrics: HTTPMetrics
    private let logger: Logger
    private let onListening: @Sendable (HTTPAddress) async -> Void

    /// Creates a server. It does not listen before ``run()``.
    ///
    /// - Parameters:
    ///   - responder: answers the requests, for example a router's responder.
    ///   - address: where to listen.
    ///   - limits: the number of connections, and how long to wait for clients.
    ///   - metrics: where the server's metrics go.
    ///   - logger: receives the address and errors.
    ///   - onListening: called with the bound address once the server accepts connections.
    public init(
        _ responder: Responder, at address: HTTPAddress, limits: ConnectionLimits, metrics: HTTPMetrics = HTTPMetrics(),
        logger: Logger, onListening: @escaping @Sendable (HTTPAddress) async -> Void = { _ in }
    ) {
        self.responder = responder
        self.address = address
        self.limits = limits
        self.metrics = metrics
        self.logger = logger
        self.onListening = onListening
    }

    /// Serves until graceful shutdown.
    ///
    /// - Throws: ``HTTPServerError`` if it cannot listen at the address.
    public func run() async throws {
        var quiet = logger
        // Hummingbird's own notices repeat those logged here.
        quiet.logLevel = max(logger.logLevel, .warning)
        let pool = ConnectionPool(limits, metrics: metrics)
        let application = Application(
            responder: responder,
            server: HTTPServerBuilder { [limits, metrics] responder in
                LimitedHTTPChannel(http: HTTP1Channel(responder: responder), pool: pool, limits: limits, metrics: metrics)
            },
            configuration: .init(
                address: .hostname(address.host, port: address.port),
                // A connection is refused shortly after it was accepted. This is a hard limit also for that moment.
                availableConnectionsDelegate: .maximum(limits.connections + 2 * limits.refusals, logger: quiet)),
            onServerRunning: { channel in
                let port = channel.localAddress?.port ?? address.port
                let bound = HTTPAddress(host: address.host, port: port)
                logger.notice("HTTP at http://\(bound)")
                await onListening(bound)
            },
            logger: quiet
        )
        do {
            try await application.run()
        } catch let error as IOError {
            throw HTTPServerError(address: address, reason: String(cString: strerror(error.errnoCode)))
        } catch let error as SocketAddressError { throw HTTPServerError(address: address, reason: "\(error)") }
    }
}

/// A server could not listen at its address.
public struct HTTPServerError: Error, Sendable, CustomStringConvertible {
    /// The address.
    public let address: HTTPAddress
    /// The operating system's reason.
    public let reason: String

    /// The error in one sentence.
    public var description: String { "cannot listen on \(address): \(reason)" }
}
