import CRdKafka
import Synchronization

/// A Kafka consumer. It chooses its partitions itself, with ``assign(_:)``, or is a member of a group, with ``subscribe(to:)``.
///
/// ```swift
/// let member = try Consumer(configuration: configuration, hooks: hooks)
/// try member.subscribe(to: ["orders"])
/// let batch = try member.poll(maxRecords: 1000, timeout: .milliseconds(100))
/// switch batch.rebalance {
/// case .assigned(let partitions): try member.assign(offsets(of: partitions))
/// case .revoked: forget()
/// case nil: process(batch)
/// }
/// ```
///
/// It belongs to one thread. Its calls block that thread, those with a `timeout` for at most that long.
public final class Consumer {
    let handle: ClientHandle
    private let context: ConsumerContext
    /// Records, rebalances and errors, in order.
    private let queue: OpaquePointer
    let configuration: KafkaConfiguration
    let hooks: ClientHooks
    private var messages: UnsafeMutableBufferPointer<UnsafeMutablePointer<rd_kafka_message_t>?>
    /// How many of `messages` hold a message, which has to be destroyed.
    private var held = 0
    private var isClosed = false
    private var isReading = false
    private var leaders = MetadataRefresh()
    private var topics: Set<String> = []
    /// Whether it has subscribed to topics, as a member of a group.
    private(set) var isMember = false
    /// What a consumer without a group has opened, and which partitions it reads.
    private var simple = (topics: [String: ClientTopic](), partitions: [TopicPartition]())

    /// A consumer that reads nothing yet. With the property `group.id` it connects to the coordinator of that group, even if it
    /// does not join. Throws ``KafkaError`` when librdkafka refuses a property.
    ///
    /// - Parameters:
    ///   - configuration: librdkafka's properties.
    ///   - hooks: receive the client's events.
    ///   - patience: how long to wait for its end once it is released.
    public init(
        configuration: KafkaConfiguration, hooks: ClientHooks, patience: Duration = .seconds(1)
    ) throws(KafkaError) {
        (self.configuration, self.hooks, context) = (configuration, hooks, ConsumerContext(hooks))
        handle = try ClientHandle(RD_KAFKA_CONSUMER, configuration: configuration, context: context, patience: patience) {
            rd_kafka_conf_set_rebalance_cb($0) { client, code, list, _ in
                guard let client, let list, let context = ClientContext.of(client) as? ConsumerContext else { return }
                if code == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS {
                    let partitions = UnsafePointer(list).partitions
                    context.rebalances.withLock { $0.append(.assigned(partitions)) }
                    try? PartitionList([TopicPartition]()).lend { rd_kafka_assign(client, $0) }
                } else {
                    let isRevocation = code == RD_KAFKA_RESP_ERR__REVOKE_PARTITIONS
                    context.rebalances.withLock { $0.append(.revoked(isRevocation ? nil : KafkaError(code))) }
                    rd_kafka_assign(client, nil)
                }
            }
        }
        // One queue for everything: polling the consumer then serves the callbacks of the main queue, too. Without a group there is
        // no other queue.
        rd_kafka_poll_set_consumer(handle.pointer)
        guard let queue = rd_kafka_queue_get_consumer(handle.pointer) ?? rd_kafka_queue_get_main(handle.pointer) else {
            throw .outOfMemory
        }
        self.queue = queue
        messages = .allocate(capacity: 1)
    }

    deinit {
        stopReading()
        releaseMessages()
        messages.deallocate()
        rd_kafka_queue_destroy(queue)
    }

    /// Whether the group has assigned partitions, perhaps none, and not revoked them.
    public private(set) var hasAssignment = false

    /// Joins the group that `group.id` names, or asks it for another assignment; the present one is revoked first. Assigned
    /// partitions are not read before ``assign(_:)`` gives the offsets.
    public func subscribe(to topics: [String]) throws(KafkaError) {
        (isReading, isMember) = (true, true)
        let list = PartitionList(topics.map { TopicPartition(topic: $0, partition: -1) })
        try list.lend { rd_kafka_subscribe(handle.pointer, $0) }
    }

