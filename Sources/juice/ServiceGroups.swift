import CoreMetrics
import Dispatch
import Hummingbird
import JuiceService
import JuiceWeb
import Kafka
import Logging
import ServiceLifecycle
import Synchronization
import UnixSignals

extension ServiceGroup {
    /// A group of these services. It stops in reverse order, on a signal or when one of them fails.
    static func of(_ services: [any Service], signals: [UnixSignal] = []) -> ServiceGroup {
        // The group's own log lines repeat those of the services.
        let silent = Logger.lines(level: .critical) { _ in }
        // By default a group cancels the other services when one fails, and a cancelled server logs errors.
        let stopping = services.map {
            ServiceGroupConfiguration.ServiceConfiguration(service: $0, failureTerminationBehavior: .gracefullyShutdownGroup)
        }
        return ServiceGroup(configuration: .init(services: stopping, gracefulShutdownSignals: signals, logger: silent))
    }

    /// Runs until all services have ended.
    ///
    /// - Throws: ``Failure``, a message for the user, if one of them failed.
    func runForUser() async throws {
        do {
            try await run()
        } catch let error as ServiceError {
            throw Failure(error)
        } catch let error as HTTPServerError {
            throw Failure(.configuration, error.description, hint: "choose another address with --http or --admin-http")
        } catch let error as KafkaError {
            throw Failure(.configuration, error.message)
        }
    }
}

/// A service group that runs in the background. It reports once that it is up, with a value.
///
/// Waiting for it blocks, so do not use it on Swift's cooperative pool.
final class BackgroundGroup<Report: Sendable>: Sendable {
    /// What the group reports, possibly before it is stored.
    private final class State: Sendable {
        let progress = Mutex<(report: Report?, end: (any Error)?)>((nil, nil))
        let isUpOrEnded = DispatchSemaphore(value: 0)
        let ended = DispatchGroup()
    }

    private let group: ServiceGroup
    private let state: State

    /// Starts the group.
    ///
    /// - Parameter make: creates the group, one of whose services calls `onUp` once it is up.
    init(_ make: (_ onUp: @escaping @Sendable (Report) -> Void) -> ServiceGroup) {
        let state = State()
        let group = make { report in
            state.progress.withLock { $0.report = report }
            state.isUpOrEnded.signal()
        }
        (self.group, self.state) = (group, state)
        state.ended.enter()
        Task.detached {
            var end: any Error = Failure(.software, "the service ended by itself")
            do { try await group.runForUser() } catch { end = error }
            state.progress.withLock { [end] in $0.end = end }
            state.isUpOrEnded.signal()
            state.ended.leave()
        }
    }

    /// Whether it is up.
    var isUp: Bool { state.progress.withLock { $0.report != nil } }

    /// Throws the reason if the group has ended by itself.
    func check() throws {
        if let end = state.progress.withLock({ $0.end }) { throw end }
    }

    /// Waits until it is up. Call it once.
    ///
    /// - Throws: the reason if the group ended before.
    func waitUntilUp() throws -> Report {
        state.isUpOrEnded.wait()
        if let report = state.progress.withLock({ $0.report }) { return report }
        try check()
        throw Failure(.software, "the service ended by itself")
    }

    /// Stops the group and waits until it has ended.
    func stop() {
        Task.detached { [group] in await group.triggerGracefulShutdown() }
        state.ended.wait()
    }
}

extension BackgroundGroup<Void> {
    /// Runs the service in the background. It is up once it has joined its group and restored its stores.
    static func service(_ configuration: ServiceConfiguration, logger: Logger) -> BackgroundGroup<Void> {
        BackgroundGroup { onUp in
            .of([OrderService(configuration: configuration, health: ServiceHealth { if $0 { onUp(()) } }, logger: logger)])
        }
    }
}

/// The health and metrics of a process, with the metrics of the process itself and of its HTTP server.
struct Metrics {
    let registry: PrometheusRegistry

    /// - Parameter own: the descriptions of the command's own metrics.
    init(_ own: [PrometheusRegistry.Description]) {
        let build = PrometheusRegistry.Description("juice_build_info", help: "1, with the version of this program.")
        let http = HTTPMetric.allCases.map { PrometheusRegistry.Description($0.rawValue, help: $0.help) }
        let dropped = PrometheusRegistry.Description(
            "juice_log_lines_dropped_total",
            help: "Lines of the log and of standard output that were dropped: they were not read, or could not be written.")
        registry = PrometheusRegistry(descriptions: own + http + ProcessMetrics.descriptions + [build, dropped])
        Meter(label: build.name, dimensions: [("version", JuiceCommand.currentVersion)], factory: registry).set(1)
        let process = ProcessMetrics(factory: registry)
        registry.onCollect { process.update() }
        let droppedLines = Counter(label: dropped.name, factory: registry)
        registry.onCollect { for queue in OutputQueue.all { droppedLines.increment(by: queue.takeDropped()) } }
    }

    /// Creates a server that shows them. It does not listen before it runs.
    ///
    /// - Parameters:
    ///   - readyMetric: the gauge that is 1 while there is no reason in `readiness`.
    ///   - countsItself: whether its connections are counted: it is the only server of the process.
    func server(
        at address: HTTPAddress, readyMetric: String, liveness: @escaping AdminRoutes.Reasons,
        readiness: @escaping AdminRoutes.Reasons, countsItself: Bool, logger: Logger,
        onListening: @escaping @Sendable (HTTPAddress) async -> Void = { _ in }
    ) -> HTTPServer<RouterResponder<BasicRequestContext>> {
        let ready = Meter(label: readyMetric, factory: registry)
        registry.onCollect { ready.set(readiness().isEmpty ? 1 : 0) }
        let routes = AdminRoutes.responder(
            liveness: liveness, readiness: readiness, warnings: { OutputQueue.all.compactMap(\.warning) }, metrics: registry)
        return HTTPServer(
            routes, at: address, limits: .probes,
            metrics: countsItself ? HTTPMetrics(factory: registry) : HTTPMetrics(), logger: logger, onListening: onListening)
    }
}

extension StopSignal {
    /// A signal that Ctrl-C or SIGTERM gives, for loops that check it between two steps.
    ///
    /// Once it is made, these signals no longer end the process by themselves.
    static func onInterruption() -> StopSignal {
        let stop = StopSignal()
        // On Swift's own threads: the thread that checks is blocked most of the time.
        Task.detached { [weak stop] in for await _ in await UnixSignalsSequence(trapping: .sigint, .sigterm) { stop?.request() } }
        return stop
    }
}
