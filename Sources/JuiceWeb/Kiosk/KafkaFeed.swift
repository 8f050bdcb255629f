import JuiceDomain
import JuiceMessages
import Kafka
import Logging

/// The kiosk's two threads that read from Kafka.
struct KafkaFeed {
    /// How many offsets before each end of the results the list of the latest answers starts.
    private static let history: Offset = 50
    private static let thread = "the reader of the topics"
    private static let callTimeout = Duration.seconds(2)
    private static let pause = Duration.seconds(1)

    let configuration: KioskConfiguration
    let hub: Hub
    let stop: StopSignal
    let steps: ThreadWatchdog
    let logger: Logger

    /// Reads answers and stock for all pages until the stop is requested, with one consumer that is assigned all partitions and
    /// joins no group. After any error it starts over with a new consumer. Needs a thread of its own.
    func readTopics() {
        var lastReason: String?
        while !stop.isRequested {
            steps.stepped(Self.thread)
            do throws(KafkaError) {
                try readOnce()
            } catch {
                // `watchBrokers` reports transient errors, such as a broker that does not answer.
                let isNews = error.remedy != .retry && error.message != lastReason
                logger.log(level: isNews ? .warning : .debug, "cannot read the topics: \(error); trying again")
                lastReason = error.message
                stop.wait(for: Self.pause)
            }
        }
    }

    private func readOnce() throws(KafkaError) {
        let consumer = try Consumer(configuration: configuration.feed, hooks: ClientHooks(logger: logger, logCeiling: .debug))
        let topics = configuration.topics
        let partitions = try consumer.partitions(of: [topics.results, topics.stock], timeout: Self.callTimeout)
        let logs = try consumer.watermarks(of: partitions, timeout: Self.callTimeout)
        let stock = logs.filter { $0.key.topic == topics.stock }
        var unread = UnreadRanges(stock)
        let decoder = RecordDecoder(topics: topics, ends: logs.mapValues(\.upperBound))
        hub.restart()
        // The stock is read whole.
        let starts = logs.map { ($0, $0.topic == topics.stock ? $1.lowerBound : max($1.lowerBound, $1.upperBound - Self.history)) }
        try consumer.assign(Dictionary(uniqueKeysWithValues: starts))
        var isRestored = unread.isEmpty
        if isRestored { hub.update { $0.connection.isRestored = true } }
        while !stop.isRequested {
            steps.stepped(Self.thread)
            hub.apply(try poll(consumer, decoder, &unread))
            if unread.isEmpty, !isRestored {
                isRestored = true
                hub.update { $0.connection.isRestored = true }
                logger.notice("the stock of all stores is read")
            }
        }
    }

    private func poll(
        _ consumer: Consumer, _ decoder: RecordDecoder, _ unread: inout UnreadRanges
    ) throws(KafkaError) -> [KioskState.Event] {
        var events: [KioskState.Event] = []
        for element in try consumer.poll(maxRecords: 5000, timeout: .milliseconds(50)) {
            switch element {
            case .record(let record):
                let partition = TopicPartition(topic: record.topic, partition: record.partition)
                if let event = decoder.event(record, of: partition) { events.append(event) }
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

    // MARK: - Brokers

    /// Probes the brokers every second, and asks for the service's lag every other time, until the stop is requested. Needs a
    /// thread of its own.
    ///
    /// librdkafka reports a lost connection late and a restored one never, so the brokers have to be asked.
    ///
    /// - Throws: `KafkaError` if librdkafka rejects the configuration.
    func watchBrokers() throws {
        let brokers = BrokerWatch(bootstrapServers: configuration.kafka["bootstrap.servers"] ?? "", logger: logger)
        let hooks = ClientHooks(logger: logger, logCeiling: .debug, onError: brokers.noticed)
        let consumer = try Consumer(configuration: configuration.monitor, hooks: hooks)
        var (round, restoringRounds) = (0, 0)
        while !stop.isRequested {
            steps.stepped("the watch over brokers")
            if !brokers.probe(consumer, timeout: Self.callTimeout) {
                let reason = brokers.reason
                hub.update { $0.failed(reason) }
            } else {
                let failure = brokers.lastFailure
                hub.update { $0.connection.reached(failure: failure) }
                restoringRounds = hub.connection.isRestored ? 0 : restoringRounds + 1
                if restoringRounds == 10, let failure { logger.warning("the stock cannot be read: \(failure)") }
                if round.isMultiple(of: 2) {
                    let lag = lag(consumer)
                    hub.update { $0.lag = lag }
                }
            }
            round += 1
            stop.wait(for: Self.pause)
        }
    }

    /// The service's lag; nil if it is unknown: topics or permissions are missing, or the group has never committed.
    private func lag(_ consumer: Consumer) -> Int? {
        let names = [configuration.topics.orders, configuration.topics.restocks]
        guard let partitions = try? consumer.partitions(of: names, timeout: Self.callTimeout),
            let committed = try? consumer.committed(partitions, timeout: Self.callTimeout),
            let ends = try? consumer.endOffsets(of: partitions, timeout: Self.callTimeout)
        else { return nil }
        return Self.lag(committed: committed, ends: ends)
    }

    /// How many records a group has not processed; nil if it has no committed offset at all.
    static func lag(committed: [TopicPartition: Offset?], ends: [TopicPartition: Offset]) -> Int? {
        let known = committed.compactMapValues(\.self)
        guard !known.isEmpty else { return nil }
        return known.reduce(0) { sum, entry in sum + Int(max(0, (ends[entry.key] ?? 0) - entry.value)) }
    }
}

/// Turns records into events. It skips records that are neither answers nor stock: one of them must not stop all pages.
private final class RecordDecoder {
    private let topics: TopicNames
    /// For each partition of the results, the first offset that is not history.
    private let ends: [TopicPartition: Offset]
    private let answers = AnswerDecoder()
    private let stock = StockDecoder()
    private var revisions: [Name: RevisionTracker] = [:]

    init(topics: TopicNames, ends: [TopicPartition: Offset]) { (self.topics, self.ends) = (topics, ends) }

    /// The event that a record stands for; nil if it cannot be decoded.
    func event(_ record: ConsumedRecord, of partition: TopicPartition) -> KioskState.Event? {
        guard partition.topic == topics.stock else {
            guard let value = record.value, let answer = try? answers.decode(value) else { return nil }
            let gap = revisions[Name(answer.store), default: RevisionTracker()].gap(before: answer)
            let timed = TimedAnswer(answer: answer, time: record.timestamp ?? 0, gap: gap)
            return .answer(timed, isHistory: record.offset < ends[partition] ?? 0)
        }
        guard let key = record.key else { return nil }
        if let value = record.value { return (try? stock.decode(value)).map(KioskState.Event.stock) }
        let store = String(decoding: key, as: UTF8.self)
        // The store starts over at revision 1.
        revisions[Name(store)] = nil
        return .stockRemoved(store: store)
    }
}