    /// Reads exactly these partitions from these offsets, in place of any earlier assignment.
    public func assign(_ offsets: [TopicPartition: Offset]) throws(KafkaError) {
        isReading = true
        topics = Set(offsets.keys.lazy.map(\.topic))
        guard configuration["group.id"] != nil else { return try read(offsets) }
        try PartitionList(offsets: offsets).lend { rd_kafka_assign(handle.pointer, $0) }
        // Waits until librdkafka has stopped reading the previous assignment, which it does in the background. Up to 2.15 that has
        // to be over before the next assignment (issue 5573). Its main thread works in order: by the first answer it has asked the
        // partitions to stop, by the second it knows that they have.
        for _ in 0..<2 {
            var assignment: UnsafeMutablePointer<rd_kafka_topic_partition_list_t>?
            rd_kafka_assignment(handle.pointer, &assignment)
            if let assignment { rd_kafka_topic_partition_list_destroy(assignment) }
        }
    }

    /// Without a group librdkafka assigns nothing, but it starts and stops single partitions.
    private func read(_ offsets: [TopicPartition: Offset]) throws(KafkaError) {
        stopReading()
        for (place, offset) in offsets {
            let topic = if let known = simple.topics[place.topic] { known } else { try ClientTopic(place.topic, of: handle) }
            simple.topics[place.topic] = topic
            try topic.start(place.partition, at: offset, into: queue)
            simple.partitions.append(place)
        }
    }

    private func stopReading() {
        for place in simple.partitions { simple.topics[place.topic]?.stop(place.partition) }
        simple.partitions = []
    }

    /// The oldest rebalance that a poll has received and this method has not returned.
    private func nextRebalance() -> Rebalance? {
        let rebalance: Rebalance? = context.rebalances.withLock { $0.isEmpty ? nil : $0.removeFirst() }
        switch rebalance {
        case .assigned: hasAssignment = true
        case .revoked: hasAssignment = false
        case nil: break
        }
        return rebalance
    }

    /// Waits up to `timeout` for the first record, then returns it with all others that have already arrived. They are valid until
    /// the next call. A rebalance of the group comes alone, as ``RecordBatch/rebalance``.
    ///
    /// - Throws: ``KafkaError`` when the consumer is beyond recovery, for example fenced by another one with the same
    ///   `group.instance.id`. An error that concerns one partition is an element of the batch.
    public func poll(maxRecords: Int, timeout: Duration) throws(KafkaError) -> RecordBatch {
        releaseMessages()
        if let rebalance = nextRebalance() { return RecordBatch(rebalance: rebalance) }
        if !KafkaConfiguration.noticesMovedLeaders { leaders.askIfDue(about: topics, handle) }
        if maxRecords > messages.count {
            messages.deallocate()
            messages = .allocate(capacity: maxRecords)
        }
        // librdkafka's batch call waits until it has as many records as it was asked for. So one is asked for with the timeout, and
        // the rest without.
        held = receive(into: 0, count: min(1, maxRecords), timeout: timeout)
        if held == 1, maxRecords > 1 { held += receive(into: 1, count: maxRecords - 1, timeout: .zero) }
        // If the same call brought a revocation, its records are now another member's to process.
        if !context.rebalances.withLock({ $0.isEmpty }) {
            // Errors are kept: librdkafka reports some of them only once.
            var kept = 0
            for message in messages[..<held] {
                if message?.pointee.err == RD_KAFKA_RESP_ERR_NO_ERROR {
                    rd_kafka_message_destroy(message)
                } else {
                    messages[kept] = message
                    kept += 1
                }
            }
            held = kept
        }
        if let error = handle.fatalError { throw error }
        var batch = RecordBatch(messages: UnsafeBufferPointer(rebasing: messages[..<held]))
        // The errors come before a rebalance that the same poll brought.
        if batch.isEmpty, let rebalance = nextRebalance() { batch.rebalance = rebalance }
        return batch
    }

    private func receive(into start: Int, count: Int, timeout: Duration) -> Int {
        guard let base = messages.baseAddress else { return 0 }
        return max(0, rd_kafka_consume_batch_queue(queue, timeout.milliseconds, base + start, count))
    }

    private func releaseMessages() {
        for message in messages[..<held] { rd_kafka_message_destroy(message) }
        held = 0
    }

    /// Makes librdkafka resume fetching at once after its queue was full, by a request that wakes all leaders' threads. Does
    /// nothing if the installed version does not need it.
    public func fetchOn(from partitions: [TopicPartition]) {
        guard !KafkaConfiguration.fetchesOn else { return }
        // Does not wait for the response, which may come after that to a fetch.
        _ = try? endOffsets(of: partitions, timeout: .milliseconds(1))
    }

