import Dispatch

/// Transactions one after the other: records of several partitions become visible all at once or never.
///
/// A session has a set of producers, each under a transactional id of its own, and uses them in turn. After a commit the broker
/// is still writing markers, which would delay the same producer's next transaction by 20 ms or, with librdkafka 2.0.2, 100 ms.
/// Another producer's need not wait. It belongs to one thread.
///
/// What keeps a record from counting twice, or in the wrong transaction:
/// - All ids of a set are taken over together, before its first transaction. So nothing that an earlier owner of one of them has
///   sent, late requests included, counts in a transaction of this set.
/// - Only one transaction is open at a time, whichever producer has it. So records become visible in the order of commits.
/// - A producer that failed is never used again, and never aborts and goes on. After any error but
///   ``KafkaError/Remedy/retry`` the whole set is dropped, nothing more can be produced, and only brokers know whether the
///   transaction was committed. ``initTransactions(timeout:)`` makes the next set, under other ids where there are several sets.
///   Whoever reads what the session wrote has to fence the ids of the former set first: see ``ProducerFence``.
///
/// ```swift
/// let session = TransactionSession(ids: { ["till-1/\($0)/0", "till-1/\($0)/1"] }, setCount: 8, topics: [("out", [:])]) { _ in
///     (configuration, hooks)
/// }
/// try session.initTransactions(timeout: .seconds(1))
/// try session.begin()
/// try session.produce(to: 0, partition: 0, key: key, value: value, headers: [])
/// try session.commit(timeout: .seconds(1))
/// ```
public final class TransactionSession {
    private let ids: (_ set: Int) -> [String]
    private let setCount: Int
    private let topics: [(name: String, properties: [String: String])]
    private let silence: BrokerSilence?
    private let client: (_ index: Int) -> (KafkaConfiguration, ClientHooks)

    /// The set that was made last, from 0 to `setCount - 1`.
    private var set: Int
    /// The producers of the set in use. Each holds its id.
    private var producers: [TransactionalProducer] = []
    /// The producers of the next set, which ask for their ids.
    private var next: [TransactionalProducer] = []
    private var turn = 0
    /// Left by each client that has ended.
    private let ends = DispatchGroup()
    private let written = WrittenOffsets()
    /// The producer of the open transaction.
    private var open: TransactionalProducer?

    /// How long a set waits while the coordinator cannot end a transaction left open under one of its ids. Such an id may be
    /// stuck for as long as a partition has no leader, and another set serves as well.
    private static let decisionTimeout = Duration.seconds(1)

    /// A session that must be initialised before its first transaction.
    ///
    /// - Parameters:
    ///   - ids: the transactional ids of a set. No other session may use them.
    ///   - setCount: how many sets there are. With a single one its ids are taken over each time, and waited for without limit.
    ///   - topics: the topics' names and librdkafka's properties for each.
    ///     ``produce(to:partition:key:value:headers:timestamp:)`` refers to a topic by its index here.
    ///   - silence: when to give up a transaction of which no broker confirms anything. Nil waits as long as librdkafka does.
    ///   - firstSet: the set to begin with. By default a random one: the sets that a former process left behind are unknown.
    ///   - client: the configuration of each producer of a set, and what receives its events.
    public init(
        ids: @escaping (_ set: Int) -> [String], setCount: Int = 1, topics: [(name: String, properties: [String: String])],
        silence: BrokerSilence? = nil, firstSet: Int? = nil, client: @escaping (_ index: Int) -> (KafkaConfiguration, ClientHooks)
    ) {
        self.ids = ids
        self.setCount = max(1, setCount)
        self.topics = topics
        self.silence = silence
        self.client = client
        set = (firstSet ?? .random(in: 0..<self.setCount)) - 1
    }

    deinit {
        drop()
        // Whoever lets a session go may be about to exit, which must not happen in the middle of librdkafka's work.
        _ = ends.wait(timeout: ClientEnd.patience.fromNow)
    }

    /// Whether ``begin()`` can succeed: the producers hold their ids, and none has failed.
    public var isReady: Bool { !producers.isEmpty }

    /// Whether a connection broke in a transaction of the set in use. librdkafka may have sent a request of it twice then. If the
    /// other copy arrives later, it counts in another transaction of the same producer, and may commit that half-done.
    public var hasLostConnection: Bool { producers.contains(where: \.hasLostConnection) }

    /// Whether a partition lacks records that the session has written: its topic was made anew, or it has lost its end. Says so
    /// once. The transaction that first meets such a loss fails, so that nothing is committed behind it.
    ///
    /// - Parameters:
    ///   - place: a partition.
    ///   - end: where it ends, what is undecided included.
    public func takeLoss(of place: TopicPartition, endingAt end: Offset) -> Bool {
        written.takeLoss(of: place, endingAt: end)
    }

    /// The offset after the last record that is known to be written to a partition, committed or not; nil if there is none.
    public func writtenEnd(of place: TopicPartition) -> Offset? { written.end(of: place) }

    /// Where the records of the last transaction stand in a partition, in the order in which they were written. Markers of earlier
    /// transactions may stand between them.
    public func writtenRanges(of place: TopicPartition) -> [Range<Offset>] { written.transaction(in: place) }

