import Foundation
import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import ServiceLifecycle

/// Answers requests at an address until graceful shutdown.
public struct HTTPServer<Responder: HTTPResponder>: Service
where Responder.Context: InitializableFromSource<ApplicationRequestContextSource> {
    private let address: HTTPAddress
    private let responder: Responder
    private let limits: ConnectionLimits
    private let metrics: HTTPMetrics
    private let logger: Logger
    private let onListening: @Sendable (HTTPAddress) async -> Void

    /// A server that does not listen yet.
    ///
    /// - Parameters:
    ///   - responder: what answers, for example a router's.
    ///   - address: where to listen.
    ///   - limits: how many connections it has, and how long it waits for their other ends.
    ///   - metrics: what it counts.
    ///   - logger: told where it listens, and what goes wrong.
    ///   - onListening: called with the address that it has in the end, once it can be reached.
    public init(
        _ responder: Responder,
        at address: HTTPAddress,
        limits: ConnectionLimits,
        metrics: HTTPMetrics = HTTPMetrics(),
        logger: Logger,
        onListening: @escaping @Sendable (HTTPAddress) async -> Void = { _ in }
    ) {
        self.responder = responder
        self.address = address
        self.limits = limits
        self.metrics = metrics
        self.logger = logger
        self.onListening = onListening
    }

    /// Serves.
    ///
    /// - Throws: ``HTTPServerError`` when it cannot listen there.
    public func run() async throws {
        var quiet = logger
        // Hummingbird's own lines repeat what is said here.
        quiet.logLevel = max(logger.logLevel, .warning)
        let pool = ConnectionPool(limits, metrics: metrics)
        let application = Application(
            responder: responder,
            server: HTTPServerBuilder { [limits, metrics] responder in
                LimitedHTTPChannel(
                    http: HTTP1Channel(responder: responder),
                    pool: pool,
                    limits: limits,
                    metrics: metrics
                )
            },
            configuration: .init(
                address: .hostname(address.host, port: address.port),
                // A connection is refused a moment after it was accepted. Not even in that moment can there be more than this.
                availableConnectionsDelegate: .maximum(
                    limits.connections + 2 * limits.refusals,
                    logger: quiet
                )
            ),
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
        } catch let error as SocketAddressError {
            throw HTTPServerError(address: address, reason: "\(error)")
        }
    }
}

/// A server could not listen.
public struct HTTPServerError: Error, Sendable, CustomStringConvertible {
    /// Where.
    public let address: HTTPAddress
    /// The system's reason.
    public let reason: String

    /// What happened, in a sentence.
    public var description: String { "cannot listen on \(address): \(reason)" }
}
