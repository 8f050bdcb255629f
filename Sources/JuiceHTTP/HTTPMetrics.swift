import Metrics

/// The metrics of a server: their names, which include the units, and their help texts.
public enum HTTPMetric: String, CaseIterable, Sendable {
    case connections = "juice_http_connections"
    case endedConnections = "juice_http_ended_connections_total"

    /// What it counts or measures, in one sentence.
    public var help: String {
        switch self {
        case .connections: "Open HTTP connections."
        case .endedConnections:
            """
            HTTP connections that the server closed: refused with 503 above the limit, displaced by another while idle, or too \
            slow to send a request or to read a response.
            """
        }
    }
}

/// Records a server's metrics through swift-metrics.
public final class HTTPMetrics: Sendable {
    /// Why the server closed a connection; the value of the `reason` label.
    enum Reason: String, CaseIterable { case refused, displaced, slow }

    private let connections: Gauge
    private let ended: [Reason: Counter]

    /// Creates the metrics; without a factory they go nowhere.
    public init(factory: any MetricsFactory = NOOPMetricsHandler.instance) {
        connections = Gauge(label: HTTPMetric.connections.rawValue, factory: factory)
        ended = Dictionary(
            uniqueKeysWithValues: Reason.allCases.map { reason in
                let label = HTTPMetric.endedConnections.rawValue
                return (reason, Counter(label: label, dimensions: [("reason", reason.rawValue)], factory: factory))
            })
    }

    /// Records how many connections are open.
    func record(openConnections count: Int) { connections.record(count) }
    /// Counts a connection that the server closed.
    func ended(_ reason: Reason) { ended[reason]?.increment() }
}
