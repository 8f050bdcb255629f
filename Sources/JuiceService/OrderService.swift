import JuiceEngine
import JuiceMessages
import Kafka
import Logging
import Metrics
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
    private let health: ServiceHealth
    private let metrics: (any MetricsFactory)?
    private let onEvent: @Sendable (WorkerEvent) -> Void

    /// A service that is not running yet.
    ///
    /// - Parameters:
    ///   - configuration: where Kafka is, and what to be there.
    ///   - topicPlan: topics to create where they are missing; nil creates none.
    ///   - health: kept up to date while the service runs.
    ///   - metrics: where ``ServiceMetric`` values go, for example `MetricsSystem.factory`; nil spares the effort.
    ///   - logger: told of every change of state, once.
    ///   - onEvent: called on the workers' threads for everything they do; it must be quick.
    public init(
        configuration: ServiceConfiguration,
        topicPlan: TopicPlan? = nil,
        health: ServiceHealth = ServiceHealth(),
        metrics: (any MetricsFactory)? = nil,
        logger: Logger,
        onEvent: @escaping @Sendable (WorkerEvent) -> Void = { _ in }
    ) {
        self.configuration = configuration
        self.topicPlan = topicPlan
        self.health = health
        self.metrics = metrics
        self.logger = logger
        self.onEvent = onEvent
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
                health.stopping()
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
        let watch = BrokerWatch(bootstrapServers: configuration.bootstrapServers, logger: logger) {
            [health] in
            health.note(outage: $0)
        }
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
            stopTimeout: Self.stopTimeout
        )
        guard let ready = prepared.first ?? nil else { return }

        let configuration = metrics == nil ? configuration : configuration.withStatistics
        health.started(workers: configuration.workers)
        defer { health.ended() }
        let threads = (0..<configuration.workers).map { number in
            WorkerThread(
                configuration: configuration,
                number: number,
                topics: ready,
                watch: watch,
                health: health,
                metrics: metrics.map {
                    WorkerMetrics(worker: number, topics: configuration.topics, factory: $0)
                },
                stop: stop,
                logger: logger,
                onEvent: onEvent
            )
        }
        let ended = try await OwnThread.runAll(
            threads.map { thread in
                OwnThread.Work(name: "worker-\(thread.number)") {
                    try thread.run()
                    return thread.number
                }
            },
            until: stop,
            stopTimeout: Self.stopTimeout
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
