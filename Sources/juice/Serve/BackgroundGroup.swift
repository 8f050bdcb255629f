import Dispatch
import ServiceLifecycle
import Synchronization

/// Runs a service group in the background.
final class BackgroundGroup: Sendable {
    private let group: ServiceGroup
    private let end = DispatchSemaphore(value: 0)

    /// Starts the group.
    ///
    /// - Parameter onEnd: called when the group ends, with the error if it failed.
    init(
        _ group: ServiceGroup, run: @escaping @Sendable (ServiceGroup) async throws -> Void,
        onEnd: @escaping @Sendable ((any Error)?) -> Void
    ) {
        self.group = group
        Task.detached { [end] in
            var failure: (any Error)?
            do { try await run(group) } catch { failure = error }
            onEnd(failure)
            end.signal()
        }
    }

    /// Stops the group and waits until it has ended. It blocks, so do not call it on Swift's cooperative pool.
    func stop() {
        Task.detached { [group] in await group.triggerGracefulShutdown() }
        end.wait()
        // Lets a second call return.
        end.signal()
    }
}

/// A value that one thread sets and others read.
final class SharedValue<Value: Sendable>: Sendable {
    private let mutex = Mutex<Value?>(nil)

    /// Nil before it is set.
    var value: Value? { mutex.withLock { $0 } }

    func set(_ value: Value) { mutex.withLock { $0 = value } }
}
