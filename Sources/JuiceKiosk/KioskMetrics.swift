import JuiceMessages
import Metrics

/// The kiosk's metrics: their names, units included, and what they say.
public enum KioskMetric: String, CaseIterable, Sendable {
    case ready = "juice_kiosk_ready"
    case pages = "juice_kiosk_pages"
    case commands = "juice_kiosk_commands_total"
    case answers = "juice_kiosk_answers_total"
    case refusals = "juice_kiosk_refusals_total"

    /// What it counts or measures, in a sentence.
    public var help: String {
        switch self {
        case .ready: "1 while brokers answer and all stock is read, else 0."
        case .pages: "Open pages: event streams that are being written."
        case .commands:
            "Orders and restocks of pages, by whether the broker confirmed them. Each attempt of a page counts."
        case .answers: "Answers to commands of pages that were read."
        case .refusals: "Requests that were refused, by the code that the page is given."
        }
    }
}

/// What the kiosk counts, through swift-metrics, so any backend can show it.
final class KioskMetrics: Sendable {
    private let factory: any MetricsFactory
    private let pages: Gauge
    private let answers: Counter

    init(factory: any MetricsFactory = NOOPMetricsHandler.instance) {
        self.factory = factory
        pages = Gauge(label: KioskMetric.pages.rawValue, factory: factory)
        pages.record(0)
        answers = Counter(label: KioskMetric.answers.rawValue, factory: factory)
        // So that their first one counts in a rate.
        for kind in [CommandKind.order, .restock] {
            for isConfirmed in [true, false] { command(kind, isConfirmed: isConfirmed).increment(by: 0) }
        }
        for refusal in [Refusal.tooManyPages, .busy, .wrongToken] { self.refusal(refusal).increment(by: 0) }
    }

    /// So many pages are open.
    func note(pages count: Int) { pages.record(count) }

    /// A page's command was answered.
    func answered() { answers.increment() }

    /// A page's command was sent.
    func sent(_ kind: CommandKind, isConfirmed: Bool) { command(kind, isConfirmed: isConfirmed).increment() }

    /// A request was refused. ``SiteGuard`` tells of every refusal, whoever throws it.
    func refused(_ refusal: Refusal) { self.refusal(refusal).increment() }

    private func command(_ kind: CommandKind, isConfirmed: Bool) -> Counter {
        let dimensions = [
            ("kind", kind == .order ? "order" : "restock"),
            ("outcome", isConfirmed ? "confirmed" : "unconfirmed"),
        ]
        return Counter(label: KioskMetric.commands.rawValue, dimensions: dimensions, factory: factory)
    }

    private func refusal(_ refusal: Refusal) -> Counter {
        Counter(
            label: KioskMetric.refusals.rawValue,
            dimensions: [("reason", refusal.code)],
            factory: factory
        )
    }
}
