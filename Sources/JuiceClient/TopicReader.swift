import Kafka

/// Reads all partitions of one topic, without a group.
package final class TopicReader {
    /// The ends of each partition's log when the reader was made. Under `read_committed` the high end is before
    /// anything that is not decided yet.
    package let watermarks: [Int32: Watermarks]

    private let topic: String
    private let connection: Connection
    private let consumer: Consumer

    /// Asks where the topic's partitions begin and end. Nothing is read before ``start(at:)``.
    ///
    /// - Parameters:
    ///   - knowsUndecided: whether the ends are those of the logs, past what is not decided yet; what is read is committed all
    ///     the same.
    ///   - fetchWait: how long a broker may wait for records, in milliseconds; nil leaves it to the connection.
    package init(
        _ connection: Connection,
        topic: String,
        knowsUndecided: Bool = false,
        fetchWait: Int? = nil,
        deadline: Deadline
    ) throws(Failure) {
        self.topic = topic
        self.connection = connection
        consumer = try connection.consumer(fetchWait: fetchWait)
        try connection.reach(consumer, deadline: deadline)
        let asker = knowsUndecided ? try connection.consumer(isolation: "read_uncommitted") : consumer
        defer { if knowsUndecided { asker.close() } }
        watermarks = try Self.watermarks(connection, asker, topic: topic, deadline: deadline)
    }

    /// Of a topic that was just made the brokers may need a moment to agree who leads it.
    private static func watermarks(
        _ connection: Connection,
        _ consumer: Consumer,
        topic: String,
        deadline: Deadline
    ) throws(Failure) -> [Int32: Watermarks] {
        while true {
            do throws(KafkaError) {
                let partitions = try consumer.partitions(of: [topic], timeout: deadline.remaining)
                let watermarks = try consumer.watermarks(of: partitions, timeout: deadline.remaining)
                return Dictionary(uniqueKeysWithValues: watermarks.map { ($0.key.partition, $0.value) })
            } catch {
                guard error.remedy == .retry, !deadline.isOver else { throw connection.failure(error) }
                _ = try? consumer.poll(maxRecords: 1, timeout: deadline.step(.milliseconds(50)))
            }
        }
    }

    /// Reads these partitions from these offsets, and no others.
    package func start(at offsets: [Int32: Offset]) throws(Failure) {
        let positions = byTopicPartition(offsets)
        try connection.ask { () throws(KafkaError) in try consumer.assign(positions) }
    }

    /// Reads what comes after the ends that ``watermarks`` tells.
    package func startAtEnds() throws(Failure) {
        try start(at: watermarks.mapValues(\.high))
    }

    /// Calls `body` with each record at hand, after waiting for the first one for at most `timeout`.
    ///
    /// - Returns: the partitions found read to their end, with the offset that follows.
    @discardableResult
    package func poll(
        timeout: Duration,
        _ body: (ConsumedRecord) throws(Failure) -> Void
    ) throws(Failure) -> [Int32: Offset] {
        let batch = try connection.ask { () throws(KafkaError) in
            try consumer.poll(maxRecords: 1000, timeout: timeout)
        }
        var ends: [Int32: Offset] = [:]
        for element in batch {
            switch element {
            case .record(let record): try body(record)
            case .endOfPartition(let partition, let next): ends[partition.partition] = next
            case .failure(_, let error) where error.remedy == .retry: continue
            // librdkafka looks for the coordinator of the group that it wants named. None is joined, so no right is needed.
            case .failure(_, let error) where error.code == .groupAuthorizationFailed: continue
            case .failure(_, let error): throw connection.failure(error)
            }
        }
        return ends
    }

    /// Reads the given ranges of offsets whole.
    ///
    /// - Throws: ``Failure`` of status ``Failure/Status/unavailable`` when nothing comes for as long as `idleTimeout`.
    package func read(
        _ ranges: [Int32: Range<Offset>],
        idleTimeout: Duration,
        _ body: (ConsumedRecord) throws(Failure) -> Void
    ) throws(Failure) {
        var unread = UnreadRanges(byTopicPartition(ranges))
        try start(at: ranges.filter { !$0.value.isEmpty }.mapValues(\.lowerBound))
        var deadline = Deadline(after: idleTimeout)
        while !unread.isEmpty {
            var hasRead = false
            let ends = try poll(timeout: deadline.step()) { record throws(Failure) in
                hasRead = true
                if ranges[record.partition]?.contains(record.offset) ?? false { try body(record) }
                unread.passed(
                    TopicPartition(topic: topic, partition: record.partition),
                    next: record.offset + 1
                )
            }
            for (partition, next) in ends {
                unread.passed(TopicPartition(topic: topic, partition: partition), next: next)
            }
            if hasRead || !ends.isEmpty {
                deadline = Deadline(after: idleTimeout)
            } else if deadline.isOver {
                throw connection.unavailable
            }
        }
    }

    /// Reads everything from the start of the logs to the ends that ``watermarks`` tells.
    package func readAll(
        idleTimeout: Duration,
        _ body: (ConsumedRecord) throws(Failure) -> Void
    ) throws(Failure) {
        try read(watermarks.mapValues { $0.low..<$0.high }, idleTimeout: idleTimeout, body)
    }

    /// Finds the last records that are meant, or what is made of them.
    ///
    /// How far back they are cannot be known, since markers take offsets and other records do not count: the window before the
    /// ends grows until it holds enough, or everything.
    ///
    /// - Parameter find: reads the window and returns all that it finds there, oldest first.
    package func last<Found>(
        _ count: Int,
        _ find: (_ window: [Int32: Range<Offset>]) throws(Failure) -> [Found]
    ) throws(Failure) -> [Found] {
        guard count > 0 else { return [] }
        var size = Offset(clamping: count) * 2 + 64
        while true {
            let window = watermarks.mapValues { max($0.low, $0.high - size)..<$0.high }
            let found = try find(window)
            let isAll = watermarks.allSatisfy { window[$0.key]?.lowerBound == $0.value.low }
            if found.count >= count || isAll { return found.suffix(count) }
            size *= 8
        }
    }

    private func byTopicPartition<Value>(_ values: [Int32: Value]) -> [TopicPartition: Value] {
        Dictionary(uniqueKeysWithValues: values.map { (TopicPartition(topic: topic, partition: $0), $1) })
    }
}
