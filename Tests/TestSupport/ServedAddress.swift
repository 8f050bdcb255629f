import Hummingbird
import JuiceHTTP
import Logging
import ServiceLifecycle

/// Serves on a free port of the loopback interface during the body.
public func serving<Responder: HTTPResponder>(
    _ responder: Responder, limits: ConnectionLimits = .probes, metrics: HTTPMetrics = HTTPMetrics(),
    besides services: [any Service] = [], _ body: @Sendable @escaping (HTTPAddress) async throws -> Void
) async throws where Responder.Context: InitializableFromSource<ApplicationRequestContextSource> {
    let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    let (addresses, listening) = AsyncStream.makeStream(of: HTTPAddress.self)
    let local = HTTPAddress(host: "127.0.0.1", port: 0)
    let server = HTTPServer(responder, at: local, limits: limits, metrics: metrics, logger: quiet) { listening.yield($0) }
    let all = [server] + services
    let group = ServiceGroup(configuration: .init(services: all.map { .init(service: $0) }, logger: quiet))
    try await withThrowingTaskGroup(of: Void.self) { tasks in
        tasks.addTask {
            defer { listening.finish() }
            try await group.run()
        }
        if let address = await addresses.first(where: { _ in true }) {
            do {
                try await body(address)
            } catch {
                await group.triggerGracefulShutdown()
                throw error
            }
        }
        await group.triggerGracefulShutdown()
        try await tasks.waitForAll()
    }
}
