import NIOCore
import NIOPosix
import Synchronization

/// A client's connection through the proxy, with its own connection to the broker.
///
/// Requests and responses pass in order; a fault or a wait delays those behind it.
final class ClientConnection: Sendable {
    private struct State {
        /// Requests that the broker has not answered yet.
        var forwarded = CircularBuffer<(request: Request, fault: Fault)>()
        /// Whether the client's half is open.
        var isOpen = true
    }

    private let client: FrameChannel
    private let address: BrokerAddress
    private let network: FaultyNetwork
    private let state = Mutex(State())

    /// How long to wait for responses after the client's half has closed: they show the outcome of transactions.
    private static let lastResponses = TimeAmount.seconds(10)

    init(_ client: FrameChannel, to address: BrokerAddress, network: FaultyNetwork) {
        (self.client, self.address, self.network) = (client, address, network)
    }

    /// Passes requests and responses until both halves are closed.
    func run() async {
        try? await client.executeThenClose { requests, toClient in
            let broker = try await network.connect(to: address)
            try await broker.executeThenClose { responses, toBroker in
                async let end: Void = passResponses(responses, to: toClient)
                try? await pass(requests, to: toBroker)
                closeClient()
                let patience = state.withLock { $0.forwarded.isEmpty ? .zero : Self.lastResponses }
                broker.channel.eventLoop.scheduleTask(in: patience) { broker.channel.close(promise: nil) }
                await end
            }
        }
    }

    private func closeClient() {
        state.withLock { $0.isOpen = false }
        client.channel.close(promise: nil)
    }

    /// Ends when the client closes its connection, or when a fault does.
    private func pass(
        _ requests: NIOAsyncChannelInboundStream<ByteBuffer>, to broker: NIOAsyncChannelOutboundWriter<ByteBuffer>
    ) async throws {
        for try await frame in requests {
            let request = try Request(frame: frame)
            let fault = network.fault(for: request)
            switch fault {
            case .cut: return
            case .holdBack(let moment): return network.forward(request, frame, to: address, at: moment)
            case .delayRequest(let delay): try await Task.sleep(for: delay)
            case .none, .dropResponse, .delayResponse, .replay: break
            }
            await network.clear(request)
            if case .replay(let moment) = fault { network.forward(request, frame, to: address, at: moment) }
            state.withLock { $0.forwarded.append((request, fault)) }
            try await broker.write(frame)
        }
    }

    /// Ends when the broker closes its connection, or with the last response once the client's half is closed.
    private func passResponses(
        _ responses: NIOAsyncChannelInboundStream<ByteBuffer>, to client: NIOAsyncChannelOutboundWriter<ByteBuffer>
    ) async {
        defer { closeClient() }
        do {
            for try await frame in responses {
                let correlationID = frame.getInteger(at: frame.readerIndex + 4, as: Int32.self)
                guard let (request, fault) = state.withLock({ $0.forwarded.popFirst() }), request.correlationID == correlationID
                else { return }
                network.answered(request, frame)
                switch fault {
                case .dropResponse, .replay: closeClient()
                case .delayResponse(let delay): try await Task.sleep(for: delay)
                case .none, .cut, .holdBack, .delayRequest: break
                }
                if state.withLock({ $0.isOpen }) {
                    // It may have closed meanwhile.
                    do { try await client.write(network.rewritten(frame, to: request)) } catch { closeClient() }
                }
                if state.withLock({ !$0.isOpen && $0.forwarded.isEmpty }) { return }
            }
        } catch {}
    }
}

/// Splits a byte stream into requests or responses, each including the four bytes of its length.
struct FrameDecoder: ByteToMessageDecoder {
    typealias InboundOut = ByteBuffer

    /// Larger than any fetch.
    private static let longest = 256 << 20

    mutating func decode(context: ChannelHandlerContext, buffer: inout ByteBuffer) throws -> DecodingState {
        guard let length = buffer.getInteger(at: buffer.readerIndex, as: Int32.self) else { return .needMoreData }
        guard length >= 0, length <= Self.longest else { throw WireError() }
        guard let frame = buffer.readSlice(length: 4 + Int(length)) else { return .needMoreData }
        context.fireChannelRead(wrapInboundOut(frame))
        return .continue
    }

    /// The frames of a connection. Call it on the connection's event loop.
    static func frames(of channel: any Channel) throws -> FrameChannel {
        try channel.pipeline.syncOperations.addHandler(ByteToMessageHandler(Self()))
        return try FrameChannel(wrappingChannelSynchronously: channel)
    }
}
