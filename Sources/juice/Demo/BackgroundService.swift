import JuiceClient
import JuiceService
import Logging

/// Runs the service in the background.
final class BackgroundService: Sendable {
    private let group: BackgroundGroup
    private let end: SharedValue<any Error>
    private let ready: SharedValue<Void>

    /// Starts the service in the background.
    init(_ configuration: ServiceConfiguration, logger: Logger) {
        let (end, ready) = (SharedValue<any Error>(), SharedValue<Void>())
        (self.end, self.ready) = (end, ready)
        let service = OrderService(
            configuration: configuration,
            health: ServiceHealth { if $0 { ready.set(()) } },
            logger: logger
        )
        group = BackgroundGroup(ServiceRun.group([service], signals: []), run: ServiceRun.run) {
            end.set($0 ?? Failure(.software, "the service ended by itself"))
        }
    }

    /// Whether it processes commands: it has joined its group and restored its stores.
    var isReady: Bool { ready.value != nil }

    /// Throws the reason if the service has ended by itself.
    func check() throws {
        if let failure = end.value { throw failure }
    }

    /// Stops the service and waits until it has ended. It blocks, so do not call it on Swift's cooperative pool.
    func stop() { group.stop() }
}
