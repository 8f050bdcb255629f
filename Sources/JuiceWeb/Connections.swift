import Foundation
import HummingbirdCore
import Metrics
import NIOCore
import NIOHTTPTypes
import Synchronization

/// How many connections a server keeps open, and how long it waits for a client.
package struct ConnectionLimits: Sendable {
    /// The most connections served at once. Others wait in the system's queue.
    package let connections: Int
    /// How long a client may take to send a whole request, or go without reading any of what the server sends.
    var timeout = Duration.seconds(30)
    /// The same while all connections are in use, so that idle clients make room.
    var timeoutWhenFull = Duration.seconds(1)

    /// Limits that use at most a fraction of the files that the process may open: one divided by `parts`.
    init(most: Int, parts: Int, of files: Int) { connections = max(1, min(most, files / parts)) }

    /// For pages in browsers: half of the open files.
    package static var pages: Self { Self(most: 4096, parts: 2, of: OpenFileLimit.raised) }
    /// For probes and Prometheus: an eighth of the open files. The remainder is for Kafka and the rest of the process.
    package static var probes: Self { Self(most: 512, parts: 8, of: OpenFileLimit.raised) }
}

package enum HTTPMetric: String, CaseIterable, Sendable {
    case connections = "juice_http_connections"
    case endedConnections = "juice_http_ended_connections_total"

    package var help: String {
        switch self {
        case .connections: "Open HTTP connections."
        case .endedConnections:
            "HTTP connections that the server closed: idle while all were in use (displaced), or too slow to send or to read (slow)."
        }
    }
}

/// Counts a server's connections. At the limit, Hummingbird accepts no more.
final class ConnectionCount: AvailableConnectionsDelegate, Sendable {
    let limits: ConnectionLimits
    /// Connections that the server closed, by reason.
    fileprivate let displaced, slow: Counter
    private let gauge: Gauge
    private let count = Atomic(0)

    init(_ limits: ConnectionLimits, metrics factory: any MetricsFactory) {
        func ended(_ reason: String) -> Counter {
            Counter(label: HTTPMetric.endedConnections.rawValue, dimensions: [("reason", reason)], factory: factory)
        }
        self.limits = limits
        (displaced, slow) = (ended("displaced"), ended("slow"))
        gauge = Gauge(label: HTTPMetric.connections.rawValue, factory: factory)
    }

    func isAcceptingNewConnections() -> Bool { count.load(ordering: .relaxed) < limits.connections }
    func connectionOpened() { gauge.record(count.wrappingAdd(1, ordering: .relaxed).newValue) }
    func connectionClosed() { gauge.record(count.wrappingSubtract(1, ordering: .relaxed).newValue) }
}

/// Closes a connection whose client keeps the server waiting for a request, or does not read.
///
/// Hummingbird's idle timeout does not suffice: it restarts with every part of a body, and is no shorter when all connections are
/// in use. So a few clients could keep all others out.
final class ConnectionHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart

    private let all: ConnectionCount
    /// Fully received requests minus fully written responses. Negative after a response that was written before its request had
    /// ended.
    private var unanswered = 0
    /// When the server last began to wait for a request. Parts of a request do not change it.
    private var waitingSince = NIODeadline.now()
    /// When the client last read some or all of what is to be sent, and how many bytes were left.
    private var (takenAt, left) = (NIODeadline.now(), 0)
    private var timer: Scheduled<Void>?

    init(_ all: ConnectionCount) { self.all = all }

    func handlerAdded(context: ChannelHandlerContext) {
        #if os(Linux)
            // By default, TCP notices only after a quarter of an hour that a client has vanished. Other systems lack this option
            // (RFC 5482). It is longer than the timer below, which counts why it closes a connection.
            let milliseconds = SocketOptionValue((all.limits.timeout + .seconds(30)) / .milliseconds(1))
            try? context.channel.syncOptions?.setOption(.tcpOption(.init(rawValue: TCP_USER_TIMEOUT)), value: milliseconds)
        #endif
        do { try LastRequestHandler.add(to: context) } catch { context.close(promise: nil) }
        watch(context)
    }

    func handlerRemoved(context: ChannelHandlerContext) { timer?.cancel() }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if case .end = unwrapInboundIn(data) { (unanswered, waitingSince) = (unanswered + 1, .now()) }
        context.fireChannelRead(data)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if case .end = unwrapOutboundIn(data) { (unanswered, waitingSince) = (unanswered - 1, .now()) }
        context.write(data, promise: promise)
    }

    private func watch(_ context: ChannelHandlerContext) {
        timer = context.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(all.limits.timeoutWhenFull)) { [self] in
            let now = NIODeadline.now()
            let unsent = (try? context.channel.syncOptions?.getOption(.bufferedWritableBytes)) ?? 0
            if unsent == 0 || unsent < left { takenAt = now }
            left = unsent
            let waited = unanswered > 0 ? .zero : now - waitingSince
            if max(waited, now - takenAt) >= TimeAmount(all.limits.timeout) {
                all.slow.increment()
            } else if waited >= TimeAmount(all.limits.timeoutWhenFull), !all.isAcceptingNewConnections() {
                all.displaced.increment()
            } else {
                return watch(context)
            }
            context.close(promise: nil)
        }
    }
}
