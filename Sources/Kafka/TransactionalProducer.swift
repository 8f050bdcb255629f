import CRdKafka
import Dispatch

/// A librdkafka client under a transactional id, for a ``TransactionSession`` or a ``ProducerFence``. It takes its id over once,
/// and is released after any error but ``KafkaError/Remedy/retry``.
final class TransactionalProducer {
    let transactionalID: String
    let handle: ClientHandle
    let reports: DeliveryReports
    let commitThread = CallThread()
    /// In the order of the session's topics.
    private(set) var batches: [ProduceBatch] = []

    /// Whether it holds its id. Asking for it again would be an error.
    private(set) var isReady = false
    /// Whether the coordinator cannot end the transaction left open under the id.
    private(set) var isUndecided = false
    /// When the coordinator first said so.
    private var undecidedSince: ContinuousClock.Instant?
    private let decisionTimeout: Duration?
    /// How many connections the client had lost when it got its id, or by its last commit.
    private var closedConnectionsBefore = 0

    /// - Parameters:
    ///   - decisionTimeout: after how long ``isUndecided`` says that waiting for the id is pointless; nil for never.
    ///   - ends: is left once the client has ended, which happens in the background.
    init(
        id: String, configuration: KafkaConfiguration, hooks: ClientHooks, decisionTimeout: Duration?, ends: DispatchGroup? = nil
    ) throws(KafkaError) {
        (transactionalID, self.decisionTimeout, reports) = (id, decisionTimeout, DeliveryReports(hooks))
        handle = try ClientHandle(
            RD_KAFKA_PRODUCER, configuration: configuration.merging(["transactional.id": id]), context: reports, patience: .zero,
            ends: ends
        ) {
            // Without this callback rd_kafka_flush, and so every commit, waits in steps of 10 ms.
            rd_kafka_conf_set_dr_msg_cb($0) { _, message, context in
                guard let message, let context else { return }
                // Called for each record: counting references would cost more than the rest.
                Unmanaged<DeliveryReports>.fromOpaque(context)._withUnsafeGuaranteedRef { $0.add(message) }
            }
        }
    }

    deinit {
        guard commitThread.isBusy else { return }
        nonisolated(unsafe) let handle = handle
        DedicatedThread.start("transaction left behind") { [commitThread] in
            // Events of a client that is not polled pile up, and its broker may be gone for days.
            while commitThread.outcome(within: .seconds(1)) == nil { handle.poll(timeout: .zero) }
        }
    }

    /// Waits until each producer holds its id or is undecided. All ask at the same time: requests go on in the background.
    ///
    /// A coordinator may have work to finish first, such as writing the markers of the previous transaction. librdkafka asks again
    /// half a second after each answer, but at once when it is called again; a request without an answer is never repeated. So it
    /// is called in short steps.
    /// - Throws: ``KafkaError``, with ``KafkaError/Remedy/retry`` once the time is over.
    static func takeOverIDs(of producers: [TransactionalProducer], timeout: Duration) throws(KafkaError) {
        let deadline = ContinuousClock.now + timeout
        var pending = producers.filter { !$0.isReady }
        // The first round only makes all of them begin.
        var pause = Duration.milliseconds(1)
        while !pending.isEmpty {
            // While the loop waits for one producer, the others go on.
            var (wait, failure) = (pause, KafkaError?.none)
            for producer in pending {
                guard let error = producer.askForID(timeout: wait) else { continue }
                guard error.remedy == .retry else { throw error }
                (wait, failure) = (.milliseconds(1), error)
            }
            pending.removeAll { $0.isReady || $0.isUndecided }
            if let failure, !pending.isEmpty, ContinuousClock.now >= deadline { throw failure }
            pause = min(pause * 2, .milliseconds(200))
        }
    }

    private func askForID(timeout: Duration) -> KafkaError? {
        guard let error = KafkaError(consuming: rd_kafka_init_transactions(handle.pointer, timeout.milliseconds)) else {
            isReady = true
            // A new client tries brokers that are gone, and newer versions close their first connection.
            forgetConnections()
            return nil
        }
        isUndecided = false
        if error.code == .concurrentTransactions {
            let since = undecidedSince ?? .now
            undecidedSince = since
            isUndecided = decisionTimeout.map { .now - since > $0 } ?? false
        }
        // librdkafka's own message says what the application should do next.
        guard error.code != .timedOut else {
            return error.with(\.message, "no coordinator has handed over the transactional id \(transactionalID)")
        }
        return handle.explained(error)
    }

    /// Opens the topics. The producer must hold its id: from librdkafka 2.10 on, opening them earlier delays that by half a second.
    func open(_ topics: [(name: String, properties: [String: String])]) throws(KafkaError) {
        batches = try topics.map { topic throws(KafkaError) in
            try ProduceBatch(topic: ClientTopic(topic.name, properties: topic.properties, of: handle), of: handle)
        }
    }

    /// Commits, however long that takes. A timeout can only be the transaction's.
    func beginCommit() {
        nonisolated(unsafe) let handle = handle
        commitThread.begin { () throws(KafkaError) in
            guard let error = KafkaError(consuming: rd_kafka_commit_transaction(handle.pointer, -1)) else { return }
            throw handle.explained(error.code == .timedOut ? error.with(\.requiresAbort, true) : error)
        }
    }

    /// Whether a connection has broken since the client got its id, or since its last commit.
    var connectionBroke: Bool { handle.closedConnections != closedConnectionsBefore }

    func forgetConnections() { closedConnectionsBefore = handle.closedConnections }

    /// Why the transaction failed, if librdkafka knows: it says so when it refuses to begin another one. Otherwise `error`.
    func reason(of error: KafkaError) -> KafkaError {
        let reason = KafkaError(consuming: rd_kafka_begin_transaction(handle.pointer))
        guard let reason, reason.code != .state else { return error }
        // The failed record's report may not have been served yet.
        if error.code != reason.code, reason.code.isRefusalOfRecord { handle.poll(timeout: .milliseconds(100)) }
        let failure = error.code == reason.code ? error : reports.failure
        return handle.explained(reason).with(\.place, failure?.code == reason.code ? failure?.place : nil)
    }
}
