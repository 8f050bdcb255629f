import Dispatch
import JuiceService
import Logging
import ServiceLifecycle
import Synchronization

/// The service, run next to a thread that does something else.
final class BackgroundService: Sendable {
    private let group: ServiceGroup
    private let failure = Mutex<(any Error)?>(nil)
    private let hasEnded = Atomic(false)
    private let end = DispatchSemaphore(value: 0)
    private let ready: Flag

    /// Starts the service.
    init(_ configuration: ServiceConfiguration, logger: Logger) {
        let ready = Flag()
        self.ready = ready
        let service = OrderService(
            configuration: configuration,
            health: ServiceHealth { if $0 { ready.set() } },
            logger: logger
        )
        group = ServiceRun.group([service], signals: [])
        Task.detached { [self] in
            do {
                try await ServiceRun.run(group)
            } catch {
                failure.withLock { $0 = error }
            }
            hasEnded.store(true, ordering: .releasing)
            end.signal()
        }
    }

    /// Whether it reads commands: it has joined its group and restored its stores.
    var isReady: Bool { ready.isSet }

    /// Throws why the service ended, if it did by itself.
    func check() throws {
        guard hasEnded.load(ordering: .acquiring) else { return }
        throw failure.withLock { $0 } ?? Failure(.software, "the service ended by itself")
    }

    /// Stops the service and waits for its end. Blocks, so it is not for one of Swift's own threads.
    func stop() {
        Task.detached { [group] in await group.triggerGracefulShutdown() }
        end.wait()
        // For a second call.
        end.signal()
    }
}

/// Something that happens once, told across threads.
private final class Flag: Sendable {
    private let value = Atomic(false)

    var isSet: Bool { value.load(ordering: .relaxed) }

    func set() { value.store(true, ordering: .relaxed) }
}
