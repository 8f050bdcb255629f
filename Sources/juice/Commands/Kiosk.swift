import ArgumentParser
import CoreMetrics
import Foundation
import JuiceDomain
import JuiceMessages
import JuiceWeb
import Kafka
import Logging
import ServiceLifecycle

struct KioskOptions: ParsableArguments {
    @Option("The address of the page; by default it is reachable from this machine only.", .address)
    var http = HTTPAddress(host: "127.0.0.1", port: 8081)
    @Option("A file with the token that staff need to edit stock. Unless it or a PIN is given, editing is off.", .file)
    var staffTokenFile: String?
    @Option("The same with a PIN, 6 to 15 digits, for people.", .file) var staffPinFile: String?
    @Option("Host names of the page, besides localhost and IP addresses, separated by commas.", .hostNames) var hostNames: [String]?
    @Option("Commands per second that need no secret; bursts of up to ten seconds' worth.", .number(in: 1...1_000_000))
    var orderRate = 100

    func staffSecrets() throws(Failure) -> [StaffSecret] {
        let (token, pin) = (StaffSecret.tokenLengths, StaffSecret.pinLengths)
        let characters = "\(token.lowerBound) to \(token.upperBound) characters of ASCII, without spaces"
        let digits = "\(pin.lowerBound) to \(pin.upperBound) digits"
        let kinds = [
            (staffTokenFile, "token", characters, "openssl rand -hex 16", StaffSecret.init(token:)),
            (staffPinFile, "PIN", digits, "shuf -r -n 6 -i 0-9 | tr -d '\\n'", StaffSecret.init(pin:)),
        ]
        var secrets: [StaffSecret] = []
        for case (let path?, let name, let form, let command, let parse) in kinds {
            let data = try Failure.bytes(of: path, "the staff \(name)'s file")
            // Some editors begin a file with a byte order mark.
            let text = String(decoding: data, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines.union(["\u{FEFF}"]))
            guard let secret = parse(text) else {
                let hint = "make one with: \(command) > \(path)"
                throw Failure(.configuration, "the staff \(name) in \(path) must have \(form)", hint: hint)
            }
            secrets.append(secret)
        }
        return secrets
    }
}

extension OptionValue<[String]> {
    fileprivate static var hostNames: Self {
        Self("names", "names such as kiosk.example.com, without scheme and port, separated by commas") { text in
            text.contains(/[:\/\s]/) ? nil : text.split(separator: ",").map(String.init)
        }
    }
}

struct KioskCommand: AsyncParsableCommand, PatientCommand {
    static let configuration = CommandConfiguration(
        commandName: "kiosk", abstract: "Serve a web page: order juice, edit stock, watch the stores.",
        discussion: """
            The page is an ordinary client: it sends commands, and shows answers and stock live. However many \
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
        "Only these stores, separated by commas, or one a line in a file. Unless given: main and all that have stock.", .stores)
    var stores: StoreList?
    @Flag("Accept orders for any store, so that anyone who can reach the page can create stores.") var anyStore = false
    @Option("The service's duplicate window: how long the page lists an order.", .duplicateWindow)
    var duplicateWindow = Duration.milliseconds(DuplicateWindow.standard.age)
    @Option("Serve /health/live, /health/ready and /metrics at this address. Unless given, it does not.", .address)
    var adminHttp: HTTPAddress?
    @OptionGroup var menu: MenuOptions
    @Option("The page's language until a visitor picks another. Unless given, it is the browser's.", .word)
    var language: Language?
    @OptionGroup var kafka: KafkaOptions
    @OptionGroup var general: GeneralOptions

    @MainActor
    func run() async throws {
        OutputQueue.startAll(general.logFormat)
        let (stop, logger) = (EndingSignals.stopSignal(), general.logger(default: .notice))
        let (clients, plan) = try Patience.having(Patience(logger, until: stop)) { () throws(Failure) in
            let clients = try KafkaClients(kafka, logger: logger)
            let plan = try self.plan(clients)
            for address in [plan.address, plan.adminAddress].compactMap(\.self) { try address.check() }
            return (clients, plan)
        }
        logger.started("kiosk", brokers: clients.bootstrapServers, kafka, [:])
        let services = plan.services(logger: logger) { address in
            StandardOutput.serviceLine("The kiosk is at \(KioskPlan.url(address))")
        }
        try await ServiceGroup.of(services, until: stop).runForUser()
    }

    func plan(_ clients: KafkaClients) throws(Failure) -> KioskPlan {
        let (menu, stores, secrets) = (try menu.load(), try stores?.ids(), try options.staffSecrets())
        var plan = try KioskPlan(clients, options, menu: menu, stores: stores, staffSecrets: secrets)
        (plan.configuration.takesAnyStore, plan.configuration.language) = (anyStore, language)
        (plan.configuration.duplicateWindow, plan.adminAddress) = (duplicateWindow, adminHttp)
        plan.configuration.credentials = Credentials(clients.properties, source: kafka.rereading)
        return plan
    }
}

/// The configuration of a kiosk and its servers, checked before anything starts.
struct KioskPlan {
    var configuration: KioskConfiguration
    let address: HTTPAddress
    /// The address for health and metrics; nil does not serve them.
    var adminAddress: HTTPAddress?
    let limits = ConnectionLimits.pages

    init(
        _ clients: KafkaClients, _ page: KioskOptions, menu: Menu, stores: [String]?, staffSecrets: [StaffSecret]
    ) throws(Failure) {
        // Creating a consumer reports invalid librdkafka properties before anything starts.
        _ = try clients.consumer()
        let name = "juice-kiosk"
        configuration = KioskConfiguration(
            feed: clients.reading(as: name), orders: clients.sending(as: name, timeout: .seconds(8)), topics: clients.topics,
            menu: menu)
        (configuration.stores, configuration.staffSecrets) = (stores, staffSecrets)
        (configuration.hostNames, configuration.orderRate) = (page.hostNames ?? [], page.orderRate)
        // Leave connections for the requests of open pages, and for loading the page's files.
        configuration.mostPages = min(configuration.mostPages, limits.connections * 3 / 4)
        address = page.http
    }

    /// The kiosk and its servers.
    ///
    /// - Parameter onListening: called with the bound address once the page can be reached.
    func services(logger: Logger, onListening: @escaping @Sendable (HTTPAddress) async -> Void) -> [any Service] {
        let metrics = adminAddress.map { _ in Metrics(KioskMetric.allCases.map { ($0.rawValue, $0.help) }) }
        let factory: any MetricsFactory = metrics?.registry ?? NOOPMetricsHandler.instance
        let kiosk = Kiosk(configuration, metrics: factory, logger: logger)
        let server = HTTPServer(
            kiosk.responder, at: address, limits: limits, metrics: factory, logger: logger,
            onListening: onListening)
        // Services stop in reverse order: the kiosk ends its streams first, so the server has nothing left to wait for.
        guard let adminAddress, let metrics else { return [server, kiosk] }
        let admin = metrics.server(
            at: adminAddress, readyMetric: KioskMetric.ready.rawValue, liveness: { kiosk.liveness },
            readiness: { kiosk.readiness }, warnings: { kiosk.warnings }, countsItself: false, logger: logger)
        return [admin, server, kiosk]
    }

    /// The URL for a browser on this machine.
    static func url(_ address: HTTPAddress) -> String {
        let isAnywhere = address.host == "0.0.0.0" || address.host == "::"
        return "http://\(isAnywhere ? HTTPAddress(host: "127.0.0.1", port: address.port) : address)/"
    }
}
