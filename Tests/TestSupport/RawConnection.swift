import Foundation
import JuiceHTTP

/// A TCP connection that sends any bytes, HTTP or not. Its calls block, so do not use it on Swift's cooperative pool.
public final class RawConnection {
    private struct Failure: Error {
        let call: String
        let reason: String
    }

    private let socket: Int32

    /// Connects. Later reads fail if nothing arrives within `timeout`.
    public init(_ address: HTTPAddress, timeout: Duration = .seconds(60)) throws {
        #if os(Linux)
            socket = Foundation.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        #else
            socket = Foundation.socket(AF_INET, SOCK_STREAM, 0)
        #endif
        #if os(macOS)
            var isSilent: Int32 = 1
            setsockopt(socket, SOL_SOCKET, SO_NOSIGPIPE, &isSilent, socklen_t(MemoryLayout<Int32>.size))
        #endif
        var target = sockaddr_in()
        target.sin_family = sa_family_t(AF_INET)
        target.sin_port = in_port_t(UInt16(address.port).bigEndian)
        target.sin_addr.s_addr = inet_addr(address.host)
        let size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafePointer(to: &target) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(socket, $0, size) }
        }
        guard result == 0 else { throw Self.failure("connect") }
        var wait = timeval(tv_sec: Int(timeout.components.seconds), tv_usec: 0)
        setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &wait, socklen_t(MemoryLayout<timeval>.size))
    }

    deinit { close(socket) }

    /// Writes a text.
    ///
    /// - Returns: false if the peer no longer accepts data.
    @discardableResult
    public func send(_ text: String) -> Bool {
        #if os(Linux)
            let flags = Int32(MSG_NOSIGNAL)
        #else
            let flags: Int32 = 0
        #endif
        return Array(text.utf8).withUnsafeBytes { Foundation.send(socket, $0.baseAddress, $0.count, flags) } == text.utf8.count
    }

    /// Reads until the text ends with the given suffix, or to the end of the stream.
    ///
    /// - Throws: if nothing arrives within the timeout.
    public func read(until end: String? = nil) throws -> String {
        var text = ""
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = recv(socket, &buffer, buffer.count, 0)
            if count < 0, errno != ECONNRESET { throw Self.failure("recv") }
            guard count > 0 else { return text }
            text += String(decoding: buffer[..<count], as: UTF8.self)
            if let end, text.contains(end) { return text }
        }
    }

    /// Makes the connection end with a reset instead of a regular close.
    public func resetAtEnd() {
        var linger = linger(l_onoff: 1, l_linger: 0)
        setsockopt(socket, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout<linger>.size))
    }

    private static func failure(_ call: String) -> Failure {
        Failure(call: call, reason: String(cString: strerror(errno)))
    }
}
