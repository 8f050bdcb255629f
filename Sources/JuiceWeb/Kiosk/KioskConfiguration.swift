import JuiceDomain
import JuiceMessages
import Kafka
import Metrics

/// What a kiosk shows, which Kafka cluster it uses, and who may do what.
package struct KioskConfiguration: Sendable {
    /// The properties of the one consumer that reads answers and stock for all pages. It joins no group.
    package var feed: KafkaConfiguration
    /// The properties of the producer of commands: idempotent, and partitioned by store.
    package var orders: KafkaConfiguration
    /// What both authenticate with. Overrides their own properties.
    package var credentials = Credentials([:])
    package var topics: TopicNames
    /// The menu on the page; it must be the service's.
    var menu: Menu

    // See the options of `juice kiosk` of these names. Without stores, it shows `main` and all that have stock.
    package var stores: [String]?
    package var takesAnyStore = false
    package var language: Language?
    package var staffSecrets: [StaffSecret] = []
    package var hostNames: [String] = []
    package var orderRate = 100
    package var duplicateWindow = Duration.seconds(3600)

    /// How many pages can be open at once. Each holds one connection for its event stream and uses more for its requests.
    package var mostPages = 2000

    /// By default: all stores that have stock, the built-in menu, the browser's language, and no stock editing.
    package init(feed: KafkaConfiguration, orders: KafkaConfiguration, topics: TopicNames, menu: Menu = .standard) {
        (self.feed, self.orders, self.topics, self.menu) = (feed, orders, topics, menu)
    }

    var rule: StoreRule { StoreRule(stores: stores, takesAny: takesAnyStore) }
}

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
        case .commands: "Commands from pages, by whether a broker confirmed them. Each attempt counts."
        case .answers: "Answers sent to the pages of their commands."
        case .refusals: "Refused requests, by the error code in the response."
        }
    }
}

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

    func commands(_ kind: CommandKind, isConfirmed: Bool) -> Counter {
        let dimensions = [("kind", "\(kind)"), ("outcome", isConfirmed ? "confirmed" : "unconfirmed")]
        return Counter(label: KioskMetric.commands.rawValue, dimensions: dimensions, factory: factory)
    }

    /// ``SecurityMiddleware`` reports every refusal, wherever it was thrown.
    func refusals(_ refusal: Refusal) -> Counter {
        Counter(label: KioskMetric.refusals.rawValue, dimensions: [("reason", refusal.code)], factory: factory)
    }
}
