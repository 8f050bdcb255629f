import Logging
import Synchronization

/// Whether the cluster can be reached, told in one log line per change.
///
/// librdkafka tells of lost connections late and more than once, reconnects by itself, and says nothing when it
/// succeeds. So what it tells only raises a suspicion, and whoever can goes and asks the cluster: that decides.
public final class BrokerWatch: Sendable {
    private enum State {
        case reachable
        /// A client met this error. Nothing is known until somebody asks.
        case suspected(KafkaError)
        case unreachable
        /// A broker is there again, but refuses the connection; that is told.
        case refusing
    }

    /// How long after a recovery a failure may still be of before.
    private static let recoveryWindow = Duration.seconds(2)

    private let bootstrapServers: String
    private let logger: Logger
    private let onOutage: @Sendable (String?) -> Void
    private let state = Mutex((now: State.reachable, recoveredAt: ContinuousClock.Instant?.none))

    /// A watch that takes the cluster for reachable until it hears otherwise.
    ///
    /// - Parameters:
    ///   - bootstrapServers: what a person is told of.
    ///   - logger: told of each change.
    ///   - onOutage: called when the cluster ceases to answer, with what a person is told, and with nil when it answers again. It
    ///     must be quick, and not call the watch.
    public init(
        bootstrapServers: String,
        logger: Logger,
        onOutage: @escaping @Sendable (String?) -> Void = { _ in }
    ) {
        self.onOutage = onOutage
        self.bootstrapServers = bootstrapServers
        self.logger = logger
    }

    /// What a person is told while the cluster does not answer; nil while it does, or nothing else is known.
    public var outage: String? {
        state.withLock {
            switch $0.now {
            case .reachable, .suspected: nil
            case .unreachable, .refusing: outageText
            }
        }
    }

    private var outageText: String { "no Kafka broker answers at \(bootstrapServers)" }

    /// Whether somebody should ask the cluster for anything, and tell ``reached()`` or ``failed(_:)``.
    public var needsProbe: Bool {
        state.withLock { if case .reachable = $0.now { false } else { true } }
    }

    /// Takes note of what a client met by itself.
    public func noticed(_ error: KafkaError) {
        logger.debug("\(error)")
        let isNews = state.withLock { state in
            switch state.now {
            case .reachable: state.now = .suspected(error)
            // A refusal says more than the broken connections that follow from it.
            case .suspected where error.code.isRefusal: state.now = .suspected(error)
            case .unreachable where error.code.isRefusal:
                state.now = .refusing
                return true
            case .suspected, .unreachable, .refusing: break
            }
            return false
        }
        if isNews { tell(error) }
    }

    /// Takes note that the cluster did not answer when it was asked.
    public func failed(_ error: KafkaError) {
        let cause = state.withLock { state -> KafkaError? in
            // Another worker may have asked just before the cluster answered this one: ask again before saying so.
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
            // Told under the lock, so that two changes cannot overtake each other.
            onOutage(outageText)
            return cause
        }
        if let cause { tell(cause) }
    }

    private func tell(_ cause: KafkaError) {
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

    /// Asks the cluster for something small, to know whether it answers. Twice where need be: the broker that is asked first
    /// may be the one of several that went away.
    ///
    /// - Returns: why it does not.
    @discardableResult
    public func probe(
        _ client: some ClusterAsker,
        timeout: Duration = .milliseconds(500)
    ) -> KafkaError? {
        var failure: KafkaError?
        for _ in 0..<2 {
            do throws(KafkaError) {
                _ = try client.metadata(topics: [], timeout: timeout)
                reached()
                return nil
            } catch {
                failure = error
            }
        }
        if let failure { failed(failure) }
        return failure
    }

    /// Takes note that the cluster answered.
    public func reached() {
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
}

extension BrokerWatch {
    /// Asks about topics until the cluster answers, or that is not worth waiting for any more.
    ///
    /// - Throws: ``KafkaError`` that the cluster did not answer, or what is wrong with one of the topics.
    public func metadata(
        of topics: [String],
        from client: some ClusterAsker,
        while isWorthWaiting: () -> Bool
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

/// A client that can ask the cluster for something small.
public protocol ClusterAsker {
    /// The cluster's brokers and the partitions of the topics named.
    func metadata(topics: [String], timeout: Duration) throws(KafkaError) -> ClusterMetadata
}

extension Admin: ClusterAsker {}
extension Consumer: ClusterAsker {}
extension Producer: ClusterAsker {}
