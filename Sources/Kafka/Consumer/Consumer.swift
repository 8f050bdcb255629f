import CRdKafka

/// A Kafka consumer on partitions of its own choice (``assign(_:)``). A group's member is a ``GroupConsumer``.
///
/// It belongs to one thread: calls block that thread, those with a `timeout` for at most that long. That is why it is not
/// `Sendable`.
///
/// ## Topics
/// ### Reading
/// - ``poll(maxRecords:timeout:)``
/// - ``RecordBatch``
/// ### Partitions
/// - ``assign(_:)``
/// - ``committed(_:timeout:)``
/// - ``watermarks(of:timeout:)``
/// ### Leaving
/// - ``close()``
public final class Consumer {
    private let handle: ClientHandle
    private let context: ConsumerContext
    /// The consumer's own queue: records, rebalances and errors in one order.
    private let queue: OpaquePointer
    private var messages: UnsafeMutableBufferPointer<UnsafeMutablePointer<rd_kafka_message_t>?>
    private var held = 0
    private var isClosed = false
    private var isReading = false

    /// A consumer that reads nothing yet.
    ///
    /// - Parameters:
    ///   - configuration: needs `group.id`, also where no group is joined.
    ///   - hooks: told what no call returns.
    /// - Throws: ``KafkaError`` when librdkafka refuses a property.
    public init(configuration: KafkaConfiguration, hooks: ClientHooks) throws(KafkaError) {
        let context = ConsumerContext()
        handle = try ClientHandle(.consumer, configuration: configuration, hooks: hooks, context: context) {
            rd_kafka_conf_set_rebalance_cb($0, rebalanceCallback)
        }
        self.context = context
        // One queue for everything: the callbacks of the main queue are served by polling the consumer.
        rd_kafka_poll_set_consumer(handle.pointer)
        guard let queue = rd_kafka_queue_get_consumer(handle.pointer) else {
            throw KafkaError(code: .invalidArgument, message: "a consumer needs the property group.id")
        }
        self.queue = queue
        messages = .allocate(capacity: 1)
    }

    deinit {
        releaseMessages()
        messages.deallocate()
        rd_kafka_queue_destroy(queue)
    }

    /// Joins the group and takes part in sharing out the topics' partitions. Of what the group assigns nothing is read before
    /// ``assign(_:)`` says from where.
    func subscribe(to topics: [String]) throws(KafkaError) {
        isReading = true
        let list = PartitionList(topics.map { TopicPartition(topic: $0, partition: -1) })
        let code = list.withPointer { rd_kafka_subscribe(handle.pointer, $0) }
        if let error = KafkaError(code) { throw error }
    }

    /// Reads exactly these partitions from these offsets, in place of any read before.
    ///
    /// With a group it chooses where to begin within what the group assigned.
    public func assign(_ offsets: [TopicPartition: Offset]) throws(KafkaError) {
        isReading = true
        let list = PartitionList(offsets: offsets)
        let code = list.withPointer { rd_kafka_assign(handle.pointer, $0) }
        if let error = KafkaError(code) { throw error }
        awaitStops()
    }

    /// The oldest rebalance that was told by polling and is not taken yet.
    func nextRebalance() -> Rebalance? {
        context.rebalances.isEmpty ? nil : context.rebalances.removeFirst()
    }

    /// Waits until librdkafka has stopped reading what was assigned before, which it does in the background.
    ///
    /// If these partitions were taken away once more meanwhile, as by a rebalance that is told right after they were
    /// rewound, it would stop them twice and end the process with an assertion (librdkafka issue 5573, in all versions
    /// up to 2.15). Its main thread works in order: at the first answer it has told the partitions to stop, at the
    /// second it knows that they have.
    private func awaitStops() {
        for _ in 0..<2 {
            var assignment: UnsafeMutablePointer<rd_kafka_topic_partition_list_t>?
            rd_kafka_assignment(handle.pointer, &assignment)
            if let assignment { rd_kafka_topic_partition_list_destroy(assignment) }
        }
    }

