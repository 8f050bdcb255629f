import CRdKafka

/// A producer whose records become visible all at once or never, together with the consumer offsets they answer.
///
/// It belongs to one thread. The ``KafkaError/remedy`` of every error says what to do next:
/// - ``KafkaError/Remedy/retry``: make the same call again with the same arguments;
/// - ``KafkaError/Remedy/startOver``: the transaction is lost, and only the broker knows whether it was committed. Begin again
///   with ``initTransactions(timeout:)``, which takes the transactional id over with a new client.
///
/// A late request of an earlier transaction must not count in a later one. If one may still be on its way, the producer takes
/// its transactional id over from itself before the next transaction: see `LateRequestGuard`. Another process may have used
/// the id in between. A transaction that sends offsets is refused if that matters. Without a consumer group, check ``isReady``
/// before each transaction and, if it is false, find out again what is left to do.
///
/// ```swift
/// try producer.initTransactions(timeout: .seconds(1))
/// try producer.begin()
/// try results.produce(partition: 0, key: key, value: value, headers: [])
/// try producer.sendOffsets([orders: 42], membership: membership, timeout: .seconds(1))
/// try producer.commit(timeout: .seconds(1))
/// ```
public final class TransactionalProducer {
    private let hooks: ClientHooks
    private let silence: BrokerSilence?
    private let appliedOffsets: AppliedOffsets?
    /// Busy from a commit until its offsets are applied.
    private let offsetThread = CallThread(name: "offsets")
    /// The offsets of the open transaction.
    private var sentOffsets: [TopicPartition: Offset] = [:]
    private var clients: TransactionalClients
    private var leaders = LeaderRefresh()
    /// How many records were unconfirmed when the queue was last looked at.
    private var unconfirmed: Int32 = 0
    /// Whether ``initTransactions(timeout:)`` has succeeded since the last ``drop()``.
    private var isInitialised = false
    /// How often a waiting call looks whether brokers confirm anything.
    private static let step = Duration.milliseconds(100)

    /// A producer that must be initialised before its first transaction.
    ///
    /// - Parameters:
    ///   - configuration: needs `transactional.id`, the name under which a successor fences this producer.
    ///   - hooks: receives what no call returns.
    ///   - decisionTimeout: how long to wait for the transactional id while the coordinator cannot end the transaction left
    ///     open under it, for example because one of its partitions has no leader. After that the producer uses another id.
    ///     Nil waits without limit, as it must if the id alone keeps other processes out.
    ///   - silence: when to give up a transaction of which no broker confirms anything. Nil waits as long as librdkafka does.
    ///   - appliedOffsets: knows when the offsets of the last transaction are applied, so that no others are sent before. Nil
    ///     for a producer that sends none.
    /// - Throws: ``KafkaError`` when librdkafka refuses a property.
    public init(
        configuration: KafkaConfiguration,
        hooks: ClientHooks,
        decisionTimeout: Duration? = nil,
        silence: BrokerSilence? = nil,
        appliedOffsets: AppliedOffsets? = nil
    ) throws(KafkaError) {
        self.hooks = hooks
        self.silence = silence
        self.appliedOffsets = appliedOffsets
        clients = try TransactionalClients(
            configuration: configuration,
            hooks: hooks,
            decisionTimeout: decisionTimeout
        )
    }

    deinit { clients.dropCurrent() }

    /// A topic to produce to; make it once and keep it.
    ///
    /// - Parameters:
    ///   - name: the topic's name.
    ///   - properties: librdkafka's topic properties for this topic alone, such as `compression.type`.
    /// - Throws: ``KafkaError`` when librdkafka refuses a property.
    public func topic(
        _ name: String,
        properties: [String: String] = [:]
    ) throws(KafkaError) -> TransactionalTopic {
        let topic = TransactionalTopic(name: name, properties: properties)
        try clients.add(topic)
        return topic
    }

    /// The id under which a successor ends what this producer leaves open.
    public var transactionalID: String { clients.transactionalID }

    /// The id that a producer configured with `configured` uses after it has moved on `generation` times.
    public static func transactionalID(_ configured: String, generation: Int) -> String {
        TransactionalClients.transactionalID(configured, generation: generation)
    }

    /// Whether a transaction can begin without asking for the transactional id first.
    public var isReady: Bool { clients.isReady }

    /// Takes over the transactional id: fences the producer that used it and ends the transaction it left open.
    ///
    /// A call that ends with ``KafkaError/Remedy/retry`` goes on in the background, and the next call resumes it.
    public func initTransactions(timeout: Duration) throws(KafkaError) {
        try clients.takeOverID(timeout: timeout)
        isInitialised = true
    }

    /// Drops the client and everything it has in progress; ``initTransactions(timeout:)`` makes another.
    public func drop() {
        isInitialised = false
        clients.leaveCurrent()
    }

    /// Serves the hooks, waiting for at most `timeout`. Events of a client that is never polled, such as its statistics, pile
    /// up without limit.
    public func poll(timeout: Duration) { clients.poll(timeout: timeout) }
}

// MARK: - A transaction

extension TransactionalProducer {
    /// Begins a transaction. This is a local call unless the transactional id has to be taken over first.
    public func begin(timeout: Duration = .seconds(1)) throws(KafkaError) {
        if isInitialised, !isReady { try initTransactions(timeout: timeout) }
        for topic in clients.topics { topic.batch?.removeAll() }
        let handle = try clients.ready.handle
        clients.current?.lateRequests.began(closedConnections: handle.closedConnections)
        try check(rd_kafka_begin_transaction(handle.pointer), of: handle)
        unconfirmed = 0
        sentOffsets = [:]
        silence?.began()
    }

