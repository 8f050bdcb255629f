import NIOCore

/// Cuts what comes over a connection into requests or answers, each with the four bytes of its length.
struct FrameDecoder: ByteToMessageDecoder {
    typealias InboundOut = ByteBuffer

    /// More than any fetch that the service asks for.
    private static let longest = 256 << 20

    mutating func decode(context: ChannelHandlerContext, buffer: inout ByteBuffer) throws -> DecodingState {
        guard let length = buffer.getInteger(at: buffer.readerIndex, as: Int32.self) else {
            return .needMoreData
        }
        guard length >= 0, length <= Self.longest else { throw WireError() }
        guard let frame = buffer.readSlice(length: 4 + Int(length)) else { return .needMoreData }
        context.fireChannelRead(wrapInboundOut(frame))
        return .continue
    }
}

/// Who takes what comes over a connection.
protocol FrameReceiver: AnyObject {
    func received(_ frame: ByteBuffer)
    func closed()
    /// It became possible to write more, or impossible.
    func writabilityChanged()
}

/// The end of a connection's pipeline: hands everything to its receiver.
final class FrameHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let receiver: any FrameReceiver

    init(receiver: any FrameReceiver) { self.receiver = receiver }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        receiver.received(unwrapInboundIn(data))
    }

    func channelInactive(context: ChannelHandlerContext) {
        receiver.closed()
        context.fireChannelInactive()
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        receiver.writabilityChanged()
        context.fireChannelWritabilityChanged()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }
}

extension Channel {
    /// Has everything that comes over the connection handed to a receiver. To be called on the event loop.
    func deliver(to receiver: any FrameReceiver) throws {
        try pipeline.syncOperations.addHandlers(
            ByteToMessageHandler(FrameDecoder()),
            FrameHandler(receiver: receiver)
        )
    }
}
