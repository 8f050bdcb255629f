import JuiceMessages
import Metrics

/// The kiosk's metrics: their names, which include the units, and their help texts.
public enum KioskMetric: String, CaseIterable, Sendable {
    case ready = "juice_kiosk_ready"
    case pages = "juice_kiosk_pages"
    case commands = "juice_kiosk_commands_total"
    case answers = "juice_kiosk_answers_total"
    case refusals = "juice_kiosk_refusals_total"

    /// What it counts or measures, in one sentence.
    public var help: String {
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
final class KioskMetrics: Sendable {
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

    /// Counts a refused request. ``SiteGuard`` reports every refusal, wherever it was thrown.
    func refused(_ refusal: Refusal) { refusals(refusal).increment() }

    private func commands(_ kind: CommandKind, _ outcome: SendOutcome) -> Counter {
        let dimensions = [("kind", "\(kind)"), ("outcome", outcome.rawValue)]
        return Counter(label: KioskMetric.commands.rawValue, dimensions: dimensions, factory: factory)
    }

    private func refusals(_ refusal: Refusal) -> Counter {
        Counter(label: KioskMetric.refusals.rawValue, dimensions: [("reason", refusal.code)], factory: factory)
    }
}
