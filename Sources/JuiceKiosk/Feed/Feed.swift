import Kafka
import Logging

/// Reads answers and stock for all pages, with one consumer that is assigned all partitions and joins no group.
///
/// It needs a thread of its own. After any error it starts over with a new consumer.
struct Feed {
    /// How many offsets before each end of the results the list of the latest answers starts.
    static let history: Offset = 50
    private static let thread = "the reader of the topics"
    private static let callTimeout = Duration.seconds(2)
    private static let pause = Duration.seconds(1)

    let configuration: KioskConfiguration
    let hub: Hub
    let stop: StopSignal
    let steps: StepWatch
    let logger: Logger

    /// Reads until the stop is requested.
    func run() {
        var lastReason: String?
        while !stop.isRequested {
            steps.stepped(Self.thread)
            do throws(KafkaError) {
                try readOnce()
            } catch {
                // `Watch` reports transient errors, such as a broker that does not answer.
                let isNews = error.remedy != .retry && error.message != lastReason
                logger.log(level: isNews ? .warning : .debug, "cannot read the topics: \(error); trying again")
                lastReason = error.message
                stop.wait(for: Self.pause)
            }
        }
    }

    private func readOnce() throws(KafkaError) {
        let consumer = try Consumer(configuration: configuration.feed, hooks: ClientHooks(logger: logger, logCeiling: .debug))
        let partitions = try consumer.partitions(
            of: [configuration.topics.results, configuration.topics.stock], timeout: Self.callTimeout)
        let ends = try consumer.watermarks(of: partitions, timeout: Self.callTimeout)
        var unread = UnreadRanges(
            ends.filter { $0.key.topic == configuration.topics.stock }.mapValues { $0.low..<max($0.low, $0.high) })
        let reader = RecordReader(
            topics: configuration.topics, beginnings: ends.filter { $0.key.topic == configuration.topics.results }.mapValues(\.high)
        )
        hub.restart()
        try consumer.assign(
            Dictionary(uniqueKeysWithValues: ends.map { partition, ends in (partition, start(of: partition, ends)) }))
        if unread.isEmpty { hub.update { $0.restored() } }
        var isRestored = unread.isEmpty
        while !stop.isRequested {
            steps.stepped(Self.thread)
            let events = try poll(consumer, reader, &unread)
            hub.apply(events)
            if unread.isEmpty, !isRestored {
                isRestored = true
                hub.update { $0.restored() }
                logger.notice("the stock of all stores is read")
            }
        }
    }

    private func start(of partition: TopicPartition, _ ends: Watermarks) -> Offset {
        partition.topic == configuration.topics.stock ? ends.low : max(ends.low, ends.high - Self.history)
    }

    private func poll(
        _ consumer: Consumer,
        _ reader: RecordReader,
        _ unread: inout UnreadRanges
    ) throws(KafkaError) -> [Board.Event] {
        var events: [Board.Event] = []
        for element in try consumer.poll(maxRecords: 5000, timeout: .milliseconds(50)) {
            switch element {
            case .record(let record):
                let topic = record.topic
                if let event = reader.event(record, topic: topic) { events.append(event) }
                let partition = TopicPartition(topic: topic, partition: record.partition)
                unread.passed(partition, next: record.offset + 1)
            case .endOfPartition(let partition, let next): unread.passed(partition, next: next)
            case .failure(_, let error) where error.remedy == .retry: continue
            // librdkafka looks up the coordinator of its group id although it joins no group. That needs no permission.
            case .failure(_, let error) where error.code == .groupAuthorizationFailed: continue
            case .failure(_, let error): throw error
            }
        }
        return events
    }
}
