import Foundation
import Hummingbird
import Kafka
import Logging
import Metrics
import ServiceLifecycle

/// The web page in front of the topics: reads answers and stock for all open pages, and sends their commands.
///
/// It is an ordinary client of the contract. Run it as a service, next to an HTTP server with its ``responder``:
/// ```swift
/// let kiosk = Kiosk(configuration, logger: logger)
/// // Services stop in reverse order: the kiosk ends its streams first, so the server has nothing left to wait for.
/// let services: [any Service] = [HTTPServer(kiosk.responder, at: address, logger: logger), kiosk]
/// ```
public struct Kiosk: Service {
    private let configuration: KioskConfiguration
    private let logger: Logger
    private let hub: Hub
    private let desk: OrderDesk
    private let gate: OrderGate
    private let door: StaffDoor
    private let metrics: KioskMetrics
    private let steps = StepWatch()

    /// Creates a kiosk. It does nothing before ``run()``.
    ///
    /// - Parameters:
    ///   - configuration: the topics, brokers and limits.
    ///   - metrics: the backend that receives the ``KioskMetric`` values.
    ///   - logger: receives warnings and errors.
    public init(_ configuration: KioskConfiguration, metrics: any MetricsFactory = NOOPMetricsHandler.instance, logger: Logger) {
        self.configuration = configuration
        self.logger = logger
        self.metrics = KioskMetrics(factory: metrics)
        hub = Hub(menu: configuration.menu, rule: configuration.rule, mostPages: configuration.mostPages, metrics: self.metrics) {
            Date.now.timeIntervalSince1970
        }
        desk = OrderDesk(configuration: configuration.orders, topics: configuration.topics, logger: logger)
        gate = OrderGate(configuration.limits, logger: logger)
        door = StaffDoor(configuration.staffToken, logger: logger)
    }

    /// Answers the page's requests.
    public var responder: RouterResponder<KioskContext> {
        KioskRoutes(configuration: configuration, hub: hub, desk: desk, gate: gate, door: door, metrics: metrics).router
            .buildResponder()
    }

    /// Why the kiosk is not ready: no broker answers, or the stock has not been read to its end. Empty when it is ready.
    public var readiness: [String] { hub.link.obstacle.map { [$0] } ?? [] }

    /// Why the kiosk needs a restart: threads that are stuck. Empty while all threads make progress.
    public var liveness: [String] { steps.stuck() }

    /// Reads and sends until graceful shutdown.
    ///
    /// - Throws: `KafkaError` if librdkafka rejects the configuration.
    public func run() async throws {
        let stop = StopSignal()
        let feed = Feed(configuration: configuration, hub: hub, stop: stop, steps: steps, logger: logger)
        let watch = Watch(configuration: configuration, hub: hub, stop: stop, steps: steps, logger: logger)
        let end: @Sendable () -> Void = { [hub, gate, door] in
            stop.request()
            hub.close()
            gate.close()
            door.close()
        }
        try await withTaskCancellationOrGracefulShutdownHandler {
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                tasks.addTask { try await OwnThread.run("kiosk-feed") { feed.run() } }
                tasks.addTask { try await OwnThread.run("kiosk-watch") { try watch.run() } }
                tasks.addTask { [desk, steps] in try await OwnThread.run("kiosk-orders") { try desk.run(until: stop, steps: steps) }
                }
                defer { end() }
                // The first task to fail ends the others.
                while try await tasks.next() != nil {}
            }
        } onCancelOrGracefulShutdown: {
            end()
        }
    }
}