    /// Takes the records at hand: waits up to `timeout` for the first, then takes what has arrived already.
    ///
    /// The batch is valid until the next call.
    /// - Throws: ``KafkaError`` when the consumer is beyond recovery, for example fenced by another one with the
    ///   same `group.instance.id`. What concerns one partition comes as an element.
    public func poll(maxRecords: Int, timeout: Duration) throws(KafkaError) -> RecordBatch {
        releaseMessages()
        if maxRecords > messages.count {
            messages.deallocate()
            messages = .allocate(capacity: maxRecords)
        }
        // librdkafka's batch call waits until it has all it was asked for. Asking for one with the timeout, then
        // for the rest without, gives what is at hand as soon as there is anything.
        held = receive(into: 0, count: min(1, maxRecords), timeout: timeout)
        if held == 1, maxRecords > 1 {
            held += receive(into: 1, count: maxRecords - 1, timeout: .zero)
        }
        // Records taken before a revocation in the same call are another member's to process by now.
        if !context.rebalances.isEmpty { releaseRecords() }
        if let error = handle.fatalError { throw error }
        return RecordBatch(messages: UnsafeBufferPointer(rebasing: messages[..<held]))
    }

    private func receive(into start: Int, count: Int, timeout: Duration) -> Int {
        guard let base = messages.baseAddress else { return 0 }
        return max(0, rd_kafka_consume_batch_queue(queue, timeout.milliseconds, base + start, count))
    }

    /// Keeps errors: librdkafka tells some of them only once.
    private func releaseRecords() {
        var kept = 0
        for index in 0..<held {
            guard let message = messages[index] else { continue }
            if message.pointee.err == RD_KAFKA_RESP_ERR_NO_ERROR {
                rd_kafka_message_destroy(message)
            } else {
                messages[kept] = message
                kept += 1
            }
        }
        held = kept
    }

    private func releaseMessages() {
        for message in messages[..<held] { rd_kafka_message_destroy(message) }
        held = 0
    }

    /// How many connections to brokers were closed, or could not be made.
    public var closedConnections: Int { handle.closedConnections }

    /// Whether this member has ever heard nothing from its group's coordinator for `session.timeout.ms`, and so took itself to be
    /// expelled. librdkafka forgets its member id then, and a static member may be fenced by its former self when it comes back.
    public var sessionTimedOut: Bool { handle.sessionTimedOut }

    /// The group's committed offset of each partition; nil where none was committed.
    ///
    /// Under `isolation.level=read_committed` the broker answers only once no transaction is undecided about them.
    public func committed(
        _ partitions: [TopicPartition],
        timeout: Duration
    ) throws(KafkaError) -> [TopicPartition: Offset?] {
        try committedList(partitions, timeout: timeout).offsets()
    }

    /// The metadata kept beside the group's committed offset of each partition; empty where there is none.
    public func committedMetadata(
        _ partitions: [TopicPartition],
        timeout: Duration
    ) throws(KafkaError) -> [TopicPartition: String] {
        try committedList(partitions, timeout: timeout).metadata()
    }

    private func committedList(
        _ partitions: [TopicPartition],
        timeout: Duration
    ) throws(KafkaError) -> PartitionList {
        let list = PartitionList(partitions)
        // librdkafka takes a question about nothing for an error.
        guard !partitions.isEmpty else { return list }
        let code = list.withPointer { rd_kafka_committed(handle.pointer, $0, timeout.milliseconds) }
        if let error = KafkaError(code) { throw error }
        return list
    }

    /// Stores offsets for the group, outside any transaction.
    public func commit(_ offsets: [TopicPartition: Offset]) throws(KafkaError) {
        let list = PartitionList(offsets: offsets)
        let code = list.withPointer { rd_kafka_commit(handle.pointer, $0, 0) }
        if let error = KafkaError(code) { throw error }
    }

    /// The ends of partitions' logs. Under `read_committed` the high end is the last stable offset; a consumer set to
    /// `read_uncommitted` gets the log's true end.
    public func watermarks(
        of partitions: [TopicPartition],
        timeout: Duration
    ) throws(KafkaError) -> [TopicPartition: Watermarks] {
        let beginning = Offset(RD_KAFKA_OFFSET_BEGINNING)
        let low = try listOffsets(at: partitions.map { ($0, beginning) }, timeout: timeout)
        let high = try endOffsets(of: partitions, timeout: timeout)
        return low.reduce(into: [:]) { watermarks, entry in
            guard let high = high[entry.key] else { return }
            watermarks[entry.key] = Watermarks(low: entry.value, high: high)
        }
    }

    /// The high ends alone: the offset that the next record gets, or the last stable one.
    public func endOffsets(
        of partitions: [TopicPartition],
        timeout: Duration
    ) throws(KafkaError) -> [TopicPartition: Offset] {
        try listOffsets(at: partitions.map { ($0, Offset(RD_KAFKA_OFFSET_END)) }, timeout: timeout)
    }

