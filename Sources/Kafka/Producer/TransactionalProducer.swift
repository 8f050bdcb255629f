import CRdKafka

/// A producer whose records, together with the offsets of what they answer, become visible all at once or never.
///
/// It belongs to one thread. Every error says by its ``KafkaError/remedy`` what to do next:
/// - ``KafkaError/Remedy/retry``: the same call again with the same arguments;
/// - ``KafkaError/Remedy/startOver``: the transaction is given up, and whether it was committed only the broker knows.
///   ``initTransactions(timeout:)`` begins anew, with a new client, which takes the transactional id over.
///
/// A request of an earlier transaction may arrive late and must not count in a later one. So a producer of which one may be
/// on its way takes its transactional id over from itself before the next transaction: see `LateRequestGuard`. By then
/// somebody else may have used the id. A transaction that sends offsets is refused where that matters; without a group to be
/// a member of, ask ``isReady`` before each and find out anew what is left to do.
///
/// ```swift
/// try producer.initTransactions(timeout: .seconds(1))
/// try producer.begin()
/// try results.produce(partition: 0, key: key, value: value, headers: [])
/// try producer.sendOffsets([orders: 42], membership: membership, timeout: .seconds(1))
/// try producer.commit(timeout: .seconds(1))
/// ```
public final class TransactionalProducer {
    private let configuration: KafkaConfiguration
    private let hooks: ClientHooks
    private let decisionTimeout: Duration?
    private let silence: BrokerSilence?
    /// What was not confirmed when that was last asked.
    private var unconfirmed: Int32 = 0
    /// How many connections the client had lost by the last commit.
    private var closedConnections = 0
    private var client: TransactionalClient?
    /// Which of several transactional ids is in use. The first is the configured one, the others have this number appended.
    private var generation = 0
    /// So many, since brokers keep each for days. Whatever is late must be later than that many ids were left behind.
    private static let generations = 8
    /// How long it is waited before it is looked whether brokers confirm anything.
    private static let step = Duration.milliseconds(100)
    /// Whether the owner has called ``initTransactions(timeout:)`` with success since it dropped the last client.
    private var isInitialised = false
    /// Clients that take over ids which were left behind, so that what is late there is refused.
    private var fences: [TransactionalClient] = []
    /// Those that nobody waits for any longer. What was open under their ids is decided, but cannot be ended yet.
    private var dangling: [TransactionalClient] = []
    private var danglingAskedAt = ContinuousClock.now
    /// Clients that were dropped in the middle of a call, to be freed when it has ended.
    private var stuck: [TransactionalClient] = []
    /// What was produced to each topic and is not handed to librdkafka yet.
    private var topics: [TransactionalTopic] = []

    /// A producer that must be initialised before its first transaction.
    ///
    /// - Parameters:
    ///   - configuration: needs `transactional.id`, the name under which a successor fences this producer.
    ///   - hooks: told what no call returns.
    ///   - decisionTimeout: how long the transactional id is waited for while the coordinator cannot end what was open under it,
    ///     for example since a partition in it has no leader. Then the producer goes on under another. Nil waits on, as
    ///     whoever keeps others out by the id alone must.
    ///   - silence: when a transaction that no broker confirms anything of is given up. Nil waits as long as librdkafka does.
    /// - Throws: ``KafkaError`` when librdkafka refuses a property.
    public init(
        configuration: KafkaConfiguration,
        hooks: ClientHooks,
        decisionTimeout: Duration? = nil,
        silence: BrokerSilence? = nil
    ) throws(KafkaError) {
        self.configuration = configuration
        self.hooks = hooks
        self.silence = silence
        self.decisionTimeout = decisionTimeout
        client = try makeClient(id: transactionalID)
    }

    deinit { dropClient() }

    /// A topic to produce to; make it once and keep it.
    ///
    /// - Parameters:
    ///   - name: the topic's name.
    ///   - properties: librdkafka's topic properties for this topic alone, such as `compression.type`.
    public func topic(
        _ name: String,
        properties: [String: String] = [:]
    ) throws(KafkaError) -> TransactionalTopic {
        let topic = TransactionalTopic(name: name, properties: properties)
        if let client, client.isReady { try topic.connect(to: client.handle) }
        topics.append(topic)
        return topic
    }

    /// The name under which a successor ends what this producer leaves open.
    public var transactionalID: String { Self.transactionalID(configured, generation: generation) }

    private var configured: String { configuration["transactional.id"] ?? "" }

    /// Under which id a producer goes on that has left so many behind.
    public static func transactionalID(_ configured: String, generation: Int) -> String {
        generation % generations == 0 ? configured : "\(configured)/\(generation % generations)"
    }

