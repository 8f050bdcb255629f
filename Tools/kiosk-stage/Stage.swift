import BrokerFaults
import Foundation
import JuiceMessages
import JuiceService
import Kafka
import Logging
import ServiceLifecycle

/// An embedded broker and the service on it, controlled by lines on standard input: `broker down`, `broker up`, `service stop`,
/// `service start`. It prints `done` after each, and exits at the end of its input.
@main
struct Stage {
    static func main() async throws {
        let logger = Logger(label: "stage") { _ in SwiftLogNoOpLogHandler() }
        let broker = try EmbeddedBroker(logger: logger)
        let topics = TopicNames()
        for name in topics.all { try broker.createTopic(name, partitionCount: 4) }
        say("brokers \(broker.bootstrapServers)")
        var service: RunningService? = await RunningService(broker.bootstrapServers, logger)
        say("ready")
        while let line = readLine() {
            switch line {
            case "broker down": broker.takeDown()
            case "broker up": broker.bringUp()
            case "service stop":
                await service?.stop()
                service = nil
            case "service start": service = await RunningService(broker.bootstrapServers, logger)
            default: say("unknown: \(line)")
            }
            say("done")
        }
        await service?.stop()
    }

    /// Writes a line unbuffered; `print` buffers if standard output is not a terminal.
    private static func say(_ line: String) {
        FileHandle.standardOutput.write(Data((line + "\n").utf8))
    }
}

/// A running service.
private struct RunningService {
    private let group: ServiceGroup
    private let run: Task<Void, any Error>

    /// Starts the service and waits until it is ready.
    init(_ bootstrapServers: String, _ logger: Logger) async {
        let (readiness, isReady) = AsyncStream.makeStream(of: Bool.self)
        let service = OrderService(
            configuration: ServiceConfiguration(bootstrapServers: bootstrapServers, instanceID: "stage", capabilities: .embedded),
            health: ServiceHealth { isReady.yield($0) }, logger: logger)
        let group = ServiceGroup(configuration: .init(services: [.init(service: service)], logger: logger))
        self.group = group
        run = Task.detached { try await group.run() }
        _ = await readiness.first { $0 }
    }

    func stop() async {
        await group.triggerGracefulShutdown()
        _ = await run.result
    }
}
