import Kafka
import Logging

/// Waits for the cluster, creates topics where asked to, and checks them.
struct TopicPreparation: Sendable {
    /// What the workers need to know of the topics.
    struct Ready: Sendable {
        /// Of orders, restocks, results and stock.
        let partitionCount: Int32
        let deadLetterPartitions: Int32
    }

    let configuration: ServiceConfiguration
    let plan: TopicPlan?
    let watch: BrokerWatch
    let stop: StopSignal
    let logger: Logger

    /// A broker that has just come up, or topics that were just made, may not be known everywhere at once.
    private static let patience = Duration.seconds(2)

    /// Blocks until the topics are ready.
    ///
    /// - Returns: nil when asked to stop before that.
    /// - Throws: ``ServiceError``.
    func run() throws(ServiceError) -> Ready? {
        let admin: Admin
        do throws(KafkaError) {
            let hooks = ClientHooks(
                logger: logger,
                logCeiling: .info,
                onError: { [watch] in watch.noticed($0) }
            )
            admin = try Admin(configuration: configuration.client, hooks: hooks)
            try checkClients()
        } catch {
            throw .badConfiguration(error.description)
        }
        let start = ContinuousClock.now
        while stop.age == nil {
            switch attempt(admin) {
            case .success(let ready):
                watch.reached()
                return ready
            case .failure(.service) where .now - start < Self.patience:
                stop.wait(for: .milliseconds(200))
            case .failure(.service(let error)):
                throw error
            case .failure(.kafka(let error)) where error.remedy == .retry:
                watch.failed(error)
                stop.wait(for: .milliseconds(200))
            case .failure(.kafka(let error)):
                throw .failed(error.description + error.code.neededRights)
            }
        }
        return nil
    }

    /// Makes each kind of client once: librdkafka refuses a value when a client is made of it, and that is better known
    /// before the workers begin to make and drop them.
    private func checkClients() throws(KafkaError) {
        let hooks = ClientHooks(logger: logger, logCeiling: .info)
        for consumer in [
            configuration.groupConsumer(worker: 0), configuration.changelogConsumer,
            configuration.logEndConsumer,
        ] {
            _ = try Consumer(configuration: consumer, hooks: hooks)
        }
        let producer = configuration.producer(owner: configuration.ownerName(worker: 0), turn: 0)
        _ = try TransactionalProducer(configuration: producer, hooks: hooks)
    }

    private enum Failure: Error {
        case service(ServiceError)
        case kafka(KafkaError)
    }

    private func attempt(_ admin: Admin) -> Result<Ready, Failure> {
        do throws(KafkaError) {
            return try prepare(admin).mapError(Failure.service)
        } catch {
            return .failure(.kafka(error))
        }
    }

    private func prepare(_ admin: Admin) throws(KafkaError) -> Result<Ready, ServiceError> {
        let timeout = Duration.seconds(2)
        if let plan {
            let created = try admin.create(plan.topics, timeout: .seconds(4))
            for name in created {
                logger.notice("created topic \(name) with \(plan.partitionCount) partitions")
            }
        }
        let names = configuration.topics
        let check = TopicCheck(
            names: names,
            bootstrapServers: configuration.bootstrapServers,
            isEmbedded: configuration.isEmbedded,
            duplicateWindow: configuration.duplicateWindow
        )
        let problems = try check.problems(admin, timeout: timeout)
        guard problems.isEmpty else { return .failure(.unfitTopics(problems)) }
        let metadata = try admin.metadata(topics: [names.orders, names.deadLetters], timeout: timeout)
        func partitionCount(_ topic: String) throws(KafkaError) -> Int32 {
            guard let count = metadata[topic]?.partitionCount, count > 0 else {
                throw KafkaError(
                    code: .unknownTopicOrPartition,
                    message: "\(topic) is gone",
                    isRetriable: true
                )
            }
            return Int32(clamping: count)
        }
        return .success(
            Ready(
                partitionCount: try partitionCount(names.orders),
                deadLetterPartitions: try partitionCount(names.deadLetters)
            )
        )
    }
}
