import ArgumentParser
import FaultyNetwork
import Foundation
import JuiceMessages
import JuiceService
import Kafka
import Logging
import ServiceLifecycle

/// An embedded broker and the service on it, controlled by lines on standard input: `broker down`, `broker up`, `service stop`,
/// `service start`. It prints `done` after each, and exits at the end of its input.
struct KioskStage: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Run an embedded broker and the service on it, for the tests of the kiosk's page.")

    func run() throws {
        let logger = Logger(label: "stage") { _ in SwiftLogNoOpLogHandler() }
        let broker = try EmbeddedBroker(logger: logger)
        let topics = TopicNames()
        for name in topics.all { try broker.createTopic(name, partitionCount: 4) }
        Self.say("brokers \(broker.bootstrapServers)")
        var service: RunningService? = RunningService(broker.bootstrapServers, logger)
        Self.say("ready")
        while let line = readLine() {
            switch line {
            case "broker down": broker.takeDown()
            case "broker up": broker.bringUp()
            case "service stop":
                service?.stop()
                service = nil
            case "service start": service = RunningService(broker.bootstrapServers, logger)
            default: Self.say("unknown: \(line)")
            }
            Self.say("done")
        }
        service?.stop()
    }

    /// Writes a line unbuffered; `print` buffers if standard output is not a terminal.
    private static func say(_ line: String) {
        FileHandle.standardOutput.write(Data((line + "\n").utf8))
    }
}

/// A running service. Its calls block, so do not use it on Swift's cooperative pool.
private struct RunningService {
    private let group: ServiceGroup
    private let hasEnded = DispatchSemaphore(value: 0)

    /// Starts the service and waits until it is ready.
    init(_ bootstrapServers: String, _ logger: Logger) {
        let health = ServiceHealth()
        let service = OrderService(
            configuration: ServiceConfiguration(bootstrapServers: bootstrapServers, instanceID: "stage", capabilities: .embedded),
            health: health, logger: logger)
        let group = ServiceGroup(configuration: .init(services: [.init(service: service)], logger: logger))
        self.group = group
        Task.detached { [hasEnded] in
            defer { hasEnded.signal() }
            try await group.run()
        }
        while !health.readiness.isEmpty { usleep(10_000) }
    }

    func stop() {
        Task.detached { [group] in await group.triggerGracefulShutdown() }
        hasEnded.wait()
    }
}
