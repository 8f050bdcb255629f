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

/// Where a server listens: a host name or IP address, and a port.
package struct HTTPAddress: Sendable, Equatable, CustomStringConvertible {
    /// The host name or IP address; an IPv6 address without brackets.
    package let host: String
    /// The port; 0 lets the system choose one.
    package let port: Int

    package init(host: String, port: Int) { (self.host, self.port) = (host, port) }

    /// Parses `host:port`, with an IPv6 address as `[::1]:8080`; nil for anything else.
    package init?(_ text: String) {
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else { return nil }
        var host = text[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() } else if host.contains(":") { return nil }
        guard !host.isEmpty, !host.contains(where: \.isWhitespace) else { return nil }
        self.init(host: String(host), port: Int(port))
    }

    /// Listens for a moment, to find out whether a server can. It blocks.
    package func tryToListen() throws(HTTPServerError) {
        do {
            try ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
                .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
                .bind(host: host, port: port).flatMap { $0.close() }.wait()
        } catch {
            throw HTTPServerError(self, error) ?? HTTPServerError(address: self, reason: "\(error)", mayPass: false)
        }
    }

    package var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}