    /// How many connections to brokers have closed or could not be made.
    public var closedConnections: Int { handle.closedConnections }

    /// Whether this member has ever gone without an answer from its coordinator for `session.timeout.ms`. librdkafka then forgets
    /// the member id, and a static member (KIP-345) that joins again may be fenced by its own earlier membership.
    public var sessionTimedOut: Bool { context.explainer.sessionTimedOut }

    /// The cluster's brokers and the partitions of the named topics, waiting up to `timeout` for each topic. Nil is all topics that
    /// the client may describe.
    public func metadata(topics: [String]?, timeout: Duration) throws(KafkaError) -> ClusterMetadata {
        // Serves the error hook: a background error says more than a timeout. A consumer that reads does so in `poll`.
        defer { if !isReading { discard() } }
        return try handle.metadata(topics: topics, timeout: timeout)
    }

    /// Takes one message from the queue, if there is one, and frees it.
    private func discard() {
        releaseMessages()
        held = receive(into: 0, count: 1, timeout: .zero)
        releaseMessages()
    }

    /// All partitions of the named topics. Throws ``KafkaError`` also when a topic does not exist or may not be described.
    public func partitions(of topics: [String], timeout: Duration) throws(KafkaError) -> [TopicPartition] {
        let metadata = try metadata(topics: topics, timeout: timeout)
        if let missing = topics.first(where: { metadata[$0] == nil }) {
            throw metadata.topics.lazy.compactMap(\.error).first
                ?? KafkaError(code: .unknownTopic, message: "topic \(missing) does not exist")
        }
        return metadata.topics.flatMap(\.places)
    }

    /// Stops reading and leaves the group, if it is in one. It waits for brokers only briefly. Closing again does nothing.
    ///
    /// - Parameter handsOver: whether a static member (`group.instance.id`, KIP-345) leaves, too, so that others get its partitions
    ///   at once. By default it keeps them until its session times out.
    public func close(handsOver: Bool = false) {
        guard !isClosed else { return }
        isClosed = true
        // librdkafka 2.0.2 requires an assignment that is still queued to be answered before it closes a consumer.
        for _ in 0..<10 { discard() }
        stopReading()
        guard configuration["group.id"] != nil else { return }
        nonisolated(unsafe) let handle = handle
        ClientEnd.run(patience: handsOver ? Self.leaveTimeout + ClientEnd.patience : ClientEnd.patience) {
            if handsOver { Self.leaveGroup(handle.pointer) }
            rd_kafka_consumer_close(handle.pointer)
        }
    }

    /// How long to wait for a rebalance in progress: no member leaves before it ends.
    private static let leaveTimeout = Duration.seconds(2)

    /// Closing leaves a static member in its group. Unsubscribing does not, but it takes effect only once its revocation is served.
    private static func leaveGroup(_ client: OpaquePointer) {
        rd_kafka_unsubscribe(client)
        let deadline = ContinuousClock.now + leaveTimeout
        var isMember = true
        while isMember, .now < deadline {
            if let record = rd_kafka_consumer_poll(client, 10) { rd_kafka_message_destroy(record) }
            // The member forgets its id when it asks to leave. Closing waits for the response.
            let id = rd_kafka_memberid(client)
            isMember = id.map { $0.pointee != 0 } ?? false
            rd_kafka_mem_free(client, id)
        }
    }

    // MARK: - The group

    /// The members of the group that `group.id` names, as ``Admin/describe(group:timeout:)``.
    package func describeGroup(timeout: Duration) throws(KafkaError) -> ConsumerGroup {
        try handle.describe(group: configuration["group.id"] ?? "", timeout: timeout)
    }

    /// What the group that `group.id` names has committed for these partitions, if anything. Does not wait for offsets in an open
    /// transaction (KIP-447).
    public func committed(
        _ partitions: [TopicPartition], timeout: Duration
    ) throws(KafkaError) -> [TopicPartition: CommittedOffset] {
        // Only a client with group.id has the state that librdkafka needs to find a coordinator again (2.0.2 to 2.16).
        guard let group = configuration["group.id"] else {
            throw KafkaError(code: .invalidArgument, message: "a client without group.id cannot ask for a group's offsets")
        }
        return try handle.committed(partitions, by: group, timeout: timeout)
    }

