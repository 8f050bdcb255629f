import Foundation
import Hummingbird
import JuiceWeb
import Logging
import Metrics
import ServiceLifecycle

/// Serves on a free port of the loopback interface during the body.
package func serving<Responder: HTTPResponder>(
    _ responder: Responder, limits: ConnectionLimits = .probes, metrics: any MetricsFactory = NOOPMetricsHandler.instance,
    besides services: [any Service] = [], _ body: @Sendable @escaping (HTTPAddress) async throws -> Void
) async throws where Responder.Context: InitializableFromSource<ApplicationRequestContextSource> {
    let (addresses, listening) = AsyncStream.makeStream(of: HTTPAddress.self)
    let local = HTTPAddress(host: "127.0.0.1", port: 0)
    let server = HTTPServer(responder, at: local, limits: limits, metrics: metrics, logger: .quiet) { listening.yield($0) }
    let all = [server] + services
    let group = ServiceGroup(configuration: .init(services: all.map { .init(service: $0) }, logger: .quiet))
    try await onThread {
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask {
                defer { listening.finish() }
                try await group.run()
            }
            if let address = await addresses.first(where: { _ in true }) {
                do {
                    try await body(address)
                } catch {
                    await group.triggerGracefulShutdown()
                    throw error
                }
            }
            await group.triggerGracefulShutdown()
            try await tasks.waitForAll()
        }
    }
}

/// A TCP connection that sends any bytes, HTTP or not. Its calls block, so do not use it on Swift's cooperative pool.
package final class RawConnection {
    private struct Failure: Error {
        let call: String
        let reason = String(cString: strerror(errno))
    }

    private let socket: Int32

    /// Connects. Later reads fail if nothing arrives for a minute.
    package init(_ address: HTTPAddress) throws {
        #if os(Linux)
            socket = Foundation.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        #else
            socket = Foundation.socket(AF_INET, SOCK_STREAM, 0)
            set(SO_NOSIGPIPE, Int32(1))
        #endif
        var target = sockaddr_in()
        target.sin_family = sa_family_t(AF_INET)
        target.sin_port = in_port_t(UInt16(address.port).bigEndian)
        target.sin_addr.s_addr = inet_addr(address.host)
        let size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafePointer(to: &target) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(socket, $0, size) }
        }
        guard result == 0 else { throw Failure(call: "connect") }
        set(SO_RCVTIMEO, timeval(tv_sec: 60, tv_usec: 0))
    }

    deinit { close(socket) }

    private func set<Value: BitwiseCopyable>(_ option: Int32, _ value: Value) {
        var value = value
        setsockopt(socket, SOL_SOCKET, option, &value, socklen_t(MemoryLayout<Value>.size))
    }

    /// Writes a text; returns false if the peer no longer accepts data.
    @discardableResult
    package func send(_ text: String) -> Bool { send(Array(text.utf8)) }

    package func send(_ bytes: [UInt8]) -> Bool {
        #if os(Linux)
            let flags = Int32(MSG_NOSIGNAL)
        #else
            let flags: Int32 = 0
        #endif
        return bytes.withUnsafeBytes { Foundation.send(socket, $0.baseAddress, $0.count, flags) } == bytes.count
    }

    /// Reads until the text that was read contains the given one, or to the end of the stream. Throws if nothing arrives within the
    /// timeout.
    package func read(until end: String? = nil) throws -> String {
        var text = ""
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = recv(socket, &buffer, buffer.count, 0)
            if count < 0, errno != ECONNRESET { throw Failure(call: "recv") }
            guard count > 0 else { return text }
            text += String(decoding: buffer[..<count], as: UTF8.self)
            if let end, text.contains(end) { return text }
        }
    }

    /// Makes the connection end with a reset instead of a regular close.
    package func resetAtEnd() { set(SO_LINGER, linger(l_onoff: 1, l_linger: 0)) }
}
