import Dispatch
import JuiceClient
import JuiceHTTP
import ServiceLifecycle

/// A server, run next to a thread that does something else.
final class BackgroundServer: Sendable {
    /// Where it is.
    let address: HTTPAddress
    private let group: BackgroundGroup

    /// Starts a group with a server in it and waits until that can be reached. Blocks, so it is not for one of Swift's own threads.
    ///
    /// - Parameter make: makes the group, whose server tells where it listens.
    /// - Throws: ``Failure`` when it cannot listen.
    init(
        run: @escaping @Sendable (ServiceGroup) async throws -> Void = ServiceRun.run,
        _ make: (_ onListening: @escaping @Sendable (HTTPAddress) async -> Void) -> ServiceGroup
    ) throws {
        let started = DispatchSemaphore(value: 0)
        let start = Told<Result<HTTPAddress, any Error>>()
        let services = make { address in
            start.tell(.success(address))
            started.signal()
        }
        group = BackgroundGroup(services, run: run) { failure in
            if let failure { start.tell(.failure(failure)) }
            started.signal()
        }
        started.wait()
        guard let address = try start.value?.get() else {
            throw Failure(.software, "the server ended by itself")
        }
        self.address = address
    }

    /// Stops it and waits for its end.
    func stop() { group.stop() }
}
