import Dispatch
import JuiceMessages
import Kafka
import Logging
import Synchronization

/// Hands commands to Kafka, for all pages with one producer.
///
/// Whoever sends waits until it is written, which takes a round trip to the broker. The producer has a thread of its own.
final class OrderDesk: Sendable {
    /// Why a command may not be written. It may be all the same, if it was handed over: the page sends it again.
    enum Failure: Error, Equatable {
        /// Too many are under way, or the kiosk closes.
        case busy
        /// No broker confirmed it.
        case unconfirmed(String)
    }

    /// How many commands may be under way.
    private static let most = 1000

    private typealias Completion = @Sendable (Result<Producer.Delivery, Failure>) -> Void

    private struct State {
        var waiting: [(OutgoingCommand, Completion)] = []
        var underWay = 0
        var isClosed = false
    }

    private let configuration: KafkaConfiguration
    private let topics: TopicNames
    private let logger: Logger
    private let state = Mutex(State())
    private let wake = DispatchSemaphore(value: 0)

    init(configuration: KafkaConfiguration, topics: TopicNames, logger: Logger) {
        self.configuration = configuration
        self.topics = topics
        self.logger = logger
    }

    /// Sends a command and waits for its confirmation.
    func send(_ command: OutgoingCommand) async throws -> Producer.Delivery {
        try await withCheckedThrowingContinuation { continuation in
            let isTaken = state.withLock { state in
                guard !state.isClosed, state.underWay < Self.most else { return false }
                state.underWay += 1
                state.waiting.append(
                    (command, { continuation.resume(with: $0.mapError { $0 as any Error }) })
                )
                return true
            }
            if isTaken { wake.signal() } else { continuation.resume(throwing: Failure.busy) }
        }
    }

    /// Sends until the stop is requested, and then lets go of what is under way. For a thread of its own.
    ///
    /// - Throws: when librdkafka refuses the configuration.
    func run(until stop: StopSignal, steps: StepWatch) throws {
        var client = try Client(configuration, logger)
        while !stop.isRequested {
            steps.stepped("the sender of orders")
            // While nothing is under way there is nothing to poll for.
            if state.withLock({ $0.underWay }) == 0 { _ = wake.wait(timeout: .now() + .milliseconds(100)) }
            for (command, complete) in takeWaiting() { send(command, with: client, complete) }
            client.producer.poll(timeout: .milliseconds(5))
            if client.health.isBroken { client = try Client(configuration, logger) }
        }
        state.withLock { $0.isClosed = true }
        for (_, complete) in takeWaiting() { complete(.failure(.busy)) }
        // Whatever is still under way is completed when the producer goes.
    }

    private func takeWaiting() -> [(OutgoingCommand, Completion)] {
        state.withLock { state in
            defer { state.waiting = [] }
            return state.waiting
        }
    }

    private func send(_ command: OutgoingCommand, with client: Client, _ complete: @escaping Completion) {
        let health = client.health
        let finish: (Result<Producer.Delivery, KafkaError>) -> Void = { [self] result in
            if case .failure(let error) = result { health.note(error) }
            state.withLock { $0.underWay -= 1 }
            complete(result.mapError { .unconfirmed($0.message) })
        }
        do throws(KafkaError) {
            try client.producer.produce(
                topic: topics[command.kind.topic],
                key: Array(command.store.utf8),
                value: command.value,
                completion: finish
            )
        } catch {
            finish(.failure(error))
        }
    }

    /// A producer and what became of it.
    private struct Client {
        let producer: Producer
        let health = Health()

        init(_ configuration: KafkaConfiguration, _ logger: Logger) throws(KafkaError) {
            producer = try Producer(
                configuration: configuration,
                hooks: ClientHooks(logger: logger, logCeiling: .debug)
            )
        }
    }

    /// Whether a producer met an error that it does not recover from; told inside its calls, on the same thread.
    private final class Health {
        private(set) var isBroken = false

        func note(_ error: KafkaError) {
            if error.isFatal || error.code == .fatal { isBroken = true }
        }
    }
}
