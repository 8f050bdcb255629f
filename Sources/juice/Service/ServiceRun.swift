import JuiceService
import Logging
import ServiceLifecycle
import UnixSignals

/// Runs the service under a lifecycle.
enum ServiceRun {
    /// Until SIGTERM or SIGINT, or until it fails.
    static func untilStopped(_ service: OrderService) async throws {
        try await run(group(service, signals: [.sigterm, .sigint]))
    }

    /// A group of this one service.
    static func group(_ service: OrderService, signals: [UnixSignal]) -> ServiceGroup {
        // The group's own lines repeat, in the words of its machinery, what the service says itself.
        let silent = Log.logger(level: .critical) { _ in }
        return ServiceGroup(
            configuration: .init(services: [service], gracefulShutdownSignals: signals, logger: silent)
        )
    }

    /// Runs a group and says what its failure means.
    static func run(_ group: ServiceGroup) async throws {
        do {
            try await group.run()
        } catch let error as ServiceError {
            throw Failure(error)
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

    /// Topics that must be mended.
    init(_ problems: [TopicCheck.Problem]) {
        let first = problems.first
        self.init(
            .configuration,
            problems.count == 1 ? first?.fault ?? "" : "the topics are not fit for the service",
            hint: problems.count == 1
                ? "mend it with: \(first?.mend ?? "")" : problems.map(\.description).joined(separator: "\n")
        )
    }
}
