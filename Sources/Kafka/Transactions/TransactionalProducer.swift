import CRdKafka
import Dispatch
import Synchronization

/// One librdkafka client under one transactional id: a part of a ``TransactionSession``, or of a ``ProducerFence``.
///
/// It takes its id over once. Brokers then abort what a predecessor left open under it, and refuse whatever that sends later.
/// After any error but ``KafkaError/Remedy/retry`` it must be released: an abort would end the transaction, but a request that
/// was sent twice could still arrive in the next one of the same epoch. A client in the middle of a call is left behind, and
/// ends once the call returns.
final class TransactionalProducer {
    let transactionalID: String
    private let handle: ClientHandle
    private let deliveries: Deliveries
    private let thread = CallThread(name: "transaction")
    private let silence: BrokerSilence?
    private let decisionTimeout: Duration?
    /// Whether it holds its id. Asking for it again would be an error.
    private(set) var isReady = false
    /// Whether the coordinator cannot end the transaction that was left open under the id, for example because one of its
    /// partitions has no leader.
    private(set) var isUndecided = false
    /// When the coordinator first said that it has not ended that transaction.
    private var undecidedSince: ContinuousClock.Instant?

    /// In the order of the session's topics.
    private var batches: [ProduceBatch] = []
    private var topics: [String] = []
    private var leaders = LeaderRefresh()
    /// How many connections the client had lost when it got its id, or by its last commit.
    private var closedConnectionsBefore = 0
    /// Whether a connection broke in a transaction that was committed.
    private(set) var hasLostConnection = false
    /// How many records were unconfirmed when the queue was last looked at.
    private var unconfirmed: Int32 = 0
    /// How often a waiting call looks whether brokers confirm anything.
    private static let step = Duration.milliseconds(100)

    /// - Parameters:
    ///   - decisionTimeout: after how long ``isUndecided`` says that waiting for the id is in vain; nil is never.
    ///   - silence: when to give up a transaction of which no broker confirms anything. Nil waits as long as librdkafka does.
    ///   - written: what learns where records came to stand.
    ///   - ends: the group that is left once the client has ended, which happens in the background.
    /// - Throws: ``KafkaError`` when librdkafka refuses a property.
    init(
        id: String, configuration: KafkaConfiguration, hooks: ClientHooks, decisionTimeout: Duration?,
        silence: BrokerSilence? = nil, written: WrittenOffsets? = nil, ends: DispatchGroup? = nil
    ) throws(KafkaError) {
        transactionalID = id
        deliveries = Deliveries(written)
        self.decisionTimeout = decisionTimeout
        self.silence = silence
        handle = try ClientHandle(
            .producer, configuration: configuration.merging(["transactional.id": id]), hooks: hooks, context: deliveries,
            patience: .zero, ends: ends
        ) {
            // Without this callback rd_kafka_flush, and so every commit, waits in steps of 10 ms.
            rd_kafka_conf_set_dr_msg_cb($0) { client, message, _ in
                guard let message, let client, let context = ClientContext.of(client) else { return }
                unsafeDowncast(context, to: Deliveries.self).add(message)
            }
        }
    }

    deinit {
        guard thread.isBusy else { return }
        nonisolated(unsafe) let handle = handle
        OwnThread.start("transaction left behind") { [thread] in
            // Events of a client that nobody polls pile up, and its broker may be gone for days.
            while thread.outcome(within: .seconds(1)) == nil { handle.poll(timeout: .zero) }
        }
    }

    /// Serves the hooks.
    func poll() { handle.poll(timeout: .zero) }
}

// MARK: - Taking over the transactional id

extension TransactionalProducer {
    private static let firstPause = Duration.milliseconds(25)
    private static let longestPause = Duration.milliseconds(200)

    /// Waits until each producer holds its id or is undecided. All ask at the same time: requests go on in the background.
    ///
    /// A coordinator may have work to finish first, such as writing the markers of the previous transaction. librdkafka asks
    /// again half a second after each answer, but at once when it is called again; a request that has no answer yet is never
    /// repeated. So it is called in short steps.
    ///
    /// - Throws: ``KafkaError``, with ``KafkaError/Remedy/retry`` once the time is over.
    static func takeOverIDs(of producers: [TransactionalProducer], timeout: Duration) throws(KafkaError) {
        let deadline = ContinuousClock.now + timeout
        var pending = producers.filter { !$0.isReady }
        // The first round only makes all of them begin.
        var pause = Duration.milliseconds(1)
        while !pending.isEmpty {
            // While one is waited for, the others go on.
            var (wait, failure) = (pause, KafkaError?.none)
            for producer in pending {
                do throws(KafkaError) {
                    try producer.askForID(timeout: wait)
                } catch {
                    guard error.remedy == .retry else { throw error }
                    (wait, failure) = (.milliseconds(1), error)
                }
            }
            pending.removeAll { $0.isReady || $0.isUndecided }
            if let failure, !pending.isEmpty, ContinuousClock.now >= deadline { throw failure }
            pause = min(max(pause * 2, firstPause), longestPause)
        }
    }

    /// Makes one call to librdkafka, which goes on in the background after a timeout.
    private func askForID(timeout: Duration) throws(KafkaError) {
        let error = KafkaError(consuming: rd_kafka_init_transactions(handle.pointer, timeout.milliseconds))
        guard let error else {
            // What the client lost on the way here no longer matters: a new client tries brokers that are gone, and newer
            // versions of librdkafka close the connection that they began with.
            (isReady, closedConnectionsBefore) = (true, handle.closedConnections)
            return
        }
        isUndecided = false
        if error.code == .concurrentTransactions {
            let since = undecidedSince ?? .now
            undecidedSince = since
            isUndecided = decisionTimeout.map { .now - since > $0 } ?? false
        }
        throw handle.explained(error)
    }

