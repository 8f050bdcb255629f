import CRdKafka
import Dispatch

// The life of a transaction (KIP-98), and the facts about brokers and librdkafka (2.0.2 to 2.16) behind each step.
//
// 1. `initTransactions` takes over the transactional ids of a set. Brokers abort what a predecessor left open under an id, and
//    refuse whatever it sends later. All ids are taken over before the set's first transaction: taking one over later could undo a
//    successor's fence. While a partition of an id's open transaction has no leader, the coordinator cannot hand over that id, and
//    the next set is tried.
// 2. `begin` takes the next producer in turn. While brokers write the markers of a commit, they make the same producer's next
//    transaction back off for 20 ms, or with librdkafka 2.0.2 for 100 ms. Brokers know only one transaction at a time, from its
//    first record on, so records become visible in the order of the commits.
// 3. `produce` hands records to librdkafka in batches. `send_offsets_to_transaction` (KIP-447) is not used: it costs two round
//    trips, and did not always return (2.10 and later).
// 4. `flush` waits for the delivery reports and checks them: `rd_kafka_flush` succeeds as soon as nothing is left to send, even if
//    records failed. The reports have the records' offsets, which show whether the log is still the one that was written to.
// 5. `commit` flushes, then commits on another thread, without a timeout: librdkafka's own timeout must never expire, and its
//    commit never be resumed (issues 4016, 4054). So the caller's timeout only ends its wait, and the next call goes on waiting.
// 6. While a call waits, `InactivityTimeout` gives the transaction up if no broker confirms anything of it. librdkafka would wait
//    for a dead broker as long as a transaction may last.
// 7. After any error but a retriable one the whole set is dropped, and it is unknown whether the transaction is committed. No
//    producer is used again after an abort: when a connection breaks, librdkafka silently resends a request, and a late copy of a
//    commit would commit the next transaction of the same epoch half-done. The brokers' own defence (KIP-890, transaction.version
//    2) does not apply, since librdkafka speaks EndTxn v1.
// 8. A dropped client is purged and begins to abort before it is destroyed: see `ClientHandle`. A client that is stuck in a call is
//    left behind. `ProducerFence` ends whatever is still open under the ids of a former set, the session's own or a predecessor's.

/// Runs transactions one after the other. The records of each, in several partitions, become visible all at once or never.
///
/// A session uses one set of transactional ids at a time, and the producers of the set in turn. After a failed transaction it goes
/// on with the next set, and only the brokers know what became of the former one. Fence the former ids before reading what the
/// session wrote: see `ProducerFence`. A session belongs to one thread.
///
/// ```swift
/// let session = TransactionSession(
///     ids: { ["till-1/\($0)/0", "till-1/\($0)/1"] }, setCount: 8, topics: [("out", [:])], configuration: configuration,
///     hooks: hooks)
/// try session.initTransactions(timeout: .seconds(1))
/// try session.begin()
/// try session.produce(to: 0, partition: 0, key: key, value: value, headers: [])
/// try session.commit(timeout: .seconds(1))
/// ```
public final class TransactionSession {
    private let ids: (_ set: Int) -> [String]
    private let setCount: Int
    private let topics: [(name: String, properties: [String: String])]
    private let configuration: KafkaConfiguration
    private let hooks: ClientHooks

    /// The number of the set that was made last.
    private var set: Int
    /// The producers of the set in use. Each holds its id.
    private var producers: [TransactionalProducer] = []
    /// The producers of the next set, which are taking over their ids.
    private var next: [TransactionalProducer] = []
    /// Left by each client that has ended.
    private let ends = DispatchGroup()

    /// The producer whose turn it is, and whether it has begun its transaction already.
    private var (turn, hasBegun) = (0, false)
    /// Whether the set in use has had a transaction.
    private var isUsed = false
    private var open: TransactionalProducer? {
        didSet { batches = open?.batches.map { .passUnretained($0) } ?? [] }
    }
    /// Its batches. Counting references would cost a fortieth of an order's time.
    private var batches: [Unmanaged<ProduceBatch>] = []
    /// Whether brokers have all records of the open transaction so far.
    private var isFlushed = false
    private var delivered = DeliveredOffsets()
    private var inactivity: InactivityTimeout?
    /// How many records were unconfirmed when the queue was last checked.
    private var unconfirmed: Int32 = 0
    private var leaders = MetadataRefresh()

    /// Whether a connection broke in a committed transaction of the set in use. librdkafka may then have sent a request twice, and
    /// a late copy may commit another transaction of the same producer half-done.
    public private(set) var hasLostConnection = false

    /// How long a set or a fence waits while the coordinator cannot end a transaction left open under one of its ids. An id may be
    /// stuck for as long as a partition has no leader, and another set serves as well.
    static let decisionTimeout = Duration.seconds(1)
    /// How often a waiting call checks whether brokers confirm anything.
    private static let step = Duration.milliseconds(100)

