import Logging
import Synchronization

/// Tracks whether the cluster answers, and logs one line per change.
///
/// librdkafka reports lost connections late and repeatedly, reconnects by itself, and does not report success. So its errors only
/// raise a suspicion, and a request to the cluster decides.
package final class BrokerWatch: Sendable {
    private enum State {
        case reachable
        /// A client reported this error. Whether the cluster answers is unknown until it is asked.
        case suspected(KafkaError)
        case unreachable
        /// A broker is up but refuses the connection, which has been logged.
        case refusing
    }

    /// How long after a recovery a failure may still stem from the outage.
    private static let recoveryWindow = Duration.seconds(2)

    private let bootstrapServers: String
    private let logger: Logger
    private let onOutage: @Sendable (String?) -> Void
    private let state = Mutex((now: State.reachable, recoveredAt: ContinuousClock.Instant?.none))

    /// - Parameters:
    ///   - bootstrapServers: for messages.
    ///   - onOutage: called with a sentence when the cluster stops answering, and with nil when it answers again. It must not block
    ///     or call the watch.
    package init(bootstrapServers: String, logger: Logger, onOutage: @escaping @Sendable (String?) -> Void = { _ in }) {
        (self.bootstrapServers, self.logger, self.onOutage) = (bootstrapServers, logger, onOutage)
    }

    /// A sentence about the outage while the cluster is known not to answer; otherwise nil.
    package var outage: String? {
        state.withLock {
            switch $0.now {
            case .reachable, .suspected: nil
            case .unreachable, .refusing: outageText
            }
        }
    }

    private var outageText: String { "no Kafka broker answers at \(bootstrapServers)" }

    /// Whether a client should ask the cluster for something, as ``probe(_:timeout:)`` does.
    package var needsProbe: Bool {
        state.withLock { if case .reachable = $0.now { false } else { true } }
    }

    /// A client has reported an error in the background.
    package func noticed(_ error: KafkaError) {
        logger.debug("\(error)")
        let isNews = state.withLock { state in
            switch state.now {
            case .reachable: state.now = .suspected(error)
            // A refusal says more than the broken connections that follow it.
            case .suspected where error.code.isRefusal: state.now = .suspected(error)
            case .unreachable where error.code.isRefusal:
                state.now = .refusing
                return true
            case .suspected, .unreachable, .refusing: break
            }
            return false
        }
        if isNews { log(error) }
    }

    package func failed(_ error: KafkaError) {
        let cause = state.withLock { state -> KafkaError? in
            // This request may be older than the recovery: ask again before reporting an outage.
            if let recoveredAt = state.recoveredAt, .now - recoveredAt < Self.recoveryWindow {
                state.now = .suspected(error)
                return nil
            }
            let cause: KafkaError
            switch state.now {
            case .reachable: cause = error
            case .suspected(let suspicion): cause = suspicion
            case .unreachable, .refusing: return nil
            }
            state.now = cause.code.isRefusal ? .refusing : .unreachable
            // Called under the lock, so that two changes cannot arrive in the wrong order.
            onOutage(outageText)
            return cause
        }
        if let cause { log(cause) }
    }

    private func log(_ cause: KafkaError) {
        if cause.code.isRefusal {
            logger.error("no connection to \(bootstrapServers): \(cause.message); trying again")
        } else if cause.code == .resolve {
            logger.warning("\(cause.message); trying again")
        } else if cause.suspectsConfiguration {
            logger.warning("no Kafka broker answers at \(bootstrapServers): \(cause.message); trying again")
        } else {
            logger.warning("no Kafka broker answers at \(bootstrapServers); waiting for one")
        }
    }

    /// Asks the cluster for something small, and returns why it does not answer; nil if it does. Asks a second time if the first
    /// fails: that request may have gone to the one broker that is down.
    @discardableResult
    package func probe(_ client: some MetadataClient, timeout: Duration = .milliseconds(500)) -> KafkaError? {
        var failure: KafkaError?
        for _ in 0..<2 {
            do throws(KafkaError) {
                _ = try client.metadata(topics: [], timeout: timeout)
                reached()
                return nil
            } catch { failure = error }
        }
        if let failure { failed(failure) }
        return failure
    }

    package func reached() {
        let wasUnreachable = state.withLock { state in
            defer { state.now = .reachable }
            switch state.now {
            case .reachable, .suspected: return false
            case .unreachable, .refusing: state.recoveredAt = .now
            }
            onOutage(nil)
            return true
        }
        if wasUnreachable { logger.notice("Kafka answers at \(bootstrapServers) again") }
    }

    /// Asks about topics until the cluster answers or `isWorthWaiting` returns false. Throws the error of the first topic that has
    /// one, too.
    package func metadata(
        of topics: [String], from client: some MetadataClient, while isWorthWaiting: () -> Bool
    ) throws(KafkaError) -> ClusterMetadata {
        while true {
            do throws(KafkaError) {
                let metadata = try client.metadata(topics: topics, timeout: .seconds(2))
                if let error = metadata.topics.lazy.compactMap(\.error).first { throw error }
                reached()
                return metadata
            } catch {
                guard error.remedy == .retry else { throw error }
                failed(error)
                guard isWorthWaiting() else { throw error }
            }
        }
    }
}

/// A client that can ask the cluster for metadata.
package protocol MetadataClient {
    func metadata(topics: [String], timeout: Duration) throws(KafkaError) -> ClusterMetadata
}

extension Admin: MetadataClient {}
extension Consumer: MetadataClient {}
extension Producer: MetadataClient {}