    /// Makes the group's committed offsets part of the transaction, once those of the last one are applied.
    ///
    /// - Parameters:
    ///   - offsets: the next offset to read of each partition.
    ///   - metadata: text to store beside each offset.
    ///   - membership: the membership as of the assignment; the broker refuses the offsets once the group has moved on.
    ///   - timeout: how long to wait. After ``KafkaError/Remedy/retry``, for example a timeout, the same call goes on waiting.
    public func sendOffsets(
        _ offsets: [TopicPartition: Offset],
        metadata: String = "",
        membership: ConsumerGroupMetadata,
        timeout: Duration
    ) throws(KafkaError) {
        let client = try clients.ready
        let handle = client.handle
        try flushBatches()
        if offsetThread.isBusy { try wait(for: client, timeout) { offsetThread.outcome(within: $0) } }
        sentOffsets = offsets
        // Until the call has returned, only its thread uses these.
        nonisolated(unsafe) let list = PartitionList(offsets: offsets, metadata: metadata)
        nonisolated(unsafe) let membership = membership
        do throws(KafkaError) {
            try make(.sendOffsets, timeout: timeout) { producer in
                list.withPointer {
                    rd_kafka_send_offsets_to_transaction(producer, $0, membership.pointer, -1)
                }
            }
        } catch {
            // The transaction has failed in the meantime. librdkafka gives the reason when it refuses to begin another one.
            if error.code == .state { try check(rd_kafka_begin_transaction(handle.pointer), of: handle) }
            throw error
        }
    }

    /// Waits for all deliveries, then commits. When it returns, the transaction is committed.
    ///
    /// After ``KafkaError/Remedy/retry``, for example a timeout, the same call goes on waiting.
    public func commit(timeout: Duration) throws(KafkaError) {
        _ = try clients.ready
        // Outside the measured call: deliveries may be slow for reasons of their own and must not make the producer a suspect.
        try flush(timeout: timeout)
        try make(.commit, timeout: timeout) { rd_kafka_commit_transaction($0, -1) }
        silence?.committed()
        clients.current?.committed()
        if let wait = appliedOffsets?.committed(sentOffsets) { offsetThread.begin(wait) }
    }

    /// Waits until every record is written, though not yet committed. ``commit(timeout:)`` does this itself.
    public func flush(timeout: Duration) throws(KafkaError) {
        let client = try clients.ready
        try flushBatches()
        try wait(for: client, timeout) { step in
            guard let error = KafkaError(rd_kafka_flush(client.handle.pointer, step.milliseconds)) else {
                return .success(())
            }
            return error.code == .timedOut ? nil : .failure(error)
        }
    }

    private func flushBatches() throws(KafkaError) {
        for topic in clients.topics { try topic.batch?.flush() }
    }

    /// Makes a call that waits for brokers, or goes on waiting for the one in progress.
    private func make(
        _ call: TransactionalCall,
        timeout: Duration,
        _ body: @escaping @Sendable (OpaquePointer) -> OpaquePointer?
    ) throws(KafkaError) {
        let start = ContinuousClock.now
        defer { checkForLateRequests(of: call, since: start) }
        let client = try clients.ready
        clients.current?.begin(call, body)
        do throws(KafkaError) {
            try wait(for: client, timeout) { client.outcome(within: $0) }
        } catch {
            if error.isFatal { clients.current?.lateRequests.wasCutShort(call) }
            throw error
        }
    }

    /// Waits for an outcome in short steps and checks after each whether any broker confirms anything.
    private func wait(
        for client: TransactionalClient,
        _ timeout: Duration,
        _ outcome: (Duration) -> CallThread.Outcome?
    ) throws(KafkaError) {
        let deadline = ContinuousClock.now + timeout
        while true {
            if let outcome = outcome(min(Self.step, max(.zero, deadline - .now))) {
                try outcome.get()
                silence?.confirmed()
                return
            }
            client.handle.poll(timeout: .zero)
            let left = rd_kafka_outq_len(client.handle.pointer)
            if left < unconfirmed { silence?.confirmed() }
            unconfirmed = left
            // librdkafka asks only once a second who leads the partitions of a broker that is gone.
            if client.connections == .broken {
                leaders.askIfDue(about: clients.topics.lazy.map(\.name), client.handle)
            }
            try silence?.check(client.connections)
            guard ContinuousClock.now < deadline else { throw KafkaError(code: .timedOut, isRetriable: true) }
        }
    }

    private func checkForLateRequests(of call: TransactionalCall, since start: ContinuousClock.Instant) {
        let closed = clients.current?.handle.closedConnections ?? 0
        let duration = ContinuousClock.now - start
        guard
            clients.current?.lateRequests.took(duration, for: call, closedConnections: closed) ?? false
        else { return }
        hooks.logger.debug(
            "a connection broke while \(call.rawValue): a request may have been sent twice; taking the id over anew"
        )
        hooks.onSuspect?()
    }

    private func check(_ error: OpaquePointer?, of handle: ClientHandle) throws(KafkaError) {
        guard let error = KafkaError(consuming: error) else { return }
        throw handle.explained(error)
    }
}
