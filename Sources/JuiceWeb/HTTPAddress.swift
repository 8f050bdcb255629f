import Foundation
import NIOCore
import NIOPosix

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

package struct HTTPServerError: Error, CustomStringConvertible {
    let address: HTTPAddress
    let reason: String
    /// Whether the address may become available: an interface gets it, its name is resolved, or another process releases the port.
    package let mayPass: Bool

    package var description: String { "cannot listen on \(address): \(reason)" }
}

extension HTTPServerError {
    /// Nil for an error of another kind.
    init?(_ address: HTTPAddress, _ error: any Error) {
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
