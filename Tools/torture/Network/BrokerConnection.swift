import NIOCore
import NIOPosix

/// A connection of the proxy to a broker. Use it on its event loop.
final class BrokerConnection: FrameReceiver {
    enum Event {
        case connected
        case answer(ByteBuffer)
        case writabilityChanged
        /// The broker closed it, or could not be reached. This is the last event.
        case closed
    }

    private var channel: (any Channel)?
    private var isClosed = false
    private var isReading = true
    private var receive: ((Event) -> Void)?

    init(to address: BrokerAddress, on loop: any EventLoop) {
        let bound = NIOLoopBound(self, eventLoop: loop)
        ClientBootstrap(group: loop).channelOption(.tcpOption(.tcp_nodelay), value: 1).connectTimeout(.seconds(5))
            .channelInitializer { channel in channel.eventLoop.makeCompletedFuture { try channel.deliver(to: bound.value) } }
            .connect(host: address.host, port: address.port).whenComplete { result in
                switch result {
                case .success(let channel): bound.value.opened(channel)
                case .failure: bound.value.closed()
                }
            }
    }

    /// Sets the receiver of events.
    func onEvent(_ receive: @escaping (Event) -> Void) { self.receive = receive }

    var isConnected: Bool { channel != nil && !isClosed }
    var isWritable: Bool { channel?.isWritable ?? false }

    func send(_ frame: ByteBuffer) { channel?.writeAndFlush(frame, promise: nil) }

    /// Resumes or pauses reading. While it is paused, TCP's flow control makes the broker wait.
    func setReading(_ isReading: Bool) {
        guard isReading != self.isReading else { return }
        self.isReading = isReading
        channel?.setReading(isReading)
    }

    func close() {
        channel?.close(promise: nil)
        isClosed = true
        receive = nil
    }

    private func opened(_ channel: any Channel) {
        guard !isClosed else { return channel.close(promise: nil) }
        self.channel = channel
        channel.setReading(isReading)
        receive?(.connected)
    }

    func received(_ frame: ByteBuffer) { receive?(.answer(frame)) }

    func writabilityChanged() { receive?(.writabilityChanged) }

    func closed() {
        guard !isClosed else { return }
        isClosed = true
        receive?(.closed)
        receive = nil
    }
}

extension Channel {
    /// Resumes or pauses reading. Call it on the event loop.
    func setReading(_ isReading: Bool) { try? syncOptions?.setOption(.autoRead, value: isReading) }
}
