import Foundation
import NIOCore
import NIOHTTP1

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
    private let limits: ConnectionLimits
    private let metrics: HTTPMetrics
    private var admission: ConnectionPool.Admission?
    private var turn = ConnectionTurn()
    /// Runs while it is the client's turn.
    private var timer: Scheduled<Void>?
    /// Identifies the connection in the pool while it waits for a request.
    private var ticket: UInt64?
    /// Whether input is discarded, because the connection was already refused.
    private var ignoresInput = false

    init(pool: ConnectionPool, limits: ConnectionLimits, metrics: HTTPMetrics) {
        (self.pool, self.limits, self.metrics) = (pool, limits, metrics)
    }

    // MARK: - Opening and closing

    func channelActive(context: ChannelHandlerContext) {
        let admission = pool.admit()
        self.admission = admission
        switch admission {
        case .served:
            context.channel.giveUpOnVanishedPeers(after: limits.timeout)
            turnMayHaveChanged(context)
        case .refused(let lingers): refuse(context, lingers: lingers)
        }
        context.fireChannelActive()
    }

    func channelInactive(context: ChannelHandlerContext) {
        endTurn()
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
        timer = closing(context, after: limits.linger) {}
    }

    // MARK: - Turns

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !ignoresInput else { return }
        switch unwrapInboundIn(data) {
        case .head(let head) where !HostRule.allows(head):
            ignoresInput = true
            // Hummingbird treats it like malformed HTTP: it responds 400 and closes the connection.
            context.fireErrorCaught(HTTPParserError.invalidHeaderToken)
            return
        case .end:
            turn.requestEnded()
            turnMayHaveChanged(context)
        case .head, .body: break
        }
        context.fireChannelRead(data)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if case .end = unwrapOutboundIn(data) {
            turn.answerEnded()
            turnMayHaveChanged(context)
        }
        context.write(data, promise: promise)
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        turn.becameWritable(context.channel.isWritable)
        turnMayHaveChanged(context)
        context.fireChannelWritabilityChanged()
    }

    /// Restarts the timer if it is the client's turn. Only the end of a turn leads here; a part of a request does not.
    private func turnMayHaveChanged(_ context: ChannelHandlerContext) {
        guard case .served = admission else { return }
        endTurn()
        guard turn.isPeers else { return }
        timer = closing(context, after: limits.timeout) { [metrics] in metrics.ended(.slow) }
        if turn.awaitsRequest { ticket = pool.wait(context.channel) }
    }

    private func endTurn() {
        timer?.cancel()
        timer = nil
        if let ticket { pool.stopWaiting(ticket) }
        ticket = nil
    }

    private func closing(_ context: ChannelHandlerContext, after delay: Duration, _ onTimeout: @escaping () -> Void) -> Scheduled<
        Void
    > {
        context.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(delay)) {
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

/// Whose turn it is on a connection: the client's, to send a request or to read, or the server's, to respond.
struct ConnectionTurn: Equatable {
    /// Fully received requests minus fully written responses. Negative after a response that was written before its request had
    /// ended.
    private var unanswered = 0
    private var isWritable = true

    /// Whether no request is being processed.
    var awaitsRequest: Bool { unanswered <= 0 }
    /// Whether the server is waiting for the client: for a request, also while its body trickles in, or for the client to read a
    /// response.
    var isPeers: Bool { awaitsRequest || !isWritable }

    mutating func requestEnded() { unanswered += 1 }
    mutating func answerEnded() { unanswered -= 1 }
    mutating func becameWritable(_ isWritable: Bool) { self.isWritable = isWritable }
}
