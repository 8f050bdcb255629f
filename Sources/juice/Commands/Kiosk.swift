import ArgumentParser
import CoreMetrics
import Foundation
import JuiceMessages
import JuiceWeb
import Kafka
import Logging
import ServiceLifecycle

/// The options of the page.
struct KioskOptions: ParsableArguments {
    @Option(
        .http, help: "The address of the page. (default: \(KioskPlan.standardAddress), reachable from this machine only)")
    var http: String?
    @Option(.staffTokenFile) var staffTokenFile: String?
    @Option(.staffPINFile) var staffPinFile: String?
    @Option(.hostNames) var hostNames: String?
    @Option(.orderRate) var orderRate: String?
}

extension Setting<String?> {
    static var staffTokenFile: Self {
        Self(
            "staff-token-file", value: "file",
            help: "A file with the token that staff need to edit stock. (default: editing is off)")
    }
    static var staffPINFile: Self {
        Self("staff-pin-file", value: "file", help: "The same with a PIN, 6 to 15 digits, for people. (default: none)")
    }
}

extension Setting<[String]?> {
    static var hostNames: Self {
        Self(
            "host-names", "names, separated by commas", value: "names",
            help: "Host names of the page, besides localhost and IP addresses, separated by commas."
        ) { $0.split(separator: ",").map(String.init) }
    }
}

extension Setting<Int> {
    static var orderRate: Self {
        Self(
            "order-rate", in: 1...1_000_000, default: 100,
            help: "Orders and cancels per second; bursts of up to ten seconds' worth.")
    }
}

extension Setting<Bool> {
    static var anyStore: Self {
        Self("any-store", help: "Accept orders for any store, so that anyone who can reach the page can create stores.")
    }
}

/// `juice kiosk`: the web page.
struct KioskCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "kiosk", abstract: "Serve a web page: order juice, edit stock, watch the stores.",
        discussion: """
            The page is an ordinary client: it sends orders and restocks, and shows answers and stock live. However many \
            pages are open, the kiosk uses one consumer. It keeps the stock of all stores in memory, or of those in \
            --stores.

            Anyone who can reach the page can order, for the store main and every store that has stock, or for those in \
            --stores; orders for other stores are refused, because they would create those stores. Editing stock, which \
            can also create a store, requires the token in --staff-token-file or the PIN in --staff-pin-file. The page is \
            served over HTTP without TLS: for other machines put a TLS proxy in front, which also limits what one client \
            may do, and configure --host-names.

            With --admin-http it serves health and metrics at a separate address, which visitors need not reach. It is ready \
            while a broker answers and all stock has been read.

            It runs until Ctrl-C or SIGTERM. While no broker answers it keeps waiting, and the page shows that.

            Examples:
              juice kiosk
              juice kiosk --bootstrap-servers kafka:9092 --stores 강남,홍대 --language ko
              openssl rand -hex 16 > staff-token && juice kiosk --staff-token-file staff-token
              juice kiosk --host-names kiosk.example.com
              juice kiosk --http 0.0.0.0:8081 --host-names kiosk.example.com --admin-http 127.0.0.1:8082
            """
    )

    @OptionGroup var options: KioskOptions
    @Option(
        .stores, value: "names|@file",
        help: "Only these stores, separated by commas, or one a line in a file. (default: main and all that have stock)")
    var stores: String?
    @Flag(.anyStore) var anyStore: Bool?
    @Option(.duplicateWindow, help: "The service's duplicate window: how long after an order the page offers to cancel it.")
    var duplicateWindow: String?
    @Option(.adminHTTP) var adminHttp: String?
    @Option(.menu) var menu: String?
    @Option(
        help: ArgumentHelp(
            "The page's language until a visitor picks another: en or ko. (default: the browser's)", valueName: "en|ko"),
        completion: .list(Language.allCases.map(\.rawValue)))
    var language: String?
    @OptionGroup var kafka: KafkaOptions

    @MainActor
    func run() async throws {
        let settings = try Settings(self)
        OutputQueue.startAll(try settings[.logFormat])
        let clients = try KafkaClients(settings)
        let plan = try KioskPlan(clients, settings, stores: settings.stores(), staffSecrets: KioskPlan.staffSecrets(settings))
        let logger = try settings.logger(default: .notice)
        try logger.started("kiosk", brokers: clients.bootstrapServers, settings, [:])
        let services = plan.services(logger: logger) { address in
            StandardOutput.serviceLine("The kiosk is at \(KioskPlan.url(address))")
        }
        try await ServiceGroup.of(services, signals: [.sigterm, .sigint]).runForUser()
    }
}

