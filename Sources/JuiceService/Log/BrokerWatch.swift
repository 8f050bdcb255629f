import Kafka
import Logging
import Synchronization

/// Whether the cluster can be reached, told in one log line per change.
///
/// librdkafka reconnects by itself and says nothing when it succeeds, so whoever finds the cluster answering again
/// calls ``reached()``.
final class BrokerWatch: Sendable {
    private let bootstrapServers: String
    private let logger: Logger
    private let isDown = Mutex(false)

    init(bootstrapServers: String, logger: Logger) {
        self.bootstrapServers = bootstrapServers
        self.logger = logger
    }

    /// Whether the cluster could not be reached when last tried.
    var isUnreachable: Bool { isDown.withLock { $0 } }

    /// Takes note of an error that a client met.
    func noticed(_ error: KafkaError) {
        switch error.code {
        case .allBrokersDown, .timedOut:
            guard change(toDown: true) else { return }
            logger.warning("no Kafka broker answers at \(bootstrapServers); waiting for one")
        case .authentication, .ssl:
            guard change(toDown: true) else { return }
            logger.error("\(bootstrapServers) refuses the connection: \(error.message); trying again")
        case .resolve:
            guard change(toDown: true) else { return }
            logger.warning("\(error.message); trying again")
        default:
            // A single broken connection, which is being mended; or what the next call reports anyway.
            logger.debug("\(error)")
        }
    }

    /// Takes note that a request failed for now, whatever the client itself noticed.
    func failed(_ error: KafkaError) {
        noticed(error)
        guard change(toDown: true) else { return }
        logger.warning("\(bootstrapServers) does not answer: \(error.message); waiting")
    }

    /// Takes note that the cluster answered.
    func reached() {
        if change(toDown: false) { logger.notice("Kafka answers at \(bootstrapServers) again") }
    }

    private func change(toDown: Bool) -> Bool {
        isDown.withLock { isDown in
            defer { isDown = toDown }
            return isDown != toDown
        }
    }
}