    /// A session without producers. It begins with a random set, since it is unknown which sets a former process has left behind.
    ///
    /// - Parameters:
    ///   - ids: the transactional ids of the set of this number, from 0 to `setCount - 1`. No other session may use them.
    ///   - setCount: how many sets there are. The ids of a single set are taken over each time, and waited for without limit.
    ///   - topics: the topics' names and librdkafka's properties for each. Records refer to a topic by its index here.
    ///   - inactivityTimeout: after how long a transaction is given up if a connection broke and no broker confirms anything. It
    ///     doubles with each transaction that is given up, until one commits. Nil waits as long as librdkafka does.
    ///   - configuration: that of each producer, except its id.
    ///   - hooks: receive the events of all producers.
    public init(
        ids: @escaping (_ set: Int) -> [String], setCount: Int = 1, topics: [(name: String, properties: [String: String])],
        inactivityTimeout: Duration? = nil, configuration: KafkaConfiguration, hooks: ClientHooks
    ) {
        (self.ids, self.setCount, self.topics) = (ids, max(1, setCount), topics)
        (self.configuration, self.hooks) = (configuration, hooks)
        inactivity = inactivityTimeout.map { InactivityTimeout(least: $0) }
        set = .random(in: 0..<self.setCount)
    }

    deinit {
        drop()
        // The process may be about to exit, which must not happen in the middle of librdkafka's work.
        ends.hasEnded(within: ClientEnd.patience)
    }

    /// Serves the producers' hooks. Call it now and then while there is nothing to write: errors that are not served pile up.
    public func poll() { for producer in producers + next { producer.handle.poll(timeout: .zero) } }

    // MARK: - Sets of producers

    /// Whether the producers hold their ids, and none has failed.
    public var isReady: Bool { !producers.isEmpty }

    /// Begins to make the next set without waiting, so that a later ``initTransactions(timeout:)`` is quick, and drops the set in
    /// use: each set has a connection to every broker and one more to each coordinator. Does nothing while that set is unused.
    public func prepare() {
        guard next.isEmpty, isUsed || !isReady else { return }
        dropCurrent()
        do throws(KafkaError) {
            try makeNext()
            try TransactionalProducer.takeOverIDs(of: next, timeout: .zero)
        } catch {
            if error.remedy != .retry { next = [] }
        }
    }

    /// Drops what ``prepare()`` has made if another client has taken over one of these ids since.
    public func discardPrepared(_ ids: Set<String>) {
        if next.contains(where: { ids.contains($0.transactionalID) }) { next = [] }
    }

