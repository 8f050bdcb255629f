import JuiceMessages
import Kafka
import Logging

/// The kiosk's two threads that read from Kafka.
struct KafkaFeed {
    /// How many offsets before each end of the results to begin reading: as many as the board counts, but enough for the list of
    /// the latest answers, and few enough that pages are soon live. With more orders than that, the board's counts start too low.
    private static let history: ClosedRange<Offset> = 50...100_000
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
        // The next offset of each partition of the results, so that no answer is read twice.
        var nextAnswers: [TopicPartition: Offset] = [:]
        while !stop.isRequested {
            steps.stepped(Self.thread)
            do throws(KafkaError) {
                try readTopics(from: &nextAnswers)
            } catch {
                // `watchBrokers` reports transient errors, such as a broker that does not answer.
                let isNews = error.remedy != .retry && error.message != lastReason
                logger.log(level: isNews ? .warning : .debug, "cannot read the topics: \(error); trying again")
                lastReason = error.message
                stop.wait(for: Self.pause)
            }
        }
    }

    private func readTopics(from nextAnswers: inout [TopicPartition: Offset]) throws(KafkaError) {
        let generation = configuration.credentials.generation
        let consumer = try consumer(ClientHooks(logger: logger, logCeiling: .debug))
        let topics = configuration.topics
        let partitions = try consumer.partitions(of: [topics.results, topics.stock], timeout: Self.callTimeout)
        let logs = try consumer.watermarks(of: partitions, timeout: Self.callTimeout)
        let stockEnds = logs.filter { $0.key.topic == topics.stock }.mapValues(\.upperBound)
        let counted = Int64(hub.clock() - Double(RecentCounts.length)) * 1000
        let results = logs.filter { $0.key.topic == topics.results }
        let recent = try consumer.offsets(since: results.mapValues { _ in counted }, timeout: Self.callTimeout)
        // Frees the dropped stock outside the lock, so that no page waits for that.
        _ = hub.update { $0.restart() }
        let starts = logs.map { partition, log in
            // The stock is read whole.
            guard partition.topic == topics.results else { return (partition, log.lowerBound) }
            let (earliest, latest) = (log.upperBound - Self.history.upperBound, log.upperBound - Self.history.lowerBound)
            let next = nextAnswers[partition] ?? max(earliest, min(recent[partition] ?? latest, latest))
            return (partition, max(log.lowerBound, min(next, log.upperBound)))
        }
        let reader = PartitionReader(consumer)
        try reader.start(at: Dictionary(uniqueKeysWithValues: starts))
        let (journal, stock) = (JournalReader(menu: configuration.menu), StockDecoder())
        var isRestored = false
        while !stop.isRequested {
            steps.stepped(Self.thread)
            let records = try reader.poll(timeout: .milliseconds(50))
            var events: [KioskState.Event] = []
            for (partition, indices) in records.runs {
                for record in records[indices] {
                    // A record that is neither an answer nor stock must not stop all pages.
                    switch (partition.topic == topics.results, record.value, record.key) {
                    case (true, let value?, _):
                        guard (try? journal.read(value))?.answer != nil, let answer = try? journal.wholeAnswer() else { continue }
                        events.append(.answer(ReadAnswer(answer: answer, time: record.timestamp ?? 0, record: Array(value))))
                    case (false, let value?, _?):
                        if let record = try? stock.decode(value) { events.append(.stock(record, store: record.store)) }
                    case (false, nil, let key?): events.append(.stock(nil, store: String(decoding: key, as: UTF8.self)))
                    default: continue
                    }
                }
            }
            nextAnswers = reader.positions.filter { $0.key.topic == topics.results }
            hub.apply(events)
            if isRestored && !hub.connection.isRestored || generation != configuration.credentials.generation { return }
            if !isRestored, reader.hasReached(stockEnds) {
                isRestored = true
                hub.update { $0.connection.isRestored = true }
                logger.notice("the stock of all stores is read")
            }
        }
    }

    private func consumer(_ hooks: ClientHooks) throws(KafkaError) -> Consumer {
        try Consumer(configuration: configuration.feed.merging(configuration.credentials.properties), hooks: hooks)
    }

    /// Probes the brokers every second until the stop is requested. Needs a thread of its own.
    ///
    /// librdkafka reports a lost connection late and a restored one never, so the brokers have to be asked.
    func watchBrokers() throws {
        let brokers = BrokerWatch(bootstrapServers: configuration.feed["bootstrap.servers"] ?? "", logger: logger)
        let hooks = ClientHooks(logger: logger, logCeiling: .debug, onError: brokers.noticed)
        var consumer = try consumer(hooks)
        var restoringRounds = 0
        while !stop.isRequested {
            steps.stepped("the watch over brokers")
            let isReached = brokers.probe(consumer, timeout: Self.callTimeout)
            var failure = isReached ? brokers.lastFailure : brokers.reason
            if let fault = brokers.fault, fault.code.isRefusal, configuration.credentials.reload() {
                logger.warning("making all Kafka clients anew: \(Credentials.change): \(fault.message)")
                consumer = try self.consumer(hooks)
            }
            do throws(KafkaError) {
                if isReached { _ = try consumer.partitions(of: configuration.topics.all, timeout: Self.callTimeout) }
            } catch  where error.code.isMissing {
                // A reader gets no error for a deleted topic.
                failure = error.message
                hub.update { $0.connection.isRestored = false }
            } catch {}
            hub.update { $0.connection.asked(isReached: isReached, failure: failure) }
            restoringRounds = isReached && !hub.connection.isRestored ? restoringRounds + 1 : 0
            if restoringRounds == 10, let failure { logger.warning("the stock cannot be read: \(failure)") }
            stop.wait(for: Self.pause)
        }
    }
}
