import Logging
import Synchronization

/// Tracks whether the cluster answers, and logs one line per change.
///
/// librdkafka reports lost connections late and repeatedly, reconnects by itself, and does not report success. So its errors only
/// raise a suspicion, and a request to the cluster decides.
package final class BrokerWatch: Sendable {
    private enum Phase {
        case reachable
        /// A client reported an error. Whether the cluster answers is unknown until it is asked.
        case suspected
        case unreachable
    }

    private struct State {
        var phase = Phase.reachable
        /// Why a connection failed: the most informative error that clients have reported since a broker last answered.
        var fault: KafkaError?
        /// The last reason why a connection to a broker failed, even if others have answered since.
        var lastFailure: KafkaError?
        /// Whether the log has a line about this outage.
        var isLogged = false
        var recoveredAt: ContinuousClock.Instant?
        /// The addresses of brokers to which connections failed before any broker answered; nil after the first answer.
        var unreached: Set<String>? = []
        /// When brokers that answer on other connections last closed new ones immediately, and whether that was logged.
        var closings: [ContinuousClock.Instant] = []
        var areClosingsLogged = false
    }

    /// How much an error says about why no broker answers.
    private enum Weight: Comparable {
        case nothing, symptom, reason, refusal

        init(_ error: KafkaError?) {
            self = .nothing
            guard let error, error.broker != nil else { return }
            self = error.code.isRefusal ? .refusal : ErrorExplainer.isSymptom(error.message) ? .symptom : .reason
        }
    }

    /// How long after a recovery a failure may still stem from the outage.
    private static let recoveryWindow = Duration.seconds(2)
    /// How many new connections must be closed immediately, and within what time, to count as more than an accident. librdkafka
    /// logs the same connection failure once in 30 s.
    private static let (fewestClosings, closingsWindow) = (3, Duration.seconds(60))

    private let bootstrapServers: String
    private let connections: Int?
    private let logger: Logger
    private let onOutage: @Sendable (String?) -> Void
    private let state = Mutex(State())

    /// - Parameters:
    ///   - bootstrapServers: for messages.
    ///   - connections: how many connections to one broker the process may need, if known.
    ///   - onOutage: called with a sentence when the cluster stops answering, and whenever more is known about the reason; with nil
    ///     when it answers again. It must not block or call the watch.
    package init(
        bootstrapServers: String, connections: Int? = nil, logger: Logger,
        onOutage: @escaping @Sendable (String?) -> Void = { _ in }
    ) {
        (self.bootstrapServers, self.connections, self.logger, self.onOutage) = (bootstrapServers, connections, logger, onOutage)
    }

    /// A sentence about the outage while the cluster is known not to answer, logged or not; otherwise nil.
    package var obstacle: String? { state.withLock { $0.phase == .unreachable ? sentence($0.fault) : nil } }

    /// Says that no broker answers, and why, as far as clients have reported.
    package var explanation: String { state.withLock { sentence($0.fault) } }

    /// Why a connection failed; nil if no client has reported a failure since a broker last answered.
    package var fault: KafkaError? { state.withLock(\.fault) }

    /// Which broker was unreachable last, and why, even if others have answered since: a client that needs this broker is still
    /// waiting.
    package var lastFailure: String? { state.withLock { state in state.lastFailure.map { reason($0) } } }

    package var reason: String { state.withLock { reason($0.fault) } }

    private func sentence(_ fault: KafkaError?) -> String {
        "\(Weight(fault) == .refusal ? "no connection to" : "no Kafka broker answers at") \(bootstrapServers): \(reason(fault))"
    }

    private func reason(_ fault: KafkaError?) -> String {
        guard let fault, let broker = fault.broker else { return ErrorExplainer.silence }
        return broker == bootstrapServers ? fault.message : "\(broker): \(fault.message)"
    }

    /// Whether a client should ask the cluster for something, as ``probe(_:timeout:)`` does.
    package var needsProbe: Bool { state.withLock { $0.phase != .reachable } }

    /// Says that brokers close new connections immediately although they answer on others; nil if too few were closed lately.
    package func closings(at now: ContinuousClock.Instant = .now) -> String? {
        let latest = state.withLock(\.closings).filter { now - $0 < Self.closingsWindow }
        guard latest.count >= Self.fewestClosings else { return nil }
        return """
            brokers at \(bootstrapServers) close new connections at once, although they answer on others: perhaps more come from \
            here than max.connections.per.ip or max.connections of a broker allows\
            \(connections.map { ". This process may need \($0) to each" } ?? "")
            """
    }

    /// A client, perhaps one that is never polled, has reported a connection failure. Only hang-ups count: they are logged at once.
    package func noticedClosing(_ error: KafkaError, at now: ContinuousClock.Instant = .now) {
        guard ErrorExplainer.isHangUp(error.message) else { return }
        let isNews = state.withLock { state in
            // Before the first answer, the cause is most likely a wrong port or protocol.
            guard state.unreached == nil, state.phase != .unreachable else { return false }
            state.closings = state.closings.suffix(Self.fewestClosings - 1).filter { now - $0 < Self.closingsWindow } + [now]
            let isAccident = state.closings.count < Self.fewestClosings
            defer { state.areClosingsLogged = !isAccident }
            return !isAccident && !state.areClosingsLogged
        }
        if isNews, let closings = closings(at: now) { logger.warning("\(closings)") }
    }

    /// A client has reported an error in the background.
    package func noticed(_ error: KafkaError) {
        logger.debug("\(error)")
        noticedClosing(error)
        // An OAUTHBEARER token does not come from a broker, and without one no connection is tried.
        let error = error.code.isRefusal && error.broker == nil ? error.with(\.broker, bootstrapServers) : error
        let isNews = state.withLock { state in
            if state.phase == .reachable { state.phase = .suspected }
            let (weight, known) = (Weight(error), Weight(state.fault))
            if weight > .symptom { state.lastFailure = error }
            if weight == .reason, let broker = error.broker, Self.isAddress(broker) {
                // Before the first answer there is no doubt, and a command with a wrong port should end without a wait. Later, a
                // connection may be lost only for a moment. A refusal ends a command with an error of its own. Host names do not
                // count: librdkafka tries each of a name's addresses in turn.
                state.unreached?.insert(broker)
                if state.unreached?.count ?? 0 >= bootstrapServers.split(separator: ",").count { state.phase = .unreachable }
            }
            guard weight > .nothing, weight >= known else { return false }
            state.fault = error
            guard state.phase == .unreachable else { return false }
            onOutage(sentence(error))
            guard weight > .symptom, weight > known || !state.isLogged else { return false }
            state.isLogged = true
            return true
        }
        if isNews { logOutage() }
    }

    private static func isAddress(_ broker: String) -> Bool {
        broker.hasPrefix("[") || broker.allSatisfy { $0.isNumber || ".:".contains($0) }
    }

    /// A request that any broker could have answered was not answered in time.
    package func failed() {
        let isNews = state.withLock { state in
            let isNew = state.phase != .unreachable
            if isNew {
                // This request may be older than the recovery: ask again before reporting an outage.
                if let recoveredAt = state.recoveredAt, .now - recoveredAt < Self.recoveryWindow {
                    state.phase = .suspected
                    return false
                }
                state.phase = .unreachable
                // Called under the lock, so that two changes cannot arrive in the wrong order.
                onOutage(sentence(state.fault))
            }
            // Clients often report the reason a moment later. The one line about the outage waits for it until the next failure.
            guard !state.isLogged, !isNew || Weight(state.fault) > .symptom else { return false }
            state.isLogged = true
            return true
        }
        if isNews { logOutage() }
    }

    private func logOutage() {
        let fault = fault
        logger.log(level: Weight(fault) == .refusal ? .error : .warning, "\(sentence(fault)); trying again")
    }

    /// Sends the cluster a small request, and returns whether it answers. If the first request fails, sends a second one: the first
    /// may have gone to the one broker that is down.
    @discardableResult
    package func probe(_ client: some MetadataClient, timeout: Duration = .milliseconds(500)) -> Bool {
        for _ in 0..<2 {
            do throws(KafkaError) {
                _ = try client.metadata(topics: [], timeout: timeout)
                reached()
                return true
            } catch {
                // The server that answers is not a broker.
                if error.code.isRefusalOfSetting { noticed(error.with(\.broker, bootstrapServers)) }
            }
        }
        failed()
        return false
    }

    package func reached() {
        let isNews = state.withLock { state in
            defer { (state.phase, state.fault, state.isLogged, state.unreached) = (.reachable, nil, false, nil) }
            guard state.phase == .unreachable else { return false }
            state.recoveredAt = .now
            onOutage(nil)
            return state.isLogged
        }
        if isNews { logger.notice("Kafka answers at \(bootstrapServers) again") }
    }

    /// Asks about topics until the cluster answers or `isWorthWaiting` returns false. Also throws the error of the first topic that
    /// has one.
    package func metadata(
        of topics: [String], from client: some MetadataClient, while isWorthWaiting: () -> Bool
    ) throws(KafkaError) -> ClusterMetadata {
        try retrying(while: isWorthWaiting) { () throws(KafkaError) in
            do throws(KafkaError) {
                let metadata = try client.metadata(topics: topics, timeout: .seconds(2))
                if let error = metadata.topics.lazy.compactMap(\.error).first { throw error }
                reached()
                return metadata
            } catch {
                if error.remedy == .retry, error.code.isFromBroker { reached() } else if error.remedy == .retry { failed() }
                throw error
            }
        }
    }
}

package protocol MetadataClient {
    func metadata(topics: [String]?, timeout: Duration) throws(KafkaError) -> ClusterMetadata
}

extension Admin: MetadataClient {}
extension Consumer: MetadataClient {}
extension Producer: MetadataClient {}
