import Foundation
import Hummingbird
import HummingbirdCore
import Logging
import Metrics
import NIOCore
import NIOHTTP1
import Synchronization

/// How many connections a server keeps open, and how long it waits for a client.
package struct ConnectionLimits: Sendable {
    /// The most connections served at once. Another one displaces an idle connection, or is refused with 503.
    package let connections: Int
    /// The most refused connections that linger at once, so that clients can read the response.
    let refusals: Int
    /// How long a client may take to send a whole request, or to read a part of a waiting response.
    var timeout = Duration.seconds(30)
    /// At the limit, the connection that has been idle longest is displaced if it has been idle for at least this long.
    var minimumIdleTime = Duration.seconds(1)
    /// How long a refused connection stays open.
    var linger = Duration.seconds(1)

    /// Limits that use at most one of so many parts of the process' open files.
    init(most: Int, parts: Int, of files: Int) {
        let share = files / parts
        connections = max(1, min(most, share - share / 5))
        refusals = max(1, min(most, share) / 10)
    }

    /// For pages in browsers: half of the open files.
    package static var pages: Self { Self(most: 4096, parts: 2, of: OpenFileLimit.raised) }
    /// For probes and Prometheus: an eighth of the open files. The remainder is for Kafka and the rest of the process.
    package static var probes: Self { Self(most: 512, parts: 8, of: OpenFileLimit.raised) }
}

/// The metrics of a server.
package enum HTTPMetric: String, CaseIterable, Sendable {
    case connections = "juice_http_connections"
    case endedConnections = "juice_http_ended_connections_total"

    package var help: String {
        switch self {
        case .connections: "Open HTTP connections."
        case .endedConnections:
            """
            HTTP connections that the server closed: refused with 503 above the limit, displaced by another while idle, or too \
            slow to send a request or to read a response.
            """
        }
    }
}

/// Records a server's metrics through swift-metrics; without a factory they go nowhere.
package final class HTTPMetrics: Sendable {
    fileprivate let connections: Gauge
    /// Connections that the server closed, by why.
    fileprivate let refused, displaced, slow: Counter

    package init(factory: any MetricsFactory = NOOPMetricsHandler.instance) {
        func ended(_ reason: String) -> Counter {
            Counter(label: HTTPMetric.endedConnections.rawValue, dimensions: [("reason", reason)], factory: factory)
        }
        connections = Gauge(label: HTTPMetric.connections.rawValue, factory: factory)
        (refused, displaced, slow) = (ended("refused"), ended("displaced"), ended("slow"))
    }
}

/// Counts a server's connections against the limits, and orders the idle ones by how long they have waited for a request.
final class ConnectionPool: Sendable {
    /// The decision about a new connection.
    enum Admission {
        case served
        /// There are too many connections. A lingering one stays open until its client has read the response.
        case refused(lingers: Bool)
    }

    private struct State {
        var served = 0
        var lingering = 0
        /// The connections that wait for a request.
        var waiting: [ObjectIdentifier: (channel: any Channel, since: NIODeadline)] = [:]

        /// Removes and returns the connection that has waited longest, if it has waited since `limit`.
        mutating func removeFirst(waitingSince limit: NIODeadline) -> (any Channel)? {
            guard let first = waiting.min(by: { $0.value.since < $1.value.since }), first.value.since <= limit else { return nil }
            waiting[first.key] = nil
            return first.value.channel
        }
    }

    let limits: ConnectionLimits
    let metrics: HTTPMetrics
    private let state = Mutex(State())

    init(_ limits: ConnectionLimits, metrics: HTTPMetrics) { (self.limits, self.metrics) = (limits, metrics) }

    /// Admits or refuses a new connection. Call ``left(_:)`` when it closes.
    func admit() -> Admission {
        let (admission, idle): (Admission, (any Channel)?) = state.withLock { state in
            var idle: (any Channel)?
            if state.served >= limits.connections {
                idle = state.removeFirst(waitingSince: .now() - TimeAmount(limits.minimumIdleTime))
                guard idle != nil else {
                    let lingers = state.lingering < limits.refusals
                    if lingers { state.lingering += 1 }
                    return (.refused(lingers: lingers), nil)
                }
            }
            state.served += 1
            metrics.connections.record(state.served)
            return (.served, idle)
        }
        if case .refused = admission { metrics.refused.increment() }
        if let idle {
            metrics.displaced.increment()
            idle.close(promise: nil)
        }
        return admission
    }

    /// Releases a closed connection.
    func left(_ admission: Admission) {
        state.withLock { state in
            guard case .refused(let lingers) = admission else {
                state.served -= 1
                return metrics.connections.record(state.served)
            }
            if lingers { state.lingering -= 1 }
        }
    }

    /// Adds a connection to those that wait for a request.
    func wait(_ channel: any Channel) { state.withLock { $0.waiting[ObjectIdentifier(channel)] = (channel, .now()) } }

    func stopWaiting(_ channel: any Channel) { state.withLock { $0.waiting[ObjectIdentifier(channel)] = nil } }
}

