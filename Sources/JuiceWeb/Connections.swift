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
    /// The most connections served at once. Another one displaces an idle connection, or is closed.
    package let connections: Int
    /// How long a client may take to send a whole request, or to read a part of a waiting response.
    var timeout = Duration.seconds(30)
    /// At the limit, the connection that has been idle longest is displaced if it has been idle for at least this long.
    var minimumIdleTime = Duration.seconds(1)

    /// Limits that use at most a fraction of the files that the process may open: one divided by `parts`.
    init(most: Int, parts: Int, of files: Int) { connections = max(1, min(most, files / parts)) }

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
            HTTP connections that the server closed: refused above the limit, displaced by another while idle, or too slow to \
            send a request or to read a response.
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
    private struct State {
        var served = 0
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

    /// Takes a new connection in, at the limit in place of the one that has waited longest. False if none has waited long enough.
    func admit() -> Bool {
        let (isServed, idle): (Bool, (any Channel)?) = state.withLock { state in
            var idle: (any Channel)?
            if state.served >= limits.connections {
                idle = state.removeFirst(waitingSince: .now() - TimeAmount(limits.minimumIdleTime))
                guard idle != nil else { return (false, nil) }
            }
            state.served += 1
            metrics.connections.record(state.served)
            return (true, idle)
        }
        if !isServed { metrics.refused.increment() }
        if let idle {
            metrics.displaced.increment()
            idle.close(promise: nil)
        }
        return isServed
    }

    /// Releases a connection that was taken in.
    func left() {
        state.withLock { state in
            state.served -= 1
            metrics.connections.record(state.served)
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

/// Enforces the limits on one connection: closes it above the limit, and if the client keeps the server waiting.
///
/// It sits right behind NIO's decoder. Hummingbird's own idle timeout restarts with every part of a body, and ignores responses
/// that the client does not read.
final class ConnectionHandler: ChannelDuplexHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    private let pool: ConnectionPool
    private var isServed = false
    /// Fully received requests minus fully written responses. Negative after a response that was written before its request had
    /// ended.
    private var unanswered = 0
    /// Runs while the server waits for the client.
    private var timer: Scheduled<Void>?
    /// Whether input is discarded, because a request was malformed.
    private var ignoresInput = false

    init(pool: ConnectionPool) { self.pool = pool }

    // MARK: - Opening and closing

    func channelActive(context: ChannelHandlerContext) {
        isServed = pool.admit()
        if isServed {
            context.channel.giveUpOnVanishedPeers(after: pool.limits.timeout)
            turnMayHaveChanged(context)
        } else {
            context.close(promise: nil)
        }
        context.fireChannelActive()
    }

    func channelInactive(context: ChannelHandlerContext) {
        endTurn(context)
        if isServed { pool.left() }
        isServed = false
        context.fireChannelInactive()
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
        guard isServed else { return }
        endTurn(context)
        let awaitsRequest = unanswered <= 0
        guard awaitsRequest || !context.channel.isWritable else { return }
        timer = context.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(pool.limits.timeout)) { [pool] in
            pool.metrics.slow.increment()
            context.close(promise: nil)
        }
        if awaitsRequest { pool.wait(context.channel) }
    }

    private func endTurn(_ context: ChannelHandlerContext) {
        timer?.cancel()
        timer = nil
        pool.stopWaiting(context.channel)
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
