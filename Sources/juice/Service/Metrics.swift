import CoreMetrics
import JuiceService
import PrometheusMetrics

/// The metrics of a process that runs the service.
struct Metrics {
    let registry: PrometheusRegistry

    /// - Parameter health: looked at each time the metrics are read.
    init(_ health: ServiceHealth) {
        let service = ServiceMetric.allCases.map {
            PrometheusRegistry.Description($0.rawValue, help: $0.help, buckets: $0.buckets)
        }
        let build = PrometheusRegistry.Description(
            "juice_build_info",
            help: "1, with the version of this program."
        )
        registry = PrometheusRegistry(descriptions: service + ProcessMetrics.descriptions + [build])
        Meter(
            label: build.name,
            dimensions: [("version", JuiceCommand.configuration.version)],
            factory: registry
        ).set(1)
        let process = ProcessMetrics(factory: registry)
        let ready = Meter(label: ServiceMetric.ready.rawValue, factory: registry)
        registry.onCollect {
            process.update()
            ready.set(health.readiness.isWell ? 1 : 0)
        }
    }
}
