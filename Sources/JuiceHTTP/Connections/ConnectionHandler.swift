import Foundation
import NIOCore
import NIOHTTP1

/// Keeps one connection within its limits: refuses one too many, and closes one whose other end keeps the server waiting.
///
/// Stands right behind NIO's decoder. Hummingbird's own idle timeout begins anew with every piece of a body, and does not look at
/// answers that nobody reads.
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
    /// Runs while it is the other end's turn.
    private var timer: Scheduled<Void>?
    /// Says to the pool that the connection waits for a request.
    private var ticket: UInt64?
    /// Whether what comes is thrown away: it is answered already.
    private var ignoresInput = false

    init(pool: ConnectionPool, limits: ConnectionLimits, metrics: HTTPMetrics) {
        (self.pool, self.limits, self.metrics) = (pool, limits, metrics)
    }

    // MARK: - Beginning and end

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

    /// Answers without waiting for a request, so that it takes no longer than it must. A connection that is closed while something
    /// is unread is reset, and its peer may never see the answer: hence the wait, if there is room for it.
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
            // Hummingbird answers it as it does what is no HTTP: with 400, and the connection ends.
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

    /// The other end's turn begins anew with whatever ends one. A part of a request ends none.
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

    private func closing(
        _ context: ChannelHandlerContext,
        after delay: Duration,
        _ note: @escaping () -> Void
    ) -> Scheduled<Void> {
        context.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(delay)) {
            note()
            context.close(promise: nil)
        }
    }
}

extension Channel {
    /// Has the system give up a connection whose other end has confirmed nothing for so long: it may be gone without a word, which
    /// otherwise shows only after a quarter of an hour.
    fileprivate func giveUpOnVanishedPeers(after timeout: Duration) {
        #if os(Linux)
            let milliseconds = SocketOptionValue(timeout / .milliseconds(1))
            // Where it cannot be set, the quarter of an hour it is.
            try? syncOptions?.setOption(.tcpOption(.init(rawValue: TCP_USER_TIMEOUT)), value: milliseconds)
        #endif
    }
}
