import NIOCore

/// Splits a byte stream into requests or responses, each including the four bytes of its length.
struct FrameDecoder: ByteToMessageDecoder {
    typealias InboundOut = ByteBuffer

    /// Larger than any fetch of the service.
    private static let longest = 256 << 20

    mutating func decode(context: ChannelHandlerContext, buffer: inout ByteBuffer) throws -> DecodingState {
        guard let length = buffer.getInteger(at: buffer.readerIndex, as: Int32.self) else { return .needMoreData }
        guard length >= 0, length <= Self.longest else { throw WireError() }
        guard let frame = buffer.readSlice(length: 4 + Int(length)) else { return .needMoreData }
        context.fireChannelRead(wrapInboundOut(frame))
        return .continue
    }
}

/// Receives the events of a connection.
protocol FrameReceiver: AnyObject {
    func received(_ frame: ByteBuffer)
    func closed()
    /// The connection became writable or stopped being writable.
    func writabilityChanged()
}

/// The end of a connection's pipeline, which passes all events to its receiver.
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
    /// Delivers all frames of the connection to a receiver. Call it on the event loop.
    func deliver(to receiver: any FrameReceiver) throws {
        try pipeline.syncOperations.addHandlers(ByteToMessageHandler(FrameDecoder()), FrameHandler(receiver: receiver))
    }
}
