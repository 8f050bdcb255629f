import Dispatch
import JuiceMessages
import Kafka
import Logging
import Synchronization

/// Produces the commands of all pages with one producer, on a thread of its own.
///
/// A sender waits for the broker's acknowledgement, which takes a round trip.
final class CommandProducer: Sendable {
    /// Why a send failed. An unconfirmed command may have been written all the same, so the page sends it again under the same id.
    enum Failure: Error, Equatable {
        /// Too many commands are in flight, or the kiosk is closing.
        case busy
        /// No broker acknowledged it.
        case unconfirmed(String)
    }

    /// The most commands in flight.
    private static let mostInFlight = 1000

    private typealias Completion = @Sendable (Result<Producer.Delivery, Failure>) -> Void

    private struct State {
        var waiting: [(OutgoingCommand, Completion)] = []
        var inFlight = 0
        var isClosed = false
    }

    private let configuration: KafkaConfiguration
    private let topics: TopicNames
    private let logger: Logger
    private let state = Mutex(State())
    private let wake = DispatchSemaphore(value: 0)

    init(configuration: KafkaConfiguration, topics: TopicNames, logger: Logger) {
        (self.configuration, self.topics, self.logger) = (configuration, topics, logger)
    }

    /// - Throws: ``Failure``.
    func send(_ command: OutgoingCommand) async throws -> Producer.Delivery {
        try await withCheckedThrowingContinuation { continuation in
            let isTaken = state.withLock { state in
                guard !state.isClosed, state.inFlight < Self.mostInFlight else { return false }
                state.inFlight += 1
                state.waiting.append((command, { continuation.resume(with: $0.mapError { $0 as any Error }) }))
                return true
            }
            if isTaken { wake.signal() } else { continuation.resume(throwing: Failure.busy) }
        }
    }

    /// Sends until the stop is requested, then abandons what is in flight. Needs a thread of its own.
    ///
    /// - Throws: `KafkaError` if librdkafka rejects the configuration.
    func run(until stop: StopSignal, steps: ThreadWatchdog) throws {
        var client = try Client(configuration, logger)
        while !stop.isRequested {
            steps.stepped("the sender of orders")
            // With nothing in flight there are no delivery reports to poll for.
            if state.withLock({ $0.inFlight }) == 0 { _ = wake.wait(timeout: .now() + .milliseconds(100)) }
            for (command, complete) in takeWaiting() { send(command, with: client, complete) }
            client.producer.poll(timeout: .milliseconds(5))
            if client.isBroken { client = try Client(configuration, logger) }
        }
        state.withLock { $0.isClosed = true }
        for (_, complete) in takeWaiting() { complete(.failure(.busy)) }
        // Destroying the producer completes what is still in flight.
    }

    private func takeWaiting() -> [(OutgoingCommand, Completion)] {
        state.withLock { state in
            defer { state.waiting = [] }
            return state.waiting
        }
    }

    private func send(_ command: OutgoingCommand, with client: Client, _ complete: @escaping Completion) {
        // Weak, or what is in flight would keep a broken producer from its end.
        let finish: (Result<Producer.Delivery, KafkaError>) -> Void = { [self, weak client] result in
            if case .failure(let error) = result, error.isFatal || error.code == .fatal { client?.isBroken = true }
            state.withLock { $0.inFlight -= 1 }
            complete(result.mapError { .unconfirmed($0.message) })
        }
        do throws(KafkaError) {
            try client.producer.produce(
                topic: topics[command.kind.topic], key: Array(command.store.utf8), value: command.value, completion: finish)
        } catch { finish(.failure(error)) }
    }

    /// A producer and whether it had a fatal error. Delivery reports arrive inside the producer's calls, so it stays on one thread.
    private final class Client {
        let producer: Producer
        var isBroken = false

        init(_ configuration: KafkaConfiguration, _ logger: Logger) throws(KafkaError) {
            producer = try Producer(configuration: configuration, hooks: ClientHooks(logger: logger, logCeiling: .debug))
        }
    }
}
