import CoreMetrics
import Dispatch
import Hummingbird
import JuiceService
import JuiceWeb
import Kafka
import Logging
import ServiceLifecycle
import Synchronization

extension ServiceGroup {
    /// A group of these services. It stops them in reverse order, when asked to or when one of them fails.
    static func of(_ services: [any Service], until stop: StopSignal = StopSignal()) -> ServiceGroup {
        // The group's own log lines repeat those of the services.
        let silent = Logger.lines(level: .critical) { _ in }
        // By default a group cancels the other services when one fails, and a cancelled server logs errors.
        let stopping = services.map {
            ServiceGroupConfiguration.ServiceConfiguration(service: $0, failureTerminationBehavior: .gracefullyShutdownGroup)
        }
        let group = ServiceGroup(configuration: .init(services: stopping, logger: silent))
        // If it is asked before it runs, it stops as soon as it does.
        stop.onRequest { Task { await group.triggerGracefulShutdown() } }
        return group
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
            let failure = Failure(error)
            throw Failure(failure.overdue ?? failure.status, failure.message, hint: failure.hint)
        } catch let error as KafkaError {
            throw Failure(.configuration, error.message)
        }
    }
}

extension HTTPAddress {
    /// During a start, waits until a server can listen here.
    func check() throws(Failure) {
        try Patience.waiting { () throws(Failure) in
            do throws(HTTPServerError) { try tryToListen() } catch { throw Failure(error) }
        }
    }
}

extension Failure {
    fileprivate init(_ error: HTTPServerError) {
        let hint = "choose another address with --http or --admin-http"
        self.init(.configuration, error.description, hint: hint, overdue: error.mayPass ? .temporary : nil)
    }
}

/// Services that run in the background of a command that blocks its own thread.
final class BackgroundGroup: Sendable {
    private let request = StopSignal()
    private let failure = Mutex<(any Error)?>(nil)
    private let ended = DispatchGroup()

    init(_ services: [any Service]) {
        ended.enter()
        Task.detached { [self] in
            var end: any Error = Failure(.software, "the service ended by itself")
            do { try await ServiceGroup.of(services, until: request).runForUser() } catch { end = error }
            failure.withLock { [end] in $0 = end }
            ended.leave()
        }
    }

    func check() throws {
        if let failure = failure.withLock(\.self) { throw failure }
    }

    /// Stops the group and waits until it has ended. It blocks, so do not call it on Swift's cooperative pool.
    func stop() {
        request.request()
        ended.wait()
    }
}

/// The health and metrics of a process, with the metrics of the process itself and of its HTTP server.
struct Metrics {
    let registry: PrometheusRegistry

    /// - Parameter own: the names of the command's own metrics, and what each counts or measures.
    init(_ own: [(name: String, text: String)]) {
        let (build, dropped) = ("juice_build_info", "juice_log_lines_dropped_total")
        let lost = "Lines of the log and of standard output that were dropped: they were not read, or could not be written."
        let shared = [(name: build, text: "1, with the version of this program."), (dropped, lost)]
        registry = PrometheusRegistry(help: own + HTTPMetric.allCases.map { ($0.rawValue, $0.help) } + shared)
        Meter(label: build, dimensions: [("version", JuiceCommand.currentVersion)], factory: registry).set(1)
        let droppedLines = Counter(label: dropped, factory: registry)
        registry.onCollect { for queue in OutputQueue.all { droppedLines.increment(by: queue.takeDropped()) } }
    }

    /// Creates a server for health and metrics. It does not listen before it runs.
    ///
    /// - Parameters:
    ///   - readyMetric: the gauge that is 1 while `readiness` gives no reason.
    ///   - countsItself: whether its connections are counted; true if it is the only server of the process.
    func server(
        at address: HTTPAddress, readyMetric: String, liveness: @escaping AdminRoutes.Reasons,
        readiness: @escaping AdminRoutes.Reasons, warnings: @escaping AdminRoutes.Reasons = { [] }, countsItself: Bool,
        logger: Logger
    ) -> HTTPServer<RouterResponder<BasicRequestContext>> {
        let ready = Meter(label: readyMetric, factory: registry)
        registry.onCollect { ready.set(readiness().isEmpty ? 1 : 0) }
        let routes = AdminRoutes.responder(
            liveness: liveness, readiness: readiness, warnings: { warnings() + OutputQueue.all.compactMap(\.warning) },
            metrics: registry)
        return HTTPServer(
            routes, at: address, limits: .probes,
            metrics: countsItself ? registry : NOOPMetricsHandler.instance, logger: logger)
    }
}
