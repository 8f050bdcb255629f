import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP1

/// Hummingbird's HTTP/1.1, with a ``ConnectionHandler`` in every connection.
struct LimitedHTTPChannel: ServerChildChannel {
    let http: HTTP1Channel
    let pool: ConnectionPool
    let limits: ConnectionLimits
    let metrics: HTTPMetrics

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<HTTP1Channel.Value> {
        http.setup(channel: channel, logger: logger).flatMapThrowing { value in
            let pipeline = channel.pipeline.syncOperations
            let decoder = try pipeline.handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self)
            let handler = ConnectionHandler(pool: pool, limits: limits, metrics: metrics)
            try pipeline.addHandler(handler, position: .after(decoder))
            return value
        }
    }

    func handle(value: HTTP1Channel.Value, logger: Logger) async {
        await http.handle(value: value, logger: logger)
    }
}
