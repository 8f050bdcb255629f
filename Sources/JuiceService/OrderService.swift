import JuiceEngine
import JuiceMessages
import Kafka
import Logging
import Metrics
import ServiceLifecycle

/// The service: checks the topics, then runs its workers until asked to stop.
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

    /// A service that does not run yet.
    ///
    /// - Parameters:
    ///   - configuration: its settings.
    ///   - topicPlan: the topics to create if they are missing; nil creates none.
    ///   - health: kept up to date while the service runs.
    ///   - metrics: receives the ``ServiceMetric`` values, for example `MetricsSystem.factory`; nil measures nothing.
    ///   - logger: gets one line for each change of state.
    ///   - onEvent: called on the workers' threads for every event; it must be quick.
    public init(
        configuration: ServiceConfiguration, topicPlan: TopicPlan? = nil, health: ServiceHealth = ServiceHealth(),
        metrics: (any MetricsFactory)? = nil, logger: Logger, onEvent: @escaping @Sendable (WorkerEvent) -> Void = { _ in }
    ) {
        self.configuration = configuration
        self.topicPlan = topicPlan
        self.health = health
        self.metrics = metrics
        self.logger = logger
        self.onEvent = onEvent
    }

    /// Runs until graceful shutdown or cancellation, then finishes the open transactions and leaves the group.
    ///
    /// It waits for brokers that do not answer.
    /// - Throws: ``ServiceError`` when it cannot start or continue.
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

    /// The longest time from the request to stop to the end of the service.
    private static let stopTimeout = Duration.milliseconds(4500)

    private func run(until stop: StopSignal) async throws {
        try configuration.validate()
        let watch = BrokerWatch(bootstrapServers: configuration.bootstrapServers, logger: logger) { [health] in health.setOutage($0)
        }
        let preparation = TopicPreparation(configuration: configuration, plan: topicPlan, watch: watch, stop: stop, logger: logger)
        let prepared = try await OwnThread.runAll(
            ["topics"], until: stop, stopTimeout: Self.stopTimeout
        ) { _ in try preparation.run() }
        guard let ready = prepared.first ?? nil else { return }

        let configuration = (metrics == nil ? configuration : configuration.withStatistics).knowing(brokers: ready.brokers)
        health.started(workers: configuration.workers)
        defer { health.ended() }
        let threads = (0..<configuration.workers).map { number in
            WorkerThread(
                configuration: configuration, number: number, topics: ready, watch: watch, health: health,
                metrics: metrics.map { WorkerMetrics(worker: number, topics: configuration.topics, factory: $0) }, stop: stop,
                logger: logger, onEvent: onEvent)
        }
        let ended: [Void] = try await OwnThread.runAll(
            threads.map { "worker-\($0.number)" }, until: stop, stopTimeout: Self.stopTimeout
        ) { try threads[$0].run() }
        if ended.count < threads.count {
            // Nothing is lost: the broker completes or aborts the transactions it knows.
            logger.warning("stopping without waiting for Kafka any longer")
        }
    }
}

extension OrderService: CustomStringConvertible {
    /// The type's name, so that logs show none of the properties and their secrets.
    public var description: String { "OrderService" }
}
