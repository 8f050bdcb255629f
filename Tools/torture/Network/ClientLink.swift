import NIOCore

/// A client's connection through the proxy: the client's half, which may be closed on purpose, and the broker's half. Use it on
/// its event loop.
///
/// Requests are forwarded and responses delivered in order; a fault or a wait delays those behind it.
final class ClientLink: FrameReceiver {
    private struct Waiting {
        let request: Request
        let frame: ByteBuffer
    }

    private struct Forwarded {
        let request: Request
        let fault: Fault
    }

    /// The place of a response in the order of delivery; it is delivered once it has its frame.
    private final class Slot { var frame: ByteBuffer? }

    private let client: any Channel
    private let address: BrokerAddress
    private let switchboard: Switchboard
    private let broker: BrokerConnection
    private var waiting = CircularBuffer<Waiting>()
    private var forwarded = CircularBuffer<Forwarded>()
    private var slots = CircularBuffer<Slot>()
    private var isBusy = false
    private var isOpen = true
    private var isReading = true

    /// The most requests or responses that wait here; beyond that, reading pauses.
    private static let mostWaiting = 64
    /// How long to wait for responses after the client's half has closed: they show the outcome of transactions.
    private static let lastAnswers = TimeAmount.seconds(10)

    init(client: any Channel, to address: BrokerAddress, switchboard: Switchboard) {
        self.client = client
        self.address = address
        self.switchboard = switchboard
        broker = BrokerConnection(to: address, on: switchboard.loop)
        broker.onEvent { [self] event in
            switch event {
            case .connected: forwardNext()
            case .answer(let frame): answered(frame)
            case .writabilityChanged: adjustReading()
            case .closed: close()
            }
        }
    }
}

// MARK: - Requests

extension ClientLink {
    func received(_ frame: ByteBuffer) {
        guard isOpen else { return }
        guard let request = try? Request(frame: frame) else { return close() }
        waiting.append(Waiting(request: request, frame: frame))
        forwardNext()
        adjustReading()
    }

    private func forwardNext() {
        guard isOpen, !isBusy, broker.isConnected, let next = waiting.first else { return }
        isBusy = true
        let fault = switchboard.fault(for: next.request)
        switch fault {
        case .cut:
            switchboard.count(.cut, of: next.request)
            close()
        case .holdBack(let moment):
            switchboard.count(.heldBack, of: next.request)
            switchboard.keep(next.request, next.frame, of: address, until: moment)
            close()
        case .delayRequest(let delay): switchboard.after(delay) { [self] in clear(next, fault) }
        case .none, .dropAnswer, .delayAnswer, .replay: clear(next, fault)
        }
    }

    /// Forwards the request after the late requests that have to arrive before it.
    private func clear(_ next: Waiting, _ fault: Fault) {
        guard isOpen else { return }
        switchboard.clear(next.request) { [self] in forward(next, fault) }
    }

    private func forward(_ next: Waiting, _ fault: Fault) {
        guard isOpen, broker.isConnected else { return }
        waiting.removeFirst()
        switch fault {
        case .delayRequest, .delayAnswer: switchboard.count(.delayed, of: next.request)
        case .dropAnswer: switchboard.count(.answerDropped, of: next.request)
        case .replay(let moment):
            switchboard.count(.replayed, of: next.request)
            switchboard.keep(next.request, next.frame, of: address, until: moment)
        case .none, .cut, .holdBack: switchboard.count(.passed, of: next.request)
        }
        if next.request.isAnswered { forwarded.append(Forwarded(request: next.request, fault: fault)) }
        broker.send(next.frame)
        isBusy = false
        adjustReading()
        forwardNext()
    }
}

// MARK: - Answers

extension ClientLink {
    private func answered(_ frame: ByteBuffer) {
        let correlationID = frame.getInteger(at: frame.readerIndex + 4, as: Int32.self)
        guard let forwarded = forwarded.popFirst(), forwarded.request.header.correlationID == correlationID else { return close() }
        switchboard.answered(forwarded.request, frame)
        guard isOpen else {
            if self.forwarded.isEmpty { broker.close() }
            return
        }
        let slot = Slot()
        slots.append(slot)
        switch forwarded.fault {
        case .dropAnswer, .replay: close()
        case .delayAnswer(let delay): switchboard.after(delay) { [self] in rewrite(frame, forwarded.request, slot) }
        default: rewrite(frame, forwarded.request, slot)
        }
        adjustReading()
    }

    /// Rewrites broker addresses and delivers the response. A broker that is seen for the first time gets a listener first.
    private func rewrite(_ frame: ByteBuffer, _ request: Request, _ slot: Slot) {
        guard isOpen else { return }
        do {
            slot.frame = try AnswerRewriter.rewrite(frame, to: request.header) { address throws in
                guard let listener = switchboard.listener(for: address) else { throw UnknownBroker(address: address) }
                return listener
            }
            deliver()
        } catch let error as UnknownBroker {
            switchboard.listen(for: error.address) { [self] isListening in
                if isListening { rewrite(frame, request, slot) } else { close() }
            }
        } catch {
            switchboard.report(problem: "an answer to \(request.key) of version \(request.header.version) cannot be read")
            close()
        }
    }

    private func deliver() {
        while let frame = slots.first?.frame {
            slots.removeFirst()
            client.writeAndFlush(frame, promise: nil)
        }
        adjustReading()
    }
}

/// A broker without a listener.
private struct UnknownBroker: Error { let address: BrokerAddress }

// MARK: - The connection

extension ClientLink {
    func closed() { close() }

    func writabilityChanged() { adjustReading() }

    /// Closes the client's half, and the broker's half after its last responses.
    private func close() {
        if isOpen {
            isOpen = false
            waiting.removeAll()
            slots.removeAll()
            client.close(promise: nil)
        }
        guard broker.isConnected, !forwarded.isEmpty else { return broker.close() }
        broker.setReading(true)
        switchboard.loop.assumeIsolated().scheduleTask(in: Self.lastAnswers) { [broker] in broker.close() }
    }

    /// Reads no more from one side than the other side accepts: a frozen client makes the broker wait instead of filling the
    /// proxy's memory.
    private func adjustReading() {
        guard isOpen else { return }
        broker.setReading(client.isWritable && slots.count < Self.mostWaiting)
        let reads = waiting.count < Self.mostWaiting && (broker.isWritable || !broker.isConnected)
        guard reads != isReading else { return }
        isReading = reads
        client.setReading(reads)
    }
}
