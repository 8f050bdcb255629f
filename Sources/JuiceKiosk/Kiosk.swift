import Foundation
import Hummingbird
import JuiceDomain
import JuiceMessages
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
package struct Kiosk: Service {
    private let configuration: KioskConfiguration
    private let logger: Logger
    private let hub: Hub
    private let producer: CommandProducer
    private let limiter: OrderRateLimiter
    private let staff: StaffAuthenticator
    private let metrics: KioskMetrics
    private let steps = ThreadWatchdog()

    /// A kiosk that does nothing before ``run()``.
    ///
    /// - Parameters:
    ///   - metrics: the backend that receives the ``KioskMetric`` values.
    ///   - logger: receives warnings and errors.
    package init(_ configuration: KioskConfiguration, metrics: any MetricsFactory = NOOPMetricsHandler.instance, logger: Logger) {
        self.configuration = configuration
        self.logger = logger
        self.metrics = KioskMetrics(factory: metrics)
        hub = Hub(menu: configuration.menu, rule: configuration.rule, mostPages: configuration.mostPages, metrics: self.metrics) {
            Date.now.timeIntervalSince1970
        }
        producer = CommandProducer(configuration: configuration.orders, topics: configuration.topics, logger: logger)
        limiter = OrderRateLimiter(configuration.limits, logger: logger)
        staff = StaffAuthenticator(configuration.staffToken, logger: logger)
    }

    /// Answers the page's requests.
    package var responder: RouterResponder<KioskContext> {
        KioskRoutes(
            configuration: configuration, hub: hub, producer: producer, limiter: limiter, staff: staff, metrics: metrics
        ).responder
    }

    /// Why the kiosk is not ready: no broker answers, or the stock has not been read to its end. Empty when it is ready.
    package var readiness: [String] { hub.connection.obstacle.map { [$0] } ?? [] }

    /// Why the kiosk needs a restart: threads that are stuck. Empty while all threads make progress.
    package var liveness: [String] { steps.stuck() }

    /// Reads and sends until graceful shutdown.
    ///
    /// - Throws: `KafkaError` if librdkafka rejects the configuration.
    package func run() async throws {
        let stop = StopSignal()
        let feed = TopicFeed(configuration: configuration, hub: hub, stop: stop, steps: steps, logger: logger)
        let monitor = ClusterMonitor(configuration: configuration, hub: hub, stop: stop, steps: steps, logger: logger)
        let end: @Sendable () -> Void = { [hub, limiter, staff] in
            stop.request()
            hub.close()
            limiter.close()
            staff.close()
        }
        try await withTaskCancellationOrGracefulShutdownHandler {
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                tasks.addTask { try await DedicatedThread.run("kiosk-feed") { feed.run() } }
                tasks.addTask { try await DedicatedThread.run("kiosk-watch") { try monitor.run() } }
                tasks.addTask { [producer, steps] in
                    try await DedicatedThread.run("kiosk-orders") { try producer.run(until: stop, steps: steps) }
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

/// What a kiosk shows, which Kafka cluster it uses, and who may do what.
package struct KioskConfiguration: Sendable {
    /// The properties that all Kafka clients share: brokers, security.
    var kafka: KafkaConfiguration
    package var topics: TopicNames
    /// The service's consumer group, whose lag the board shows.
    package var group: String
    /// The broker features that the clients can rely on.
    var capabilities: BrokerCapabilities
    /// The menu on the page; it must be the service's.
    var menu: Menu
    /// The ids of the stores to show; nil shows `main` and every store that has stock.
    package var stores: [String]?
    /// Whether orders are accepted for any other store, too. The first order creates the store.
    package var takesAnyStore: Bool
    /// The page's language until the visitor picks another.
    package var language: Language
    /// The token that staff need to edit stock; nil disables editing.
    package var staffToken: StaffToken?
    /// The host names under which browsers reach the page, besides `localhost` and IP addresses.
    package var hostNames: [String]
    /// How many orders and cancels are accepted per second.
    package var limits: OrderLimits
    /// The proxies whose `X-Forwarded-For` is trusted.
    package var trustedProxies: [AddressRange]
    /// How many pages can be open at once. Each holds one connection for its event stream and uses more for its requests.
    package var mostPages = 2000
    /// The service's duplicate window: how long after an order the page offers to cancel it.
    package var duplicateWindow = Duration.seconds(3600)

    /// By default: all stores that have stock, the built-in menu, English, and no stock editing.
    package init(
        kafka: KafkaConfiguration, topics: TopicNames, group: String, capabilities: BrokerCapabilities = .full,
        menu: Menu = .standard, stores: [String]? = nil, takesAnyStore: Bool = false, language: Language = .english,
        staffToken: StaffToken? = nil, hostNames: [String] = [], limits: OrderLimits = OrderLimits(),
        trustedProxies: [AddressRange] = []
    ) {
        (self.kafka, self.topics, self.group, self.capabilities) = (kafka, topics, group, capabilities)
        (self.menu, self.stores, self.takesAnyStore, self.language) = (menu, stores, takesAnyStore, language)
        (self.staffToken, self.hostNames, self.limits, self.trustedProxies) = (staffToken, hostNames, limits, trustedProxies)
    }

    /// Which stores are shown, and which accept orders.
    var rule: StoreRule { StoreRule(stores: stores, takesAny: takesAnyStore) }

    /// The configuration of the one consumer that reads answers and stock for all pages.
    var feed: KafkaConfiguration {
        KafkaConfiguration(["fetch.wait.max.ms": "\(capabilities.fetchWait)", "queued.max.messages.kbytes": "16384"])
            .merging(kafka.properties).merging(reading)
            // librdkafka requires a group id; without a subscription the consumer joins no group.
            .merging(["group.id": "juice-kiosk"])
    }

    /// The configuration of the client that asks for the committed offsets of the service's group. It neither joins nor reads.
    var monitor: KafkaConfiguration { kafka.merging(reading).merging(["group.id": group]) }

    /// The configuration of the producer of commands: idempotent, and partitioned by store.
    var orders: KafkaConfiguration {
        KafkaConfiguration(["linger.ms": "0", "message.timeout.ms": "8000"]).merging(kafka.properties).merging([
            "enable.idempotence": "true", "partitioner": "murmur2_random",
        ])
    }

    private var reading: [String: String] {
        [
            "enable.auto.commit": "false", "enable.auto.offset.store": "false", "isolation.level": "read_committed",
            "enable.partition.eof": "true", "auto.offset.reset": "earliest",
        ]
    }
}

/// The kiosk's metrics: their names, which include the units, and their help texts.
package enum KioskMetric: String, CaseIterable {
    case ready = "juice_kiosk_ready"
    case pages = "juice_kiosk_pages"
    case commands = "juice_kiosk_commands_total"
    case answers = "juice_kiosk_answers_total"
    case refusals = "juice_kiosk_refusals_total"

    /// What it counts or measures, in one sentence.
    package var help: String {
        switch self {
        case .ready: "1 while brokers answer and all stock is read, else 0."
        case .pages: "Open pages: event streams that are being written."
        case .commands: "Orders, cancels and restocks from pages, by whether a broker confirmed them. Each attempt counts."
        case .answers: "Answers to commands from pages."
        case .refusals: "Refused requests, by the error code in the response."
        }
    }
}

/// Records the kiosk's metrics through swift-metrics.
struct KioskMetrics: Sendable {
    /// Whether a broker confirmed a command; the value of the `outcome` label.
    enum SendOutcome: String, CaseIterable { case confirmed, unconfirmed }

    private let factory: any MetricsFactory
    private let pages: Gauge
    private let answers: Counter

    init(factory: any MetricsFactory = NOOPMetricsHandler.instance) {
        self.factory = factory
        pages = Gauge(label: KioskMetric.pages.rawValue, factory: factory)
        pages.record(0)
        answers = Counter(label: KioskMetric.answers.rawValue, factory: factory)
        // Start at 0, so that a rate includes the first increment.
        for kind in CommandKind.allCases {
            for outcome in SendOutcome.allCases { commands(kind, outcome).increment(by: 0) }
        }
        for refusal in [Refusal.tooManyPages, .busy, .wrongToken] { refusals(refusal).increment(by: 0) }
    }

    /// Records how many pages are open.
    func record(openPages count: Int) { pages.record(count) }

    /// Counts an answer to a page's command.
    func answered() { answers.increment() }

    /// Counts an attempt to send a page's command.
    func sent(_ kind: CommandKind, _ outcome: SendOutcome) { commands(kind, outcome).increment() }

    /// Counts a refused request. ``SecurityMiddleware`` reports every refusal, wherever it was thrown.
    func refused(_ refusal: Refusal) { refusals(refusal).increment() }

    private func commands(_ kind: CommandKind, _ outcome: SendOutcome) -> Counter {
        let dimensions = [("kind", "\(kind)"), ("outcome", outcome.rawValue)]
        return Counter(label: KioskMetric.commands.rawValue, dimensions: dimensions, factory: factory)
    }

    private func refusals(_ refusal: Refusal) -> Counter {
        Counter(label: KioskMetric.refusals.rawValue, dimensions: [("reason", refusal.code)], factory: factory)
    }
}
