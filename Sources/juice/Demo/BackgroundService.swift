import JuiceClient
import JuiceService
import Logging

/// The service, run next to a thread that does something else.
final class BackgroundService: Sendable {
    private let group: BackgroundGroup
    private let end: Told<any Error>
    private let ready: Told<Void>

    /// Starts the service.
    init(_ configuration: ServiceConfiguration, logger: Logger) {
        let (end, ready) = (Told<any Error>(), Told<Void>())
        (self.end, self.ready) = (end, ready)
        let service = OrderService(
            configuration: configuration,
            health: ServiceHealth { if $0 { ready.tell(()) } },
            logger: logger
        )
        group = BackgroundGroup(ServiceRun.group([service], signals: []), run: ServiceRun.run) {
            end.tell($0 ?? Failure(.software, "the service ended by itself"))
        }
    }

    /// Whether it reads commands: it has joined its group and restored its stores.
    var isReady: Bool { ready.value != nil }

    /// Throws why the service ended, if it did by itself.
    func check() throws {
        if let failure = end.value { throw failure }
    }

    /// Stops the service and waits for its end. Blocks, so it is not for one of Swift's own threads.
    func stop() { group.stop() }
}