    /// Each partition's oldest record from a time on, in milliseconds since 1970; one that has none is left out.
    public func offsets(
        since times: [TopicPartition: Int64],
        timeout: Duration
    ) throws(KafkaError) -> [TopicPartition: Offset] {
        try listOffsets(at: times.map { ($0, max(0, $1)) }, timeout: timeout)
    }

    /// Asks all leaders at once. `rd_kafka_query_watermark_offsets` would ask for one partition at a time, and heeds its
    /// timeout only where a broker answers at all.
    private func listOffsets(
        at times: [(TopicPartition, Int64)],
        timeout: Duration
    ) throws(KafkaError) -> [TopicPartition: Offset] {
        // In the place of a time the protocol knows the two logical offsets.
        let list = PartitionList(offsets: times)
        // librdkafka takes a question about nothing for an error.
        guard !times.isEmpty else { return [:] }
        let code = list.withPointer { rd_kafka_offsets_for_times(handle.pointer, $0, timeout.milliseconds) }
        if let error = KafkaError(code) { throw error }
        return try list.offsets().compactMapValues { $0 }
    }

    /// The cluster's brokers and the partitions of the topics named.
    public func metadata(topics: [String], timeout: Duration) throws(KafkaError) -> ClusterMetadata {
        // What went wrong in the background says more than that no answer came. Once something is read, `poll` tells it.
        defer { if !isReading { _ = receive(into: 0, count: 1, timeout: .zero) } }
        return try handle.metadata(topics: topics, timeout: timeout)
    }

    /// All partitions of topics.
    ///
    /// - Throws: ``KafkaError``, also for what is wrong with a topic, such as that it does not exist.
    public func partitions(of topics: [String], timeout: Duration) throws(KafkaError) -> [TopicPartition] {
        let metadata = try metadata(topics: topics, timeout: timeout)
        var partitions: [TopicPartition] = []
        for name in topics {
            guard let topic = metadata[name] else {
                throw metadata.topics.lazy.compactMap(\.error).first
                    ?? KafkaError(code: .unknownTopic, message: "topic \(name) is unknown")
            }
            partitions += (0..<Int32(clamping: topic.partitionCount)).map {
                TopicPartition(topic: name, partition: $0)
            }
        }
        return partitions
    }

    /// Leaves the group, where it is in one, and ends all reading.
    public func close() {
        guard !isClosed else { return }
        isClosed = true
        // An assignment that was not told yet would be told by rd_kafka_consumer_close, too late for the answer that the
        // callback has to give: librdkafka 2.0.2 would wait for ever.
        for _ in 0..<10 {
            releaseMessages()
            held = receive(into: 0, count: 1, timeout: .zero)
        }
        releaseMessages()
        rd_kafka_consumer_close(handle.pointer)
    }
}

/// A change of the partitions that a group gives a consumer.
enum Rebalance {
    /// `membership` is the generation that the partitions belong to.
    case assigned([TopicPartition], membership: ConsumerGroupMetadata?)
    /// The group took all partitions back, or could not be joined for this reason.
    case revoked(KafkaError?)
}

/// What the rebalance callback finds behind the opaque pointer. Only the polling thread touches it.
private final class ConsumerContext: ClientContext {
    /// Told by polling and not taken yet.
    var rebalances: [Rebalance] = []
}

private func rebalanceCallback(
    client: OpaquePointer?,
    code: rd_kafka_resp_err_t,
    list: UnsafeMutablePointer<rd_kafka_topic_partition_list_t>?,
    opaque: UnsafeMutableRawPointer?
) {
    guard let client, let list, let context = ClientContext.of(client) as? ConsumerContext else { return }
    if code == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS {
        // The membership is taken before assign is called: until then no later generation can begin.
        let membership = ConsumerGroupMetadata(of: client)
        context.rebalances.append(.assigned(PartitionList.partitions(of: list), membership: membership))
        _ = PartitionList([]).withPointer { rd_kafka_assign(client, $0) }
    } else {
        let isRevocation = code == RD_KAFKA_RESP_ERR__REVOKE_PARTITIONS
        context.rebalances.append(.revoked(isRevocation ? nil : KafkaError(code)))
        rd_kafka_assign(client, nil)
    }
}
