import Dispatch
import JuiceClient
import JuiceHTTP
import ServiceLifecycle

/// Runs a server in the background.
final class BackgroundServer: Sendable {
    /// The bound address.
    let address: HTTPAddress
    private let group: BackgroundGroup

    /// Starts a group with a server and waits until the server accepts connections. It blocks, so do not call it on Swift's
    /// cooperative pool.
    ///
    /// - Parameter make: creates the group; its server must call `onListening`.
    /// - Throws: ``Failure`` if it cannot listen.
    init(
        run: @escaping @Sendable (ServiceGroup) async throws -> Void = ServiceRun.run,
        _ make: (_ onListening: @escaping @Sendable (HTTPAddress) async -> Void) -> ServiceGroup
    ) throws {
        let started = DispatchSemaphore(value: 0)
        let start = SharedValue<Result<HTTPAddress, any Error>>()
        let services = make { address in
            start.set(.success(address))
            started.signal()
        }
        group = BackgroundGroup(services, run: run) { failure in
            if let failure { start.set(.failure(failure)) }
            started.signal()
        }
        started.wait()
        guard let address = try start.value?.get() else { throw Failure(.software, "the server ended by itself") }
        self.address = address
    }

    /// Stops it and waits until it has ended.
    func stop() { group.stop() }
}
