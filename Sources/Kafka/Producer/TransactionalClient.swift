import CRdKafka

/// One librdkafka client of a ``TransactionalProducer``, which has several, one after the other.
struct TransactionalClient {
    let handle: ClientHandle
    let transactionalID: String
    var lateRequests: LateRequestGuard
    /// Whether the transactional id is taken over. Asking again would be an error.
    var isReady = false
    /// Makes the calls that wait for brokers.
    private let calls = CallThread(name: "transaction")
    /// Whether the last of them sent offsets.
    private var lastCallSendsOffsets = false

    private let configuration: KafkaConfiguration
    private let hooks: ClientHooks
    private let madeAt = ContinuousClock.now
    /// Since when its id is asked for, by this client and by those that it took the place of.
    private var askedSince = ContinuousClock.now
    /// How many clients it took the place of, one after the other.
    private var predecessors = 0

    /// How long the first client waits for its transactional id before another takes its place; each waits twice as long.
    private static let firstPause = Duration.milliseconds(50)
    /// librdkafka asks again half a second after an answer; some of that is left for the clocks.
    private static let libraryRetryInterval = Duration.milliseconds(450)

    /// - Throws: ``KafkaError`` when librdkafka refuses a property.
    init(
        transactionalID: String,
        configuration: KafkaConfiguration,
        hooks: ClientHooks
    ) throws(KafkaError) {
        let configuration = configuration.merging(["transactional.id": transactionalID])
        handle = try ClientHandle(.producer, configuration: configuration, hooks: hooks) {
            // Failed deliveries fail the transaction, so the reports themselves say nothing new. But without this
            // callback rd_kafka_flush, and with it every commit, waits in steps of 10 ms.
            rd_kafka_conf_set_dr_msg_cb($0) { _, _, _ in }
        }
        lateRequests = LateRequestGuard(of: handle.pointer)
        self.transactionalID = transactionalID
        self.configuration = configuration
        self.hooks = hooks
    }
}

// MARK: - Taking over the transactional id

extension TransactionalClient {
    /// Waits for the transactional id.
    ///
    /// The coordinator may have something to finish first, such as the markers of the transaction before. librdkafka would ask
    /// again after half a second; a client made anew does it at once. It takes the place of one that has its answer and does
    /// not ask again yet: a request that is still on its way would fence the successor.
    ///
    /// - Parameter decisionTimeout: for how long in all, while what was open under the id cannot be ended; nil is for ever.
    /// - Returns: whether the client has the id, and not whether it should go on asking without being waited for.
    mutating func takesOverID(timeout: Duration, decisionTimeout: Duration?) throws(KafkaError) -> Bool {
        let deadline = ContinuousClock.now + timeout
        var isBusy = true
        while true {
            let pause = Self.firstPause * (1 << predecessors)
            let canBeReplaced =
                isBusy && pause < Self.libraryRetryInterval && .now - madeAt < Self.libraryRetryInterval
            let until = canBeReplaced ? min(deadline, madeAt + pause) : deadline
            do throws(KafkaError) {
                try askForID(timeout: max(.milliseconds(1), until - .now))
                return true
            } catch {
                if let decisionTimeout, error.code == .concurrentTransactions,
                    .now - askedSince > decisionTimeout
                {
                    return false
                }
                guard error.remedy == .retry, .now < deadline else { throw error }
                isBusy = error.code.isBusyCoordinator
            }
            guard isBusy, canBeReplaced, .now - madeAt < Self.libraryRetryInterval else { continue }
            self = try successor
        }
    }

    /// One call of librdkafka's, which goes on in the background after a timeout.
    func askForID(timeout: Duration) throws(KafkaError) {
        let error = KafkaError(
            consuming: rd_kafka_init_transactions(handle.pointer, timeout.milliseconds)
        )
        if let error { throw handle.explained(error) }
    }

    private var successor: TransactionalClient {
        get throws(KafkaError) {
            var client = try TransactionalClient(
                transactionalID: transactionalID,
                configuration: configuration,
                hooks: hooks
            )
            (client.askedSince, client.predecessors) = (askedSince, predecessors + 1)
            return client
        }
    }
}

// MARK: - Calls that wait for brokers

extension TransactionalClient {
    /// Whether a call is under way.
    var isCalling: Bool { calls.isBusy }

    /// Whether a request that sends offsets may be left behind if the client is dropped now.
    var mayLeaveOffsets: Bool { lateRequests.mayLeaveOffsets || (isCalling && lastCallSendsOffsets) }

    /// Makes a call on the thread for that, unless one is under way.
    ///
    /// librdkafka must be given as long as the transaction may last. A call that times out leaves requests behind that fail when
    /// the transaction is over, and a commit that is resumed may take an earlier result for its own. Either ends the process, in
    /// all versions up to 2.16: an assertion in `rd_kafka_txn_set_state` fails.
    mutating func begin(
        sendsOffsets: Bool,
        _ body: @escaping @Sendable (OpaquePointer) -> OpaquePointer?
    ) {
        guard !calls.isBusy else { return }
        lastCallSendsOffsets = sendsOffsets
        nonisolated(unsafe) let handle = handle
        calls.begin { () throws(KafkaError) in
            guard let error = KafkaError(consuming: body(handle.pointer)) else { return }
            throw handle.explained(error.code == .timedOut ? error.requiringAbort : error)
        }
    }

    /// What came of the call that is under way; nil when that is not known within `timeout`.
    func outcome(within timeout: Duration) -> CallThread.Outcome? { calls.outcome(within: timeout) }
}