    /// Whether transactions can begin at once.
    public var isReady: Bool {
        fences.isEmpty && (client.map { $0.isReady && !$0.lateRequests.isSuspect } ?? false)
    }

    /// Takes over the transactional id: fences its former user and ends what that left open.
    ///
    /// A call that ends with ``KafkaError/Remedy/retry`` is resumed by the next, and goes on in the background until then.
    public func initTransactions(timeout: Duration) throws(KafkaError) {
        if client?.lateRequests.isSuspect ?? false { leaveClient() }
        if client == nil { client = try makeClient(id: transactionalID) }
        // Both ask at the same time: each goes on in the background after its call has ended.
        if !fences.isEmpty { _ = try? initClient(timeout: .milliseconds(1)) }
        while !fences.isEmpty {
            let last = fences.count - 1
            if try !takesOverID(&fences[last], timeout) { dangling.append(fences[last]) }
            fences.removeLast()
        }
        try initClient(timeout: timeout)
        isInitialised = true
    }

    private func initClient(timeout: Duration) throws(KafkaError) {
        while var asking = client, !asking.isReady {
            defer { client = asking }
            if try takesOverID(&asking, timeout) {
                for topic in topics { try topic.connect(to: asking.handle) }
                asking.isReady = true
            } else {
                dangling.append(asking)
                nextGeneration()
                asking = try makeClient(id: transactionalID)
            }
        }
    }

    /// - Returns: whether the client has its id, and not whether it should go on asking without being waited for.
    private func takesOverID(
        _ client: inout TransactionalClient,
        _ timeout: Duration
    ) throws(KafkaError) -> Bool {
        let mayBeLeft = dangling.count < Self.generations - 1
        return try client.takesOverID(timeout: timeout, decisionTimeout: mayBeLeft ? decisionTimeout : nil)
    }

    private func nextGeneration() {
        repeat {
            generation = (generation + 1) % Self.generations
        } while dangling.contains { $0.transactionalID == transactionalID }
    }

    /// Lets go of the client and all it has under way; ``initTransactions(timeout:)`` makes another.
    public func drop() {
        isInitialised = false
        leaveClient()
    }

    private func leaveClient() {
        if let client, client.mayLeaveOffsets {
            let former = transactionalID
            nextGeneration()
            // Where librdkafka refuses to make a client, the next call that makes one says so.
            if let fence = try? makeClient(id: former) { fences.append(fence) }
        }
        dropClient()
    }

    /// Begins a transaction. A local call, unless a suspect has to be replaced first.
    public func begin(timeout: Duration = .seconds(1)) throws(KafkaError) {
        if isInitialised, !isReady { try initTransactions(timeout: timeout) }
        for topic in topics { topic.batch?.removeAll() }
        let handle = try ready
        client?.lateRequests.began(closedConnections: handle.closedConnections)
        try check(rd_kafka_begin_transaction(handle.pointer))
        unconfirmed = 0
        silence?.began()
    }

    /// Makes the group's committed offsets part of the transaction.
    ///
    /// - Parameters:
    ///   - offsets: of each partition, the next offset to read.
    ///   - metadata: kept beside each offset.
    ///   - membership: the generation to which the partitions belong, so that the broker can refuse it later.
    ///   - timeout: how long to wait. After ``KafkaError/Remedy/retry``, such as at its end, the same call goes on waiting.
    public func sendOffsets(
        _ offsets: [TopicPartition: Offset],
        metadata: String = "",
        membership: ConsumerGroupMetadata,
        timeout: Duration
    ) throws(KafkaError) {
        let handle = try ready
        try handOver()
        // The thread of the call alone uses these until it has ended.
        nonisolated(unsafe) let list = PartitionList(offsets: offsets, metadata: metadata)
        nonisolated(unsafe) let membership = membership
        do throws(KafkaError) {
            try timed("sending offsets", sendsOffsets: true) { () throws(KafkaError) in
                try call(timeout: timeout, sendsOffsets: true) { producer in
                    list.withPointer {
                        rd_kafka_send_offsets_to_transaction(producer, $0, membership.pointer, -1)
                    }
                }
            }
        } catch {
            // The transaction failed meanwhile. librdkafka tells why to whoever begins one now, which it refuses.
            if error.code == .state { try check(rd_kafka_begin_transaction(handle.pointer)) }
            throw error
        }
    }

    /// Makes a call, or goes on waiting for the one that is under way.
    private func call(
        timeout: Duration,
        sendsOffsets: Bool = false,
        _ body: @escaping @Sendable (OpaquePointer) -> OpaquePointer?
    ) throws(KafkaError) {
        var client = try readyClient
        client.begin(sendsOffsets: sendsOffsets, body)
        self.client = client
        try waiting(timeout) { client.outcome(within: $0) }
    }

