import CRdKafka

/// A call of a transaction that waits for brokers.
enum TransactionalCall: String {
    case sendOffsets = "sending offsets"
    case commit = "committing"
}

/// One librdkafka client of a ``TransactionalProducer``.
struct TransactionalClient {
    let handle: ClientHandle
    let transactionalID: String
    var lateRequests: LateRequestGuard
    /// Whether the client holds its transactional id. Asking for it again would be an error.
    private(set) var isReady = false
    private let thread = CallThread(name: "transaction")
    private var lastCall: TransactionalCall?
    /// How many connections the client had lost when it got its transactional id, or by its last commit.
    private var closedConnectionsBefore = 0

    /// When it began to ask for the id.
    private let askedSince = ContinuousClock.now
    /// How long to wait before asking for the id again. Each time it doubles.
    private var pause = Duration.milliseconds(25)
    private static let longestPause = Duration.milliseconds(200)

    /// - Throws: ``KafkaError`` when librdkafka refuses a property.
    init(
        transactionalID: String,
        configuration: KafkaConfiguration,
        hooks: ClientHooks
    ) throws(KafkaError) {
        let configuration = configuration.merging(["transactional.id": transactionalID])
        handle = try ClientHandle(.producer, configuration: configuration, hooks: hooks) {
            // A failed delivery fails the transaction, so the reports carry no news. But without this callback
            // rd_kafka_flush, and so every commit, waits in steps of 10 ms.
            rd_kafka_conf_set_dr_msg_cb($0) { _, _, _ in }
        }
        lateRequests = LateRequestGuard(of: handle.pointer)
        self.transactionalID = transactionalID
    }
}

// MARK: - Taking over the transactional id

extension TransactionalClient {
    /// Waits for the transactional id.
    ///
    /// The coordinator may have work to finish first, such as writing the markers of the previous transaction. librdkafka asks
    /// again half a second after each answer, but at once when it is called again; a request that has no answer yet is never
    /// repeated. So it is called in short steps.
    ///
    /// - Parameter decisionTimeout: how long to wait in total while the coordinator cannot end the transaction left open under
    ///   the id; nil waits without limit.
    /// - Returns: true once the client holds the id; false if it should go on asking in the background.
    mutating func takesOverID(timeout: Duration, decisionTimeout: Duration?) throws(KafkaError) -> Bool {
        let deadline = ContinuousClock.now + timeout
        while true {
            do throws(KafkaError) {
                try askForID(timeout: min(pause, timeout))
                return true
            } catch {
                if let decisionTimeout, error.code == .concurrentTransactions,
                    .now - askedSince > decisionTimeout
                {
                    return false
                }
                guard error.remedy == .retry, .now < deadline else { throw error }
                pause = min(pause * 2, Self.longestPause)
            }
        }
    }

    /// The client holds its id, and can write. What it lost on the way there no longer matters: a new client tries brokers that
    /// are gone, and newer versions of librdkafka close the connection that they began with.
    mutating func becomeReady() {
        isReady = true
        closedConnectionsBefore = handle.closedConnections
    }

    /// Makes one call to librdkafka, which goes on in the background after a timeout.
    func askForID(timeout: Duration) throws(KafkaError) {
        let error = KafkaError(
            consuming: rd_kafka_init_transactions(handle.pointer, timeout.milliseconds)
        )
        if let error { throw handle.explained(error) }
    }
}

// MARK: - Calls that wait for brokers

extension TransactionalClient {
    /// Whether a call is in progress.
    var isCalling: Bool { thread.isBusy }

    /// Whether dropping the client now may leave a request with offsets behind.
    var mayLeaveOffsets: Bool { lateRequests.mayLeaveOffsets || (isCalling && lastCall == .sendOffsets) }

    /// Begins a call on the client's thread, unless one is in progress.
    ///
    /// librdkafka must be given as long as the transaction may last. A call that times out leaves requests behind that fail
    /// once the transaction is over, and a resumed commit may mistake an earlier result for its own. In all versions up to
    /// 2.16 either ends the process: an assertion in `rd_kafka_txn_set_state` fails.
    mutating func begin(
        _ call: TransactionalCall,
        _ body: @escaping @Sendable (OpaquePointer) -> OpaquePointer?
    ) {
        guard !thread.isBusy else { return }
        lastCall = call
        nonisolated(unsafe) let handle = handle
        thread.begin { () throws(KafkaError) in
            guard let error = KafkaError(consuming: body(handle.pointer)) else { return }
            throw handle.explained(error.code == .timedOut ? error.requiringAbort : error)
        }
    }

    /// The outcome of the call in progress; nil if it has not returned within `timeout`.
    func outcome(within timeout: Duration) -> CallThread.Outcome? { thread.outcome(within: timeout) }

    /// The transaction was committed.
    mutating func committed() { closedConnectionsBefore = handle.closedConnections }

    /// Whether a connection has broken since the client got its id, or since its last commit.
    var connections: BrokerSilence.Connections {
        handle.closedConnections == closedConnectionsBefore ? .intact : .broken
    }
}
