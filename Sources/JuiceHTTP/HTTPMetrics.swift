import Metrics

/// The metrics of a server: their names, units included, and what they say.
public enum HTTPMetric: String, CaseIterable, Sendable {
    case connections = "juice_http_connections"
    case endedConnections = "juice_http_ended_connections_total"

    /// What it counts or measures, in a sentence.
    public var help: String {
        switch self {
        case .connections: "Open HTTP connections."
        case .endedConnections:
            """
            HTTP connections that the server ended: refused with 503 as one too many, displaced by another while they waited for a \
            request, or slow to send a request or to read an answer.
            """
        }
    }
}

/// What a server counts, through swift-metrics.
public final class HTTPMetrics: Sendable {
    enum Reason: String, CaseIterable {
        case refused, displaced, slow
    }

    private let connections: Gauge
    private let ended: [Reason: Counter]

    /// Metrics without values; without a factory nobody sees them.
    public init(factory: any MetricsFactory = NOOPMetricsHandler.instance) {
        connections = Gauge(label: HTTPMetric.connections.rawValue, factory: factory)
        ended = Dictionary(
            uniqueKeysWithValues: Reason.allCases.map { reason in
                let label = HTTPMetric.endedConnections.rawValue
                return (
                    reason, Counter(label: label, dimensions: [("reason", reason.rawValue)], factory: factory)
                )
            }
        )
    }

    func note(connections count: Int) { connections.record(count) }
    func ended(_ reason: Reason) { ended[reason]?.increment() }
}
