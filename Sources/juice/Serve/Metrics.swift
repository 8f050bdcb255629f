import CoreMetrics
import JuiceClient
import JuiceHTTP
import PrometheusMetrics

/// The metrics of a process, those of the process itself and of its HTTP server among them.
struct Metrics {
    let registry: PrometheusRegistry

    /// - Parameter own: what this process has that others do not: names, and what they say.
    init(_ own: [PrometheusRegistry.Description]) {
        let build = PrometheusRegistry.Description(
            "juice_build_info",
            help: "1, with the version of this program."
        )
        let http = HTTPMetric.allCases.map { PrometheusRegistry.Description($0.rawValue, help: $0.help) }
        registry = PrometheusRegistry(descriptions: own + http + ProcessMetrics.descriptions + [build])
        Meter(
            label: build.name,
            dimensions: [("version", JuiceVersion.current)],
            factory: registry
        ).set(1)
        let process = ProcessMetrics(factory: registry)
        registry.onCollect { process.update() }
    }

    /// Shows whether the process is ready, which is asked each time the metrics are read.
    func showReadiness(as name: String, _ isReady: @escaping @Sendable () -> Bool) {
        let ready = Meter(label: name, factory: registry)
        registry.onCollect { ready.set(isReady() ? 1 : 0) }
    }
}
