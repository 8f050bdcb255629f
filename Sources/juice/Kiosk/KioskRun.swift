import CoreMetrics
import JuiceClient
import JuiceHTTP
import JuiceKiosk
import Kafka
import Logging
import ServiceLifecycle
import UnixSignals

/// Runs a kiosk with its servers.
enum KioskRun {
    /// The kiosk and its servers as a service group.
    ///
    /// - Parameter onListening: called with the bound address once the page can be reached.
    static func group(
        _ plan: KioskPlan, logger: Logger, signals: [UnixSignal], onListening: @escaping @Sendable (HTTPAddress) async -> Void
    ) -> ServiceGroup {
        let metrics = plan.adminAddress.map { _ in Metrics(KioskMetric.allCases.map { .init($0.rawValue, help: $0.help) }) }
        let factory: any MetricsFactory = metrics?.registry ?? NOOPMetricsHandler.instance
        let kiosk = Kiosk(plan.configuration, metrics: factory, logger: logger)
        let server = HTTPServer(
            kiosk.responder, at: plan.address, limits: plan.limits, metrics: HTTPMetrics(factory: factory), logger: logger,
            onListening: onListening)
        // Services stop in reverse order: the kiosk ends its streams first, so the server has nothing left to wait for.
        var services: [any Service] = [server, kiosk]
        if let address = plan.adminAddress, let metrics {
            metrics.showReadiness(as: KioskMetric.ready.rawValue) { kiosk.readiness.isEmpty }
            let admin = AdminServer.make(
                at: address, liveness: { kiosk.liveness }, readiness: { kiosk.readiness }, metrics: metrics, logger: logger)
            services.insert(admin, at: 0)
        }
        return ServiceRun.group(services, signals: signals)
    }

    static func run(_ group: ServiceGroup) async throws {
        do { try await ServiceRun.run(group) } catch let error as KafkaError { throw Failure(.configuration, error.message) }
    }

    /// The URL for a browser on this machine.
    static func url(_ address: HTTPAddress) -> String {
        let isAnywhere = address.host == "0.0.0.0" || address.host == "::"
        return "http://\(isAnywhere ? HTTPAddress(host: "127.0.0.1", port: address.port) : address)/"
    }
}
