import Dispatch
import JuiceMessages
import Kafka
import Logging
import Synchronization

/// Produces the commands of all pages with one producer, on a thread of its own.
///
/// A sender waits for the broker's acknowledgement, which takes a round trip.
final class CommandProducer: Sendable {
    private static let mostInFlight = 1000

    private typealias Sender = CheckedContinuation<Void, any Error>

    private struct State {
        var waiting: [(PostedCommand, Sender)] = []
        var inFlight = 0
        var isBroken = false
        var isClosed = false
    }

    private let configuration: KioskConfiguration
    private let metrics: KioskMetrics
    private let logger: Logger
    private let state = Mutex(State())
    /// Left while commands are in flight.
    private let idleness = DispatchGroup()
    private let unconfirmed: SpacedWarnings

    init(_ configuration: KioskConfiguration, metrics: KioskMetrics, logger: Logger) {
        (self.configuration, self.metrics, self.logger) = (configuration, metrics, logger)
        unconfirmed = SpacedWarnings(logger, every: .seconds(60))
        idleness.enter()
    }

    deinit { if state.withLock(\.inFlight) == 0 { idleness.leave() } }

    /// Why brokers have lately not confirmed commands, a sentence for each reason.
    var warnings: [String] { unconfirmed.current }

    /// Returns once a broker has acknowledged the command.
    ///
    /// - Throws: ``Refusal``. An unconfirmed command may have been written all the same, so the page sends it again under the same
    ///   id.
    func send(_ command: PostedCommand) async throws {
        try await withCheckedThrowingContinuation { (sender: Sender) in
            let isTaken = state.withLock { state in
                guard !state.isClosed, state.inFlight < Self.mostInFlight else { return false }
                if state.inFlight == 0 { idleness.leave() }
                state.inFlight += 1
                state.waiting.append((command, sender))
                return true
            }
            if !isTaken { sender.resume(throwing: Refusal.busy) }
        }
    }

    /// Sends until the stop is requested, then abandons what is in flight. Needs a thread of its own.
    func run(until stop: StopSignal, steps: ThreadWatchdog) throws {
        var (producer, generation) = (try producer(), configuration.credentials.generation)
        while !stop.isRequested {
            steps.stepped("the sender of orders")
            // With nothing in flight there are no delivery reports to poll for.
            idleness.hasEnded(within: .milliseconds(100))
            for (command, sender) in takeWaiting() { send(command, with: producer, sender) }
            producer.poll(timeout: .milliseconds(5))
            guard state.withLock({ $0.isBroken }) || generation != configuration.credentials.generation else { continue }
            (producer, generation) = (try self.producer(), configuration.credentials.generation)
            state.withLock { $0.isBroken = false }
        }
        state.withLock { $0.isClosed = true }
        for (_, sender) in takeWaiting() { sender.resume(throwing: Refusal.busy) }
        // Destroying the producer completes what is still in flight.
    }

    private func producer() throws(KafkaError) -> Producer {
        try Producer(
            configuration: configuration.orders.merging(configuration.credentials.properties),
            hooks: ClientHooks(logger: logger, logCeiling: .debug))
    }

    private func takeWaiting() -> [(PostedCommand, Sender)] {
        state.withLock { state in
            defer { state.waiting = [] }
            return state.waiting
        }
    }

    private func send(_ command: PostedCommand, with producer: Producer, _ sender: Sender) {
        let finish: (Result<Producer.Delivery, KafkaError>) -> Void = { [self] result in
            state.withLock { state in
                state.inFlight -= 1
                if state.inFlight == 0 { idleness.enter() }
            }
            switch result {
            case .success:
                metrics.commands(command.kind, isConfirmed: true).increment()
                sender.resume()
            case .failure(let error):
                if error.isFatal || error.code == .fatal { state.withLock { $0.isBroken = true } }
                metrics.commands(command.kind, isConfirmed: false).increment()
                // Commands abandoned at the end cause no warning.
                if !state.withLock(\.isClosed) {
                    unconfirmed.warn("commands are not confirmed: \(error); see docs/OPERATIONS.md#juicekioskunconfirmed")
                }
                sender.resume(throwing: Refusal.unconfirmed(error.message))
            }
        }
        do throws(KafkaError) {
            try producer.produce(
                topic: configuration.topics[command.kind.topic], key: Array(command.store.utf8), value: command.value,
                completion: finish)
        } catch { finish(.failure(error)) }
    }
}
