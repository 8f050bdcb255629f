import JuiceHTTP
import JuiceKiosk
import Kafka
import Logging
import ServiceLifecycle
import UnixSignals

/// Runs a kiosk under a lifecycle.
enum KioskRun {
    /// The kiosk and its server.
    ///
    /// - Parameter onListening: told where the page is once it can be reached.
    static func group(
        _ plan: KioskPlan,
        logger: Logger,
        signals: [UnixSignal],
        onListening: @escaping @Sendable (HTTPAddress) async -> Void
    ) -> ServiceGroup {
        let kiosk = Kiosk(plan.configuration, logger: logger)
        let server = HTTPServer(
            kiosk.responder,
            at: plan.address,
            limits: plan.limits,
            logger: logger,
            onListening: onListening
        )
        // The kiosk is stopped first and lets its pages go, so that the server has nothing to wait for.
        return ServiceRun.group([server, kiosk], signals: signals)
    }

    static func run(_ group: ServiceGroup) async throws {
        do {
            try await ServiceRun.run(group)
        } catch let error as KafkaError {
            throw Failure(.configuration, error.message)
        }
    }

    /// As a browser on this machine takes it.
    static func url(_ address: HTTPAddress) -> String {
        let isAnywhere = address.host == "0.0.0.0" || address.host == "::"
        return "http://\(isAnywhere ? HTTPAddress(host: "127.0.0.1", port: address.port) : address)/"
    }
}
