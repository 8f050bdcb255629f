import Hummingbird
import JuiceClient
import JuiceHTTP
import JuiceService
import Logging
import ServiceLifecycle
import Synchronization
import Testing

@testable import juice

struct ServiceRunTests {
    /// A service that fails on demand.
    private struct Failing: Service {
        let moment: AsyncStream<Void>

        func run() async throws {
            for await _ in moment {}
            throw ServiceError.failed("its one clear error")
        }
    }

    @Test func theServerSaysNothingOfAnothersFailure() async throws {
        let (moment, listening) = AsyncStream.makeStream(of: Void.self)
        let lines = Mutex<[String]>([])
        let address = HTTPAddress(host: "127.0.0.1", port: 0)
        let logger = Logger.lines(level: .warning) { line in lines.withLock { $0.append(line) } }
        let server = HTTPServer(
            Router().buildResponder(), at: address, limits: .probes, logger: logger, onListening: { _ in listening.finish() })
        let group = ServiceRun.group([server, Failing(moment: moment)], signals: [])
        let failure = await #expect(throws: Failure.self) { try await ServiceRun.run(group) }
        #expect(failure == Failure(.software, "its one clear error"))
        #expect(lines.withLock(\.self) == [])
    }
}
