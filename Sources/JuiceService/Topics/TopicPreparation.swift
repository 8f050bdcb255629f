import JuiceEngine
import JuiceMessages
import Kafka
import Logging

/// Waits for the cluster, creates the topics if asked to, and checks them.
struct TopicPreparation: Sendable {
    /// What the workers need to know about the topics and brokers.
    struct Ready: Sendable {
        /// How many partitions stores live in.
        let partitionCount: Int32
        /// The partition count of the larger input.
        let inputPartitions: Int
        let deadLetterPartitions: Int32
        /// After so many milliseconds without a position note in the journal, one is written.
        let noteInterval: Timestamp
        /// `host:port` of each broker.
        let brokers: [String]
    }

    let configuration: ServiceConfiguration
    let plan: TopicPlan?
    let watch: BrokerWatch
    let stop: StopSignal
    let logger: Logger

    /// How long brokers may take to learn of a broker that has just come up or of topics just created.
    private static let settlingTime = Duration.seconds(2)
    /// How often a position note is written at least, in milliseconds.
    private static let longestNoteInterval: Timestamp = 24 * 3_600_000

    /// Blocks until the topics are ready.
    ///
    /// - Returns: nil if asked to stop before that.
    /// - Throws: ``ServiceError`` if a setting or the topics have to be fixed first.
    func run() throws(ServiceError) -> Ready? {
        let admin: Admin
        let reader: Consumer
        do throws(KafkaError) {
            let hooks = ClientHooks(logger: logger, logCeiling: .info, onError: { [watch] in watch.noticed($0) })
            admin = try Admin(configuration: configuration.client, hooks: hooks)
            reader = try Consumer(configuration: configuration.logEndConsumer, hooks: hooks)
            try checkClients()
        } catch { throw .badConfiguration(error.description) }
        defer { reader.close() }
        let start = ContinuousClock.now
        var isWaiting = false
        // Each attempt begins with the first question again, and a slow broker must have time to answer the last one.
        var timeout = AdaptiveTimeout(shortest: .seconds(2))
        while !stop.isRequested {
            switch attempt(admin, reader, timeout: timeout.current) {
            case .success(let ready):
                watch.reached()
                return ready
            case .failure(.service) where .now - start < Self.settlingTime: stop.wait(for: .milliseconds(200))
            case .failure(.service(let error)): throw error
            case .failure(.kafka(let error)) where error.remedy == .retry && error.code.isFromBroker:
                // Topics just created have no leaders for a moment.
                watch.reached()
                if !isWaiting, .now - start >= Self.settlingTime {
                    isWaiting = true
                    logger.warning("waiting for the topics: \(error)")
                }
                stop.wait(for: .milliseconds(200))
            case .failure(.kafka(let error)) where error.remedy == .retry:
                watch.failed(error)
                if error.code == .timedOut { timeout.timedOut() }
                stop.wait(for: .milliseconds(200))
            case .failure(.kafka(let error)): throw .failed(error.description + error.code.neededRights)
            }
        }
        return nil
    }

    /// Creates one client of each kind. librdkafka refuses a property value only at that point, and that should happen before
    /// the workers begin to create clients.
    private func checkClients() throws(KafkaError) {
        let hooks = ClientHooks(logger: logger, logCeiling: .info)
        for consumer in [configuration.groupConsumer(worker: 0), configuration.changelogConsumer, configuration.logEndConsumer] {
            _ = try Consumer(configuration: consumer, hooks: hooks)
        }
        _ = try Producer(
            configuration: configuration.producer.merging(["transactional.id": "\(configuration.group)/check"]), hooks: hooks)
    }

    private enum Failure: Error {
        case service(ServiceError)
        case kafka(KafkaError)
    }

    private func attempt(_ admin: Admin, _ reader: Consumer, timeout: Duration) -> Result<Ready, Failure> {
        do throws(KafkaError) {
            return try prepare(admin, reader, timeout: timeout).mapError(Failure.service)
        } catch {
            return .failure(.kafka(error))
        }
    }

    private func prepare(_ admin: Admin, _ reader: Consumer, timeout: Duration) throws(KafkaError) -> Result<Ready, ServiceError> {
        if let plan {
            let created = try admin.create(plan.topics, timeout: .seconds(4))
            for name in created { logger.notice("created topic \(name) with \(plan.partitionCount) partitions") }
        }
        let names = configuration.topics
        let check = TopicCheck(
            names: names, bootstrapServers: configuration.bootstrapServers, capabilities: configuration.capabilities,
            duplicateWindow: configuration.duplicateWindow)
        let findings = try check.findings(admin, reader: reader, timeout: timeout)
        guard findings.problems.isEmpty else { return .failure(.unfitTopics(findings.problems)) }
        let metadata = try admin.metadata(topics: [names.deadLetters], timeout: timeout)
        guard let deadLetters = metadata[names.deadLetters]?.partitionCount, deadLetters > 0 else {
            throw KafkaError(code: .unknownTopicOrPartition, message: "\(names.deadLetters) is gone", isRetriable: true)
        }
        for warning in findings.warnings { logger.warning("\(warning.fault); to mend it: \(warning.mend)") }
        return .success(
            Ready(
                partitionCount: Int32(clamping: findings.storePartitions), inputPartitions: findings.inputPartitions,
                deadLetterPartitions: Int32(clamping: deadLetters),
                // A quarter, since a note must be there when the one before expires, whatever happens in between.
                noteInterval: min((findings.answerRetention ?? .max) / 4, Self.longestNoteInterval), brokers: metadata.brokers))
    }
}