    /// Connects the topics. It must hold its id: from librdkafka 2.10 on, a topic made earlier delays that by half a second.
    func connect(_ topics: [(name: String, properties: [String: String])]) throws(KafkaError) {
        self.topics = topics.map(\.name)
        batches = try topics.map { topic throws(KafkaError) in
            try ProduceBatch(topic: ProducerTopic(topic.name, properties: topic.properties, of: handle), of: handle)
        }
    }
}

// MARK: - A transaction

extension TransactionalProducer {
    func begin() throws(KafkaError) {
        if let error = KafkaError(consuming: rd_kafka_begin_transaction(handle.pointer)) { throw handle.explained(error) }
        unconfirmed = 0
        silence?.began()
    }

    func produce(
        to topic: Int, partition: Int32, key: UnsafeRawBufferPointer?, value: UnsafeRawBufferPointer?, headers: [RecordHeader],
        timestamp: Int64?
    ) throws(KafkaError) {
        do throws(KafkaError) {
            try batches[topic].add(partition: partition, key: key, value: value, headers: headers, timestamp: timestamp)
        } catch { throw reason(of: error) }
    }

    /// Waits until brokers have every record.
    func flush(timeout: Duration) throws(KafkaError) {
        do throws(KafkaError) {
            for batch in batches { try batch.flush() }
            try wait(timeout) { step in
                guard let error = KafkaError(rd_kafka_flush(handle.pointer, step.milliseconds)) else { return .success(()) }
                return error.code == .timedOut ? nil : .failure(error)
            }
            // librdkafka only waits until nothing is left to send, and forgets what failed until the commit.
            if let error = deliveries.finish() { throw error.requiringAbort }
        } catch { throw error.remedy == .retry ? error : reason(of: error) }
    }

    /// Waits for all deliveries, then commits.
    ///
    /// librdkafka must be given as long as the transaction may last, so it is called on another thread. A call that times out
    /// leaves requests behind that fail once the transaction is over, and a resumed commit may mistake an earlier result for
    /// its own. In all versions up to 2.16 either ends the process: an assertion in `rd_kafka_txn_set_state` fails.
    func commit(timeout: Duration) throws(KafkaError) {
        if !thread.isBusy {
            try flush(timeout: timeout)
            nonisolated(unsafe) let handle = handle
            thread.begin { () throws(KafkaError) in
                guard let error = KafkaError(consuming: rd_kafka_commit_transaction(handle.pointer, -1)) else { return }
                throw handle.explained(error.code == .timedOut ? error.requiringAbort : error)
            }
        }
        try wait(timeout) { thread.outcome(within: $0) }
        silence?.committed()
        if !isIntact { hasLostConnection = true }
        closedConnectionsBefore = handle.closedConnections
    }

    /// Whether no connection has broken since the client got its id, or since its last commit.
    private var isIntact: Bool { handle.closedConnections == closedConnectionsBefore }

    /// Waits for an outcome in short steps and checks after each whether any broker confirms anything.
    private func wait(_ timeout: Duration, _ outcome: (Duration) -> CallThread.Outcome?) throws(KafkaError) {
        let deadline = ContinuousClock.now + timeout
        while true {
            if let outcome = outcome(min(Self.step, max(.zero, deadline - .now))) {
                try outcome.get()
                silence?.confirmed()
                return
            }
            poll()
            let left = rd_kafka_outq_len(handle.pointer)
            if left < unconfirmed { silence?.confirmed() }
            unconfirmed = left
            // librdkafka asks only once a second who leads the partitions of a broker that is gone.
            if !isIntact { leaders.askIfDue(about: topics, handle) }
            try silence?.check(isIntact ? .intact : .broken)
            guard ContinuousClock.now < deadline else { throw KafkaError(code: .timedOut, isRetriable: true) }
        }
    }

    /// Why the transaction failed, if librdkafka knows: it says so when it refuses to begin another one. Otherwise `error`.
    private func reason(of error: KafkaError) -> KafkaError {
        let reason = KafkaError(consuming: rd_kafka_begin_transaction(handle.pointer))
        guard let reason, reason.code != .state else { return error }
        return handle.explained(reason)
    }
}

/// The context of a transactional client: what became of its records.
private final class Deliveries: ClientContext, @unchecked Sendable {
    private struct State {
        /// The first that failed.
        var failure: KafkaError?
        var run: WrittenOffsets.Run?
    }

    private let state = Mutex(State())
    private let written: WrittenOffsets?

    init(_ written: WrittenOffsets?) { self.written = written }

    func add(_ message: UnsafePointer<rd_kafka_message_t>) {
        let error = KafkaError(message.pointee.err)
        let (topic, partition, offset) = (UInt(bitPattern: message.pointee.rkt), message.pointee.partition, message.pointee.offset)
        state.withLock { state in
            if let error {
                state.failure = state.failure ?? error
            } else if let run = state.run, run.topic == topic, run.partition == partition, run.last + 1 == offset {
                state.run?.last = offset
            } else if offset >= 0 {
                if let run = state.run { written?.add(run) }
                state.run = .init(topic: topic, partition: partition, first: offset, last: offset)
            }
        }
    }

    /// All records are delivered.
    ///
    /// - Returns: why they must not be committed, if so.
    func finish() -> KafkaError? {
        state.withLock { state in
            if let run = state.run { written?.add(run) }
            state.run = nil
            return state.failure
                ?? written?.takeNews().map {
                    KafkaError(
                        code: .offsetOutOfRange,
                        message: "\($0) lacks records that were written to it: it was made anew, or lost its end")
                }
        }
    }
}