    /// Commits offsets for the group, and waits until the broker has stored them. After a timeout it may still do so.
    public func commit(_ offsets: [TopicPartition: CommittedOffset], timeout: Duration = .seconds(10)) throws(KafkaError) {
        // The call without a queue waits for the coordinator as long as it takes.
        let queue = rd_kafka_queue_new(handle.pointer)
        defer { rd_kafka_queue_destroy(queue) }
        try PartitionList(offsets).lend { rd_kafka_commit_queue(handle.pointer, $0, queue, nil, nil) }
        guard let event = rd_kafka_queue_poll(queue, timeout.milliseconds) else { throw .noAnswer }
        defer { rd_kafka_event_destroy(event) }
        guard let error = KafkaError(rd_kafka_event_error(event)) else { return }
        let elements = rd_kafka_event_topic_partition_list(event).map { UnsafePointer($0).elements }
        let failed = elements?.first { $0.err != RD_KAFKA_RESP_ERR_NO_ERROR }
        throw failed.map { error.with(\.message, "\(TopicPartition($0)): \(error.message)") } ?? error
    }

    /// Commits offsets for the group without waiting, for tools that show its lag. Errors are ignored, but a stale member notices
    /// the refusal and rejoins. librdkafka begins no assignment before the answer.
    public func publish(_ offsets: [TopicPartition: CommittedOffset]) {
        guard !offsets.isEmpty else { return }
        try? PartitionList(offsets).lend { rd_kafka_commit(handle.pointer, $0, 1) }
    }

    // MARK: - Offsets in the log

    /// Where a partition ended when it was fetched last, records of open transactions included; nil if it was not fetched yet.
    package func lastKnownEnd(of partition: TopicPartition) -> Offset? {
        var (low, high): (Offset, Offset) = (0, 0)
        let code = rd_kafka_get_watermark_offsets(handle.pointer, partition.topic, partition.partition, &low, &high)
        return code == RD_KAFKA_RESP_ERR_NO_ERROR && high >= 0 ? high : nil
    }

    /// The extent of each partition's log: from its oldest record to the end, as in ``endOffsets(of:timeout:)``.
    public func watermarks(of partitions: [TopicPartition], timeout: Duration) throws(KafkaError) -> [TopicPartition: Range<Offset>]
    {
        let low = try listOffsets(at: partitions.map { ($0, Offset(RD_KAFKA_OFFSET_BEGINNING)) }, timeout: timeout)
        let high = try endOffsets(of: partitions, timeout: timeout)
        return low.reduce(into: [:]) { logs, start in
            logs[start.key] = high[start.key].map { start.value..<max(start.value, $0) }
        }
    }

    /// The offset of each partition's next record. With `read_committed` it is the last stable offset, with `read_uncommitted` the
    /// true end of the log.
    public func endOffsets(of partitions: [TopicPartition], timeout: Duration) throws(KafkaError) -> [TopicPartition: Offset] {
        try listOffsets(at: partitions.map { ($0, Offset(RD_KAFKA_OFFSET_END)) }, timeout: timeout)
    }

    /// The offset of each partition's first record with a timestamp at or after a time in milliseconds since 1970. A partition
    /// without such a record is left out.
    public func offsets(since times: [TopicPartition: Int64], timeout: Duration) throws(KafkaError) -> [TopicPartition: Offset] {
        try listOffsets(at: times.map { ($0, max(0, $1)) }, timeout: timeout)
    }

    /// Asks all leaders at once. `rd_kafka_query_watermark_offsets` would ask for one partition at a time, and ignores its timeout
    /// if no broker answers. The request for offsets by time (KIP-79) also accepts the logical offsets of both ends.
    private func listOffsets(
        at times: [(TopicPartition, Int64)], timeout: Duration
    ) throws(KafkaError) -> [TopicPartition: Offset] {
        // librdkafka reports an error for an empty list.
        guard !times.isEmpty else { return [:] }
        do throws(KafkaError) {
            let list = PartitionList(offsets: times)
            try list.lend { rd_kafka_offsets_for_times(handle.pointer, $0, timeout.milliseconds) }
            return try list.committed().mapValues(\.offset)
        } catch {
            // The leader does not know the partition yet, or no longer. If the topic is gone, its metadata says so.
            throw error.code == .unknownTopicOrPartition ? error.with(\.isRetriable, true) : error
        }
    }
}

/// The context of a consumer's rebalance callback, which the polling thread calls, or the one that closes the consumer.
private final class ConsumerContext: ClientContext, @unchecked Sendable {
    /// Received by a poll and not yet returned by one.
    let rebalances = Mutex<[Rebalance]>([])
}
