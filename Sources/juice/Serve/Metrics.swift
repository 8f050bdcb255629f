import CoreMetrics
import JuiceClient
import JuiceHTTP

/// The metrics registry of a process, including the metrics of the process itself and of its HTTP server.
struct Metrics {
    let registry: PrometheusRegistry

    /// - Parameter own: the descriptions of the command's own metrics.
    init(_ own: [PrometheusRegistry.Description]) {
        let build = PrometheusRegistry.Description("juice_build_info", help: "1, with the version of this program.")
        let http = HTTPMetric.allCases.map { PrometheusRegistry.Description($0.rawValue, help: $0.help) }
        registry = PrometheusRegistry(descriptions: own + http + ProcessMetrics.descriptions + [build])
        Meter(label: build.name, dimensions: [("version", JuiceVersion.current)], factory: registry).set(1)
        let process = ProcessMetrics(factory: registry)
        registry.onCollect { process.update() }
    }

    /// Adds a readiness gauge that is evaluated whenever the metrics are read.
    func showReadiness(as name: String, _ isReady: @escaping @Sendable () -> Bool) {
        let ready = Meter(label: name, factory: registry)
        registry.onCollect { ready.set(isReady() ? 1 : 0) }
    }
}