    /// Begins to make the next set without waiting, so that a later ``initTransactions(timeout:)`` is quick. Does nothing if that
    /// has begun.
    public func prepare() {
        guard next.isEmpty else { return }
        do throws(KafkaError) {
            try makeNext()
            try TransactionalProducer.takeOverIDs(of: next, timeout: .zero)
        } catch {
            if error.remedy != .retry { next = [] }
        }
    }

    /// Drops what ``prepare()`` has made if somebody else has got one of these ids since.
    public func discardPrepared(_ ids: Set<String>) {
        if next.contains(where: { ids.contains($0.transactionalID) }) { next = [] }
    }

    /// Drops the set in use, then makes the next one and takes over all its ids.
    ///
    /// If the coordinator cannot hand over one of them, it goes on with the set after that.
    /// - Returns: the ids of the set.
    /// - Throws: ``KafkaError``. After ``KafkaError/Remedy/retry`` the next call goes on with the same set, after any other error
    ///   with the set after it.
    @discardableResult
    public func initTransactions(timeout: Duration) throws(KafkaError) -> [String] {
        dropCurrent()
        let deadline = ContinuousClock.now + timeout
        do throws(KafkaError) {
            while true {
                if next.isEmpty { try makeNext() }
                try TransactionalProducer.takeOverIDs(of: next, timeout: deadline - .now)
                if next.allSatisfy(\.isReady) { break }
                next = []
            }
            for producer in next { try producer.connect(topics) }
        } catch {
            if error.remedy != .retry { next = [] }
            throw error
        }
        (producers, next) = (next, [])
        // The first transaction is always that of the first id: of two processes that share a set, only one holds it.
        turn = producers.count - 1
        return producers.map(\.transactionalID)
    }

    private func makeNext() throws(KafkaError) {
        set = (set + 1) % setCount
        next = try ids(set).enumerated().map { index, id throws(KafkaError) in
            let (configuration, hooks) = client(index)
            return try TransactionalProducer(
                id: id, configuration: configuration, hooks: hooks, decisionTimeout: setCount > 1 ? Self.decisionTimeout : nil,
                silence: silence, written: written, ends: ends)
        }
    }

    /// Drops all producers and everything they have in progress. They end in the background.
    public func drop() {
        dropCurrent()
        next = []
    }

    private func dropCurrent() { (producers, open) = ([], nil) }

    /// Serves the producers' hooks. Call it now and then while there is nothing to write: events of a client that is never
    /// polled, such as its statistics, pile up without limit.
    public func poll() {
        for producer in producers + next { producer.poll() }
    }
}

// MARK: - A transaction

extension TransactionSession {
    /// Begins a transaction on the next producer in turn, by a local call.
    public func begin() throws(KafkaError) {
        guard open == nil else { throw fail(Self.stateError("the last transaction is not over")) }
        guard isReady else { throw Self.stateError("no producer is initialised") }
        turn = (turn + 1) % producers.count
        open = producers[turn]
        written.begin()
        try call { producer throws(KafkaError) in try producer.begin() }
    }

    /// Adds a record to the transaction. It is copied and sent in the background together with others, at the latest by
    /// ``flush(timeout:)`` or ``commit(timeout:)``. All three wait while the producer's queue is full.
    ///
    /// `topic` is an index into the topics that the session was made with. The timestamp, in milliseconds since 1970, is
    /// ignored for records without headers; nil is now.
    /// - Throws: ``KafkaError`` with ``KafkaError/Remedy/startOver``, for this record or an earlier one: a transaction that
    ///   lacks a record must not be committed.
    public func produce(
        to topic: Int, partition: Int32, key: UnsafeRawBufferPointer?, value: UnsafeRawBufferPointer?, headers: [RecordHeader],
        timestamp: Int64? = nil
    ) throws(KafkaError) {
        try call { producer throws(KafkaError) in
            try producer.produce(to: topic, partition: partition, key: key, value: value, headers: headers, timestamp: timestamp)
        }
    }

    /// Waits until brokers have every record of the transaction so far. What is produced after that is never written without it.
    ///
    /// After ``KafkaError/Remedy/retry``, for example a timeout, the same call goes on waiting.
    public func flush(timeout: Duration) throws(KafkaError) {
        try call { producer throws(KafkaError) in try producer.flush(timeout: timeout) }
    }

    /// Waits for all deliveries, then commits. When it returns, the transaction is committed.
    ///
    /// After ``KafkaError/Remedy/retry``, for example a timeout, the same call goes on waiting.
    public func commit(timeout: Duration) throws(KafkaError) {
        try call { producer throws(KafkaError) in try producer.commit(timeout: timeout) }
        open = nil
    }

    /// Makes a call on the producer of the open transaction.
    @inline(__always)
    private func call(_ body: (TransactionalProducer) throws(KafkaError) -> Void) throws(KafkaError) {
        guard let open else { throw Self.stateError("no transaction is open") }
        do throws(KafkaError) { try body(open) } catch { throw fail(error) }
    }

    /// Drops the set, unless the same call may go on.
    private func fail(_ error: KafkaError) -> KafkaError {
        if error.remedy != .retry { dropCurrent() }
        return error
    }

    private static func stateError(_ message: String) -> KafkaError {
        KafkaError(code: .state, message: message)
    }
}
