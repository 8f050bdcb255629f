import JuiceClient
import JuiceHTTP
import JuiceService
import Logging
import ServiceLifecycle
import UnixSignals

/// Runs the service with its server.
enum ServiceRun {
    /// Runs until SIGTERM or SIGINT, or until it fails.
    static func untilStopped(_ plan: ServicePlan, _ readyFile: ReadyFile?) async throws {
        let health = ServiceHealth { $0 ? readyFile?.create() : readyFile?.remove() }
        let metrics = plan.http.map { _ in
            Metrics(ServiceMetric.allCases.map { .init($0.rawValue, help: $0.help, buckets: $0.buckets) })
        }
        metrics?.showReadiness(as: ServiceMetric.ready.rawValue) { health.readiness.isWell }
        let service = OrderService(
            configuration: plan.configuration, topicPlan: plan.configuration.capabilities.managesTopics ? plan.topicPlan : nil,
            health: health, metrics: metrics?.registry, logger: plan.logger)
        var services: [any Service] = [service]
        if let address = plan.http, let metrics {
            let server = AdminServer.make(
                at: address, liveness: { health.liveness.reasons }, readiness: { health.readiness.reasons }, metrics: metrics,
                counted: HTTPMetrics(factory: metrics.registry), logger: plan.logger)
            // The server stops last, so that it can report health while the service stops.
            services.insert(server, at: 0)
        }
        try await run(group(services, signals: [.sigterm, .sigint]))
    }

    /// A group of these services. It stops in reverse order, on a signal or when one of them fails.
    static func group(_ services: [any Service], signals: [UnixSignal]) -> ServiceGroup {
        // The group's own log lines repeat those of the services.
        let silent = Logger.lines(level: .critical) { _ in }
        // By default a group cancels the other services when one fails, and a cancelled server logs errors.
        let stopping = services.map {
            ServiceGroupConfiguration.ServiceConfiguration(service: $0, failureTerminationBehavior: .gracefullyShutdownGroup)
        }
        return ServiceGroup(configuration: .init(services: stopping, gracefulShutdownSignals: signals, logger: silent))
    }

    /// Runs a group and turns its errors into messages for the user.
    static func run(_ group: ServiceGroup) async throws {
        do {
            try await group.run()
        } catch let error as ServiceError {
            throw Failure(error)
        } catch let error as HTTPServerError {
            throw Failure(
                .configuration,
                error.description,
                hint: "choose another address with --http or --admin-http"
            )
        }
    }
}

extension Failure {
    /// Why the service ended by itself.
    init(_ error: ServiceError) {
        switch error {
        case .badConfiguration(let reason): self.init(.configuration, reason)
        case .unfitTopics(let problems): self.init(problems)
        case .failed(let reason): self.init(.software, reason)
        }
    }

    /// Topics that have to be fixed.
    init(_ problems: [TopicCheck.Problem]) {
        let first = problems.first
        self.init(
            .configuration, problems.count == 1 ? first?.fault ?? "" : "the topics are not fit for the service",
            hint: problems.count == 1 ? "mend it with: \(first?.mend ?? "")" : problems.map(\.description).joined(separator: "\n"))
    }
}
