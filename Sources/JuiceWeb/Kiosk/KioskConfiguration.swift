import JuiceDomain
import JuiceMessages
import Kafka
import Metrics

/// What a kiosk shows, which Kafka cluster it uses, and who may do what.
package struct KioskConfiguration: Sendable {
    /// The properties that all Kafka clients share: brokers, security.
    var kafka: KafkaConfiguration
    package var topics: TopicNames
    /// The broker features that the clients can rely on.
    var capabilities: BrokerCapabilities
    /// The menu on the page; it must be the service's.
    var menu: Menu
    /// The ids of the stores to show; nil shows `main` and every store that has stock.
    package var stores: [String]?
    /// Whether orders are accepted for any other store, too. The first order creates the store.
    package var takesAnyStore: Bool
    /// The page's language until the visitor picks another; nil is the browser's.
    package var language: Language?
    /// Each lets staff edit stock; without one staff cannot.
    package var staffSecrets: [StaffSecret]
    /// The host names under which browsers reach the page, besides `localhost` and IP addresses.
    package var hostNames: [String]
    /// How many orders and cancels are accepted per second; bursts of ten seconds' worth.
    package var orderRate: Int
    /// How many pages can be open at once. Each holds one connection for its event stream and uses more for its requests.
    package var mostPages = 2000
    /// The service's duplicate window: how long after an order the page offers to cancel it.
    package var duplicateWindow = Duration.seconds(3600)

    /// By default: all stores that have stock, the built-in menu, the browser's language, and no stock editing.
    package init(
        kafka: KafkaConfiguration, topics: TopicNames, capabilities: BrokerCapabilities = .full, menu: Menu = .standard,
        stores: [String]? = nil, takesAnyStore: Bool = false, language: Language? = nil, staffSecrets: [StaffSecret] = [],
        hostNames: [String] = [], orderRate: Int = 100
    ) {
        (self.kafka, self.topics, self.capabilities) = (kafka, topics, capabilities)
        (self.menu, self.stores, self.takesAnyStore, self.language) = (menu, stores, takesAnyStore, language)
        (self.staffSecrets, self.hostNames, self.orderRate) = (staffSecrets, hostNames, orderRate)
    }

    /// Which stores are shown, and which accept orders.
    var rule: StoreRule { StoreRule(stores: stores, takesAny: takesAnyStore) }

    /// The configuration of the one consumer that reads answers and stock for all pages.
    var feed: KafkaConfiguration {
        KafkaConfiguration(["queued.max.messages.kbytes": "16384"])
            .merging(capabilities.consumerProperties).merging(kafka.properties)
            .merging([
                "enable.auto.commit": "false", "enable.auto.offset.store": "false", "isolation.level": "read_committed",
                "enable.partition.eof": "true", "auto.offset.reset": "earliest",
                // librdkafka requires a group id; without a subscription the consumer joins no group.
                "group.id": "juice-kiosk",
            ])
    }

    /// The configuration of the producer of commands: idempotent, and partitioned by store.
    var orders: KafkaConfiguration {
        KafkaConfiguration(["linger.ms": "0", "message.timeout.ms": "8000"]).merging(kafka.properties).merging([
            "enable.idempotence": "true", "partitioner": "murmur2_random",
        ])
    }
}

/// The kiosk's metrics.
package enum KioskMetric: String, CaseIterable {
    case ready = "juice_kiosk_ready"
    case pages = "juice_kiosk_pages"
    case commands = "juice_kiosk_commands_total"
    case answers = "juice_kiosk_answers_total"
    case refusals = "juice_kiosk_refusals_total"

    package var help: String {
        switch self {
        case .ready: "1 while brokers answer and all stock is read, else 0."
        case .pages: "Open pages: event streams that are being written."
        case .commands: "Orders, cancels and restocks from pages, by whether a broker confirmed them. Each attempt counts."
        case .answers: "Answers sent to the pages of their commands."
        case .refusals: "Refused requests, by the error code in the response."
        }
    }
}

/// Records the kiosk's metrics through swift-metrics.
struct KioskMetrics: Sendable {
    private let factory: any MetricsFactory
    let pages: Gauge
    let answers: Counter

    init(factory: any MetricsFactory = NOOPMetricsHandler.instance) {
        self.factory = factory
        pages = Gauge(label: KioskMetric.pages.rawValue, factory: factory)
        pages.record(0)
        answers = Counter(label: KioskMetric.answers.rawValue, factory: factory)
        // Start at 0, so that a rate includes the first increment.
        for kind in CommandKind.allCases {
            for isConfirmed in [true, false] { commands(kind, isConfirmed: isConfirmed).increment(by: 0) }
        }
        for refusal in [Refusal.tooManyPages, .busy, .wrongToken, .tooManyTries(wait: .zero)] { refusals(refusal).increment(by: 0) }
    }

    /// Attempts to send pages' commands.
    func commands(_ kind: CommandKind, isConfirmed: Bool) -> Counter {
        let dimensions = [("kind", "\(kind)"), ("outcome", isConfirmed ? "confirmed" : "unconfirmed")]
        return Counter(label: KioskMetric.commands.rawValue, dimensions: dimensions, factory: factory)
    }

    /// ``SecurityMiddleware`` reports every refusal, wherever it was thrown.
    func refusals(_ refusal: Refusal) -> Counter {
        Counter(label: KioskMetric.refusals.rawValue, dimensions: [("reason", refusal.code)], factory: factory)
    }
}