/// Hummingbird's HTTP/1.1, with a ``ConnectionHandler`` in every connection.
struct LimitedHTTPChannel: ServerChildChannel {
    let http: HTTP1Channel
    let pool: ConnectionPool

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<HTTP1Channel.Value> {
        http.setup(channel: channel, logger: logger).flatMapThrowing { value in
            let pipeline = channel.pipeline.syncOperations
            let decoder = try pipeline.handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self)
            try pipeline.addHandler(ConnectionHandler(pool: pool), position: .after(decoder))
            return value
        }
    }

    func handle(value: HTTP1Channel.Value, logger: Logger) async { await http.handle(value: value, logger: logger) }
}

/// Enforces the limits on one connection: refuses it above the limit, and closes it if the client keeps the server waiting.
///
/// It sits right behind NIO's decoder. Hummingbird's own idle timeout restarts with every part of a body, and ignores responses
/// that the client does not read.
final class ConnectionHandler: ChannelDuplexHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    private let pool: ConnectionPool
    private var admission: ConnectionPool.Admission?
    /// Fully received requests minus fully written responses. Negative after a response that was written before its request had
    /// ended.
    private var unanswered = 0
    /// Runs while the server waits for the client.
    private var timer: Scheduled<Void>?
    /// Whether input is discarded, because the connection was already refused.
    private var ignoresInput = false

    init(pool: ConnectionPool) { self.pool = pool }

    // MARK: - Opening and closing

    func channelActive(context: ChannelHandlerContext) {
        admission = pool.admit()
        if case .refused(let lingers) = admission {
            refuse(context, lingers: lingers)
        } else {
            context.channel.giveUpOnVanishedPeers(after: pool.limits.timeout)
            turnMayHaveChanged(context)
        }
        context.fireChannelActive()
    }

    func channelInactive(context: ChannelHandlerContext) {
        endTurn(context)
        if let admission { pool.left(admission) }
        admission = nil
        context.fireChannelInactive()
    }

    /// Responds without waiting for a request, to free the connection soon. Closing a connection with unread input resets it,
    /// and the client may never see the response: so it lingers, if there is room for that.
    private func refuse(_ context: ChannelHandlerContext, lingers: Bool) {
        ignoresInput = true
        let headers: HTTPHeaders = ["Retry-After": "1", "Connection": "close", "Content-Length": "0"]
        let head = HTTPResponseHead(version: .http1_1, status: .serviceUnavailable, headers: headers)
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        guard lingers else { return context.close(promise: nil) }
        context.close(mode: .output, promise: nil)
        close(context, after: pool.limits.linger) {}
    }

    // MARK: - Whose turn it is

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !ignoresInput else { return }
        switch unwrapInboundIn(data) {
        case .head(let head) where !head.hasValidHost:
            ignoresInput = true
            // Hummingbird treats it like malformed HTTP: it responds 400 and closes the connection.
            context.fireErrorCaught(HTTPParserError.invalidHeaderToken)
            return
        case .end:
            unanswered += 1
            turnMayHaveChanged(context)
        case .head, .body: break
        }
        context.fireChannelRead(data)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if case .end = unwrapOutboundIn(data) {
            unanswered -= 1
            turnMayHaveChanged(context)
        }
        context.write(data, promise: promise)
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        turnMayHaveChanged(context)
        context.fireChannelWritabilityChanged()
    }

    /// Restarts the timer if the server waits for the client: for a request, also while its body trickles in, or for the client to
    /// read a response. Only the end of a request or response leads here; a part of one does not.
    private func turnMayHaveChanged(_ context: ChannelHandlerContext) {
        guard case .served = admission else { return }
        endTurn(context)
        let awaitsRequest = unanswered <= 0
        guard awaitsRequest || !context.channel.isWritable else { return }
        close(context, after: pool.limits.timeout) { [pool] in pool.metrics.slow.increment() }
        if awaitsRequest { pool.wait(context.channel) }
    }

    private func endTurn(_ context: ChannelHandlerContext) {
        timer?.cancel()
        timer = nil
        pool.stopWaiting(context.channel)
    }

    private func close(_ context: ChannelHandlerContext, after delay: Duration, _ onTimeout: @escaping () -> Void) {
        timer = context.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(delay)) {
            onTimeout()
            context.close(promise: nil)
        }
    }
}

extension Channel {
    /// Lets the system close the connection if the peer acknowledges nothing for this long. Otherwise TCP notices a vanished peer
    /// only after a quarter of an hour.
    fileprivate func giveUpOnVanishedPeers(after timeout: Duration) {
        #if os(Linux)
            let milliseconds = SocketOptionValue(timeout / .milliseconds(1))
            // Best effort: without the option TCP's own timeout applies.
            try? syncOptions?.setOption(.tcpOption(.init(rawValue: TCP_USER_TIMEOUT)), value: milliseconds)
        #endif
    }
}

extension HTTPRequestHead {
    /// Whether it has exactly one valid `Host`, or none in HTTP/1.0: RFC 9112, section 3.2. Otherwise a proxy and the server may
    /// see different hosts.
    fileprivate var hasValidHost: Bool {
        let hosts = headers["Host"]
        guard let host = hosts.first else { return version == .http1_0 }
        // What RFC 3986 allows in a host name, an IP address or a port.
        return hosts.count == 1
            && host.unicodeScalars.allSatisfy { scalar in
                switch scalar {
                case "a"..."z", "A"..."Z", "0"..."9": true
                default: "-._~%!$&'()*+,;=:[]".unicodeScalars.contains(scalar)
                }
            }
    }
}
