import NIOCore
import NIOHTTP1
import NIOHTTPTypesHTTP1

/// Ends a connection after the answer to a request that asks for it or uses HTTP/1.0 (RFC 9112, 9.3). An HTTP/1.0 request is
/// answered in its version, without chunks.
///
/// Hummingbird recognizes only the exact value "close" of the header, and does not learn the version.
final class LastRequestHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart

    /// The version for the answer to the last request, once that has begun.
    private var version: HTTPVersion?
    /// Whether the last request has been received. What follows it is dropped.
    private var isReceived = false
    /// Requests that have begun minus responses that have ended. Earlier pipelined requests are answered before the last one.
    private var unanswered = 0

    /// Adds the handler where requests still have a version.
    static func add(to context: ChannelHandlerContext) throws {
        let pipeline = context.pipeline.syncOperations
        let codec = try pipeline.handler(type: HTTP1ToHTTPServerCodec.self)
        try pipeline.addHandler(LastRequestHandler(), position: .before(codec))
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isReceived else { return }
        var part = unwrapInboundIn(data)
        switch part {
        case .head(var head):
            unanswered += 1
            guard !head.isKeepAlive || head.version == .http1_0 else { break }
            version = head.version == .http1_0 ? .http1_0 : .http1_1
            head.headers.replaceOrAdd(name: "connection", value: "close")
            part = .head(head)
        case .body: break
        case .end: isReceived = version != nil
        }
        context.fireChannelRead(NIOAny(part))
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        var part = unwrapOutboundIn(data)
        switch part {
        case .head(var head):
            guard let version, unanswered == 1 else { break }
            head.version = version
            head.headers.replaceOrAdd(name: "connection", value: "close")
            part = .head(head)
        case .body: break
        case .end: unanswered -= 1
        }
        context.write(NIOAny(part), promise: promise)
    }
}