    /// Drops the set in use, then makes the next one, takes over all its ids and returns them. If the coordinator cannot hand over
    /// one of them, goes on with the set after that.
    ///
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
            for producer in next { try producer.open(topics) }
        } catch {
            if error.remedy != .retry { next = [] }
            throw error
        }
        // The first id always has the first transaction: of two processes that share a set, only one holds it.
        (producers, next, turn, isUsed) = (next, [], 0, false)
        return producers.map(\.transactionalID)
    }

    private func makeNext() throws(KafkaError) {
        set = (set + 1) % setCount
        next = try ids(set).map { id throws(KafkaError) in
            try TransactionalProducer(
                id: id, configuration: configuration, hooks: hooks, decisionTimeout: setCount > 1 ? Self.decisionTimeout : nil,
                ends: ends)
        }
    }

    /// Drops all producers and what they have in progress. They end in the background.
    public func drop() {
        dropCurrent()
        next = []
    }

    private func dropCurrent() {
        if let open { _ = delivered.add(open.reports.take().runs) }
        (producers, open, hasBegun, hasLostConnection) = ([], nil, false, false)
    }

    /// Drops the set, unless the same call may go on.
    private func failed(_ error: KafkaError) -> KafkaError {
        if error.remedy != .retry { dropCurrent() }
        return error
    }

    // MARK: - A transaction

    /// Begins a transaction on the next producer in turn, by a local call.
    public func begin() throws(KafkaError) {
        guard open == nil else { throw failed(KafkaError(code: .state, message: "the last transaction is not over")) }
        guard isReady else { throw KafkaError(code: .state, message: "no producer is initialised") }
        do throws(KafkaError) { try beginNext() } catch { throw failed(error) }
        (open, turn, hasBegun, isUsed) = (producers[turn], (turn + 1) % producers.count, false, true)
        isFlushed = false
        delivered.begin()
        unconfirmed = 0
        inactivity?.began()
    }

    /// Adds a record to the transaction. It is copied and sent in the background together with others, at the latest by
    /// ``flush(timeout:)`` or ``commit(timeout:)``. All three wait while the producer's queue is full.
    ///
    /// `topic` is an index into the topics that the session was made with. `headers` follow those that are copied. A timestamp, in
    /// milliseconds since 1970, costs a call of its own; nil is now.
    /// - Throws: ``KafkaError`` with ``KafkaError/Remedy/startOver``, for this record or an earlier one: a transaction that lacks a
    ///   record must not be committed.
    public func produce(
        to topic: Int, partition: Int32, key: UnsafeRawBufferPointer?, value: UnsafeRawBufferPointer?, headers: [RecordHeader],
        copying: HeaderList? = nil, timestamp: Int64? = nil
    ) throws(KafkaError) {
        guard !batches.isEmpty else { throw .noTransaction }
        isFlushed = false
        var failure: KafkaError?
        batches[topic]._withUnsafeGuaranteedRef { batch in
            do throws(KafkaError) {
                try batch.add(
                    partition: partition, key: key, value: value, headers: headers, copying: copying, timestamp: timestamp)
            } catch { failure = error }
        }
        if let failure { throw failed(open?.reason(of: failure) ?? failure) }
    }

    /// Waits until brokers have every record of the transaction so far. After ``KafkaError/Remedy/retry``, for example a timeout,
    /// the same call goes on waiting.
    public func flush(timeout: Duration) throws(KafkaError) {
        guard let producer = open else { throw .noTransaction }
        do throws(KafkaError) {
            for batch in producer.batches { try batch.flush() }
            try wait(for: producer, timeout: timeout) { step in
                guard let error = KafkaError(rd_kafka_flush(producer.handle.pointer, step.milliseconds)) else {
                    return .success(())
                }
                return error.code == .timedOut ? nil : .failure(error)
            }
            let (failure, runs) = producer.reports.take()
            let shortened = delivered.add(runs)
            if let failure { throw failure.with(\.requiresAbort, true) }
            // What this transaction wrote after the loss must not be committed.
            if let shortened {
                throw KafkaError(
                    code: .offsetOutOfRange,
                    message: "\(shortened) lacks records that were written to it: it was recreated, or lost its end",
                    requiresAbort: true)
            }
            isFlushed = true
        } catch { throw failed(error.remedy == .retry ? error : producer.reason(of: error)) }
    }

    /// Waits for all deliveries, then commits. When it returns, the transaction is committed. After ``KafkaError/Remedy/retry``,
    /// for example a timeout, the same call goes on waiting.
    public func commit(timeout: Duration) throws(KafkaError) {
        guard let producer = open else { throw .noTransaction }
        if !producer.commitThread.isBusy {
            if !isFlushed { try flush(timeout: timeout) }
            producer.beginCommit()
        }
        do throws(KafkaError) {
            try wait(for: producer, timeout: timeout) { step in producer.commitThread.outcome(within: step) }
        } catch { throw failed(error) }
        inactivity?.committed()
        if producer.connectionBroke { hasLostConnection = true }
        producer.forgetConnections()
        open = nil
        // Done while nothing waits for it: the call waits for the client's main thread. The next `begin` reports any error.
        try? beginNext()
    }

    private func beginNext() throws(KafkaError) {
        guard !hasBegun else { return }
        let handle = producers[turn].handle
        if let error = KafkaError(consuming: rd_kafka_begin_transaction(handle.pointer)) { throw handle.explained(error) }
        hasBegun = true
    }

    /// Waits for an outcome in short steps, and checks after each whether any broker confirms anything.
    private func wait(
        for producer: TransactionalProducer, timeout: Duration, _ outcome: (_ step: Duration) -> CallThread.Outcome?
    ) throws(KafkaError) {
        let deadline = ContinuousClock.now + timeout
        while true {
            if let outcome = outcome(min(Self.step, max(.zero, deadline - .now))) {
                try outcome.get()
                inactivity?.confirmed()
                return
            }
            producer.handle.poll(timeout: .zero)
            let left = rd_kafka_outq_len(producer.handle.pointer)
            if left < unconfirmed { inactivity?.confirmed() }
            unconfirmed = left
            let connectionBroke = producer.connectionBroke
            // librdkafka asks only once a second for the new leaders of a lost broker's partitions.
            if connectionBroke { leaders.askIfDue(about: topics.lazy.map(\.name), producer.handle) }
            try inactivity?.check(connectionBroke: connectionBroke)
            guard ContinuousClock.now < deadline else { throw .noAnswer }
        }
    }

    // MARK: - Offsets of written records

    /// Whether a partition lacks records that the session has written: its topic was recreated, or it has lost its end. `end` is
    /// its end offset, open transactions included. Returns true once per loss. The transaction that first meets such a loss fails.
    public func takeLoss(of place: TopicPartition, endingAt end: Offset) -> Bool { delivered.takeLoss(of: place, endingAt: end) }

    /// The offsets of the last transaction's records in each partition of a topic, in order. Markers of earlier transactions may be
    /// between them.
    public func deliveredRanges(in topic: String) -> [Int32: [Range<Offset>]] {
        delivered.transaction.reduce(into: [:]) { if $1.key.topic == topic { $0[$1.key.partition] = $1.value } }
    }
}
