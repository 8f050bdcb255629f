import Dispatch
import ServiceLifecycle
import Synchronization

/// A group of services, run next to a thread that does something else.
final class BackgroundGroup: Sendable {
    private let group: ServiceGroup
    private let end = DispatchSemaphore(value: 0)

    /// Starts the group.
    ///
    /// - Parameter onEnd: told of its end, and why it failed if it did.
    init(
        _ group: ServiceGroup,
        run: @escaping @Sendable (ServiceGroup) async throws -> Void,
        onEnd: @escaping @Sendable ((any Error)?) -> Void
    ) {
        self.group = group
        Task.detached { [end] in
            var failure: (any Error)?
            do {
                try await run(group)
            } catch {
                failure = error
            }
            onEnd(failure)
            end.signal()
        }
    }

    /// Stops the group and waits for its end. Blocks, so it is not for one of Swift's own threads.
    func stop() {
        Task.detached { [group] in await group.triggerGracefulShutdown() }
        end.wait()
        // For a second call.
        end.signal()
    }
}

/// Something that happens once, told across threads.
final class Told<Value: Sendable>: Sendable {
    private let told = Mutex<Value?>(nil)

    /// Nil before it is told.
    var value: Value? { told.withLock { $0 } }

    func tell(_ value: Value) { told.withLock { $0 = value } }
}