/// What a kiosk runs, checked before anything starts.
struct KioskPlan {
    /// The default address of the page, reachable from this machine only.
    static let standardAddress = HTTPAddress(host: "127.0.0.1", port: 8081)

    let configuration: KioskConfiguration
    let address: HTTPAddress
    /// The address for health and metrics; nil does not serve them.
    let adminAddress: HTTPAddress?
    let limits = ConnectionLimits.pages

    /// - Parameters:
    ///   - stores: the ids of the stores to show; nil shows `main` and every store that has stock.
    ///   - staffSecrets: each lets staff edit stock; without one staff cannot.
    init(_ clients: KafkaClients, _ settings: Settings, stores: [String]?, staffSecrets: [StaffSecret]) throws(Failure) {
        // Creating a consumer reports invalid librdkafka properties before anything starts.
        _ = try clients.consumer()
        var configuration = KioskConfiguration(
            kafka: clients.base.merging(["client.id": "juice-kiosk"]).merging(clients.properties).merging([
                "bootstrap.servers": clients.bootstrapServers
            ]), topics: clients.topics, capabilities: clients.capabilities,
            menu: try settings.menu(), stores: stores, takesAnyStore: try settings[.anyStore],
            language: settings.all(.language).isEmpty ? nil : try settings[.language],
            staffSecrets: staffSecrets, hostNames: try settings[.hostNames] ?? [], orderRate: try settings[.orderRate])
        configuration.duplicateWindow = try settings[.duplicateWindow]
        // Leave connections for the requests of open pages, and for loading the page's files.
        configuration.mostPages = min(configuration.mostPages, limits.connections * 3 / 4)
        self.configuration = configuration
        adminAddress = try settings[.adminHTTP]
        address = try settings[.http] ?? Self.standardAddress
    }

    /// The kiosk and its servers.
    ///
    /// - Parameter onListening: called with the bound address once the page can be reached.
    func services(logger: Logger, onListening: @escaping @Sendable (HTTPAddress) async -> Void) -> [any Service] {
        let metrics = adminAddress.map { _ in Metrics(KioskMetric.allCases.map { .init($0.rawValue, help: $0.help) }) }
        let factory: any MetricsFactory = metrics?.registry ?? NOOPMetricsHandler.instance
        let kiosk = Kiosk(configuration, metrics: factory, logger: logger)
        let server = HTTPServer(
            kiosk.responder, at: address, limits: limits, metrics: factory, logger: logger,
            onListening: onListening)
        // Services stop in reverse order: the kiosk ends its streams first, so the server has nothing left to wait for.
        guard let adminAddress, let metrics else { return [server, kiosk] }
        let admin = metrics.server(
            at: adminAddress, readyMetric: KioskMetric.ready.rawValue, liveness: { kiosk.liveness },
            readiness: { kiosk.readiness }, countsItself: false, logger: logger)
        return [admin, server, kiosk]
    }

    /// The URL for a browser on this machine.
    static func url(_ address: HTTPAddress) -> String {
        let isAnywhere = address.host == "0.0.0.0" || address.host == "::"
        return "http://\(isAnywhere ? HTTPAddress(host: "127.0.0.1", port: address.port) : address)/"
    }

    /// The secrets in the configured files.
    static func staffSecrets(_ settings: Settings) throws(Failure) -> [StaffSecret] {
        let (token, pin) = (StaffSecret.tokenLengths, StaffSecret.pinLengths)
        let kinds: [(path: String?, name: String, form: String, make: String, parse: (String) -> StaffSecret?)] = [
            (
                try settings[.staffTokenFile], "token",
                "\(token.lowerBound) to \(token.upperBound) characters of ASCII, without spaces", "openssl rand -hex 16",
                StaffSecret.init(token:)
            ),
            (
                try settings[.staffPINFile], "PIN", "\(pin.lowerBound) to \(pin.upperBound) digits",
                "shuf -r -n 6 -i 0-9 | tr -d '\\n'", StaffSecret.init(pin:)
            ),
        ]
        var secrets: [StaffSecret] = []
        for kind in kinds {
            guard let path = kind.path else { continue }
            guard let data = FileManager.default.contents(atPath: path) else {
                throw Failure(.configuration, "the staff \(kind.name)'s file \(path.printable) cannot be read")
            }
            // Some editors begin a file with a byte order mark.
            let text = String(decoding: data, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines.union(["\u{FEFF}"]))
            guard let secret = kind.parse(text) else {
                throw Failure(
                    .configuration, "the staff \(kind.name) in \(path.printable) must have \(kind.form)",
                    hint: "make one with: \(kind.make) > \(path.printable)")
            }
            secrets.append(secret)
        }
        return secrets
    }
}