    /// Waits for an outcome in short steps, and in between looks whether any broker confirms anything.
    private func waiting(
        _ timeout: Duration,
        _ wait: (Duration) -> CallThread.Outcome?
    ) throws(KafkaError) {
        let handle = try ready
        let deadline = ContinuousClock.now + timeout
        while true {
            if let outcome = wait(min(Self.step, max(.zero, deadline - .now))) {
                try outcome.get()
                silence?.ended()
                return
            }
            rd_kafka_poll(handle.pointer, 0)
            let left = rd_kafka_outq_len(handle.pointer)
            if left < unconfirmed { silence?.ended() }
            unconfirmed = left
            try silence?.check(isConnectionLost: handle.closedConnections != closedConnections)
            guard ContinuousClock.now < deadline else { throw KafkaError(code: .timedOut, isRetriable: true) }
        }
    }

    /// Waits for all deliveries, then commits. When it returns, the transaction is committed.
    ///
    /// After ``KafkaError/Remedy/retry``, such as at the end of `timeout`, the same call goes on waiting.
    public func commit(timeout: Duration) throws(KafkaError) {
        let handle = try ready
        // Records may take long for reasons of their own, which must not make the producer a suspect.
        try flush(timeout: timeout)
        try timed("committing") { () throws(KafkaError) in
            try call(timeout: timeout) { rd_kafka_commit_transaction($0, -1) }
        }
        silence?.committed()
        closedConnections = handle.closedConnections
    }

    /// Waits until everything that was produced is written, if not yet decided about. A commit does so by itself.
    public func flush(timeout: Duration) throws(KafkaError) {
        let handle = try ready
        try handOver()
        try waiting(timeout) { step in
            guard let error = KafkaError(rd_kafka_flush(handle.pointer, step.milliseconds)) else {
                return .success(())
            }
            return error.code == .timedOut ? nil : .failure(error)
        }
    }

    /// Serves the hooks, waiting for at most `timeout`. A client that is not polled keeps what it has to tell, statistics
    /// among it, without end.
    public func poll(timeout: Duration) {
        if let client { rd_kafka_poll(client.handle.pointer, timeout.milliseconds) }
        // librdkafka 2.16 may never end the call; what such a client has to tell must not pile up.
        for client in stuck { rd_kafka_poll(client.handle.pointer, 0) }
        stuck.removeAll { $0.outcome(within: .zero) != nil }
        // Each call asks the coordinator at once.
        guard !dangling.isEmpty, .now - danglingAskedAt > .seconds(1) else { return }
        danglingAskedAt = .now
        dangling.removeAll { client in
            do throws(KafkaError) {
                try client.askForID(timeout: .milliseconds(1))
                return true
            } catch {
                return error.remedy != .retry
            }
        }
    }
}

// MARK: - The client

extension TransactionalProducer {
    private static let notInitialised = KafkaError(code: .state, message: "no producer is initialised")

    /// The client, once its transactional id is taken over.
    private var readyClient: TransactionalClient {
        get throws(KafkaError) {
            guard let client, client.isReady else { throw Self.notInitialised }
            return client
        }
    }

    private var ready: ClientHandle { get throws(KafkaError) { try readyClient.handle } }

    private func makeClient(id: String) throws(KafkaError) -> TransactionalClient {
        try TransactionalClient(transactionalID: id, configuration: configuration, hooks: hooks)
    }

    private func dropClient() {
        closedConnections = 0
        for topic in topics { topic.disconnect() }
        if let client, client.isCalling { stuck.append(client) }
        client = nil
    }

    private func handOver() throws(KafkaError) {
        for topic in topics { try topic.batch?.flush() }
    }

    private func timed(
        _ name: String,
        sendsOffsets: Bool = false,
        _ call: () throws(KafkaError) -> Void
    ) throws(KafkaError) {
        let start = ContinuousClock.now
        defer {
            let duration = ContinuousClock.now - start
            let closed = client?.handle.closedConnections ?? 0
            if client?.lateRequests.took(duration, sendsOffsets: sendsOffsets, closedConnections: closed)
                ?? false
            {
                hooks.logger.debug(
                    "a connection broke while \(name): a request may have been sent twice; taking the id over anew"
                )
                hooks.onSuspect?()
            }
        }
        try call()
    }

    private func check(_ error: OpaquePointer?) throws(KafkaError) {
        guard let error = KafkaError(consuming: error) else { return }
        throw client?.handle.explained(error) ?? error
    }
}
