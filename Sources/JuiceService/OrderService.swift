import JuiceEngine
import Kafka
import Logging
import ServiceLifecycle

/// The service: checks the topics, then runs its workers until it is asked to stop.
///
/// ```swift
/// let service = OrderService(configuration: configuration, logger: logger)
/// try await ServiceGroup(services: [service], gracefulShutdownSignals: [.sigterm, .sigint], logger: logger).run()
/// ```
public struct OrderService: Service {
    private let configuration: ServiceConfiguration
    private let topicPlan: TopicPlan?
    private let logger: Logger
    private let onEvent: @Sendable (WorkerEvent) -> Void
    private let onReadiness: @Sendable (Bool) -> Void

    /// A service that is not running yet.
    ///
    /// - Parameters:
    ///   - topicPlan: topics to create where they are missing; nil creates none.
    ///   - onEvent: called on the workers' threads for everything they do; it must be quick.
    ///   - onReadiness: called on a worker's thread when the service becomes ready, all its partitions restored, and
    ///     when it no longer is.
    public init(
        configuration: ServiceConfiguration,
        topicPlan: TopicPlan? = nil,
        logger: Logger,
        onEvent: @escaping @Sendable (WorkerEvent) -> Void = { _ in },
        onReadiness: @escaping @Sendable (Bool) -> Void = { _ in }
    ) {
        self.configuration = configuration
        self.topicPlan = topicPlan
        self.logger = logger
        self.onEvent = onEvent
        self.onReadiness = onReadiness
    }

    /// Runs until graceful shutdown or cancellation, then finishes the transactions at hand and leaves the group.
    ///
    /// A broker that does not answer is waited for.
    /// - Throws: ``ServiceError`` when it cannot start or cannot go on.
    public func run() async throws {
        let stop = StopSignal()
        try await withTaskCancellationHandler {
            try await withGracefulShutdownHandler {
                try await run(until: stop)
            } onGracefulShutdown: {
                logger.notice("stopping: finishing the transactions at hand")
                stop.request()
            }
        } onCancel: {
            stop.request()
        }
    }

    /// How long after the request to stop the service ends at the latest.
    private static let stopTimeout = Duration.milliseconds(4500)

    private func run(until stop: StopSignal) async throws {
        try configuration.validate()
        let watch = BrokerWatch(bootstrapServers: configuration.bootstrapServers, logger: logger)
        let preparation = TopicPreparation(
            configuration: configuration,
            plan: topicPlan,
            watch: watch,
            stop: stop,
            logger: logger
        )
        let prepared = try await OwnThread.runAll(
            [OwnThread.Work(name: "topics") { try preparation.run() }],
            until: stop,
            patience: Self.stopTimeout
        )
        guard let ready = prepared.first ?? nil else { return }

        let readiness = Readiness(workerCount: configuration.workers, onChange: onReadiness)
        let threads = (0..<configuration.workers).map { number in
            WorkerThread(
                configuration: configuration,
                number: number,
                topics: ready,
                watch: watch,
                stop: stop,
                logger: logger
            ) { [onEvent] event in
                readiness.note(event, ofWorker: number)
                onEvent(event)
            }
        }
        let ended = try await OwnThread.runAll(
            threads.map { thread in
                OwnThread.Work(name: "worker-\(thread.number)") {
                    try thread.run()
                    return thread.number
                }
            },
            until: stop,
            patience: Self.stopTimeout
        )
        if ended.count < threads.count {
            // Nothing is lost: the broker completes or aborts the transactions as it knows them.
            logger.warning("stopping without waiting for Kafka any longer")
        }
    }
}

extension OrderService: CustomStringConvertible {
    /// A name for logs. The properties, with their secrets, stay out of it.
    public var description: String { "OrderService" }
}
