import ArgumentParser
import JuiceHTTP
import JuiceKiosk
import Kafka
import ServiceLifecycle

/// The options of the page.
struct KioskOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The address of the page. (default: 127.0.0.1:8081, reachable from this machine only)", valueName: "host:port"))
    var http: String?

    @Option(
        help: ArgumentHelp("A file with the token that staff need to edit stock. (default: editing is off)", valueName: "file"),
        completion: .file()) var staffTokenFile: String?

    @Option(
        help: ArgumentHelp("Host names of the page, besides localhost and IP addresses, separated by commas.", valueName: "names"))
    var hostNames: String?

    @Option(
        help: ArgumentHelp(
            "Orders and cancels per second from one address (IPv6: from one /64); bursts of up to ten seconds' worth. (default: 5)",
            valueName: "count")) var addressRate: Int?

    @Option(help: ArgumentHelp("The same for all addresses together. (default: 100)", valueName: "count")) var orderRate: Int?

    @Option(
        help: ArgumentHelp(
            """
            Proxies whose X-Forwarded-For is trusted: addresses and networks such as 10.0.0.0/8, separated by commas. \
            (default: none; all clients behind a proxy share its address)
            """,
            valueName: "addresses"
        )
    )
    var trustedProxies: String?
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
            can also create a store, requires the token in --staff-token-file. The page is served over HTTP without TLS: \
            for other machines put a TLS proxy in front, and configure --host-names and --trusted-proxies.

            With --admin-http it serves health and metrics at a separate address, which visitors need not reach. It is ready \
            while a broker answers and all stock has been read.

            It runs until Ctrl-C or SIGTERM. While no broker answers it keeps waiting, and the page shows that.

            Examples:
              juice kiosk
              juice kiosk --bootstrap-servers kafka:9092 --stores 강남,홍대 --language ko
              openssl rand -hex 16 > staff-token && juice kiosk --staff-token-file staff-token
              juice kiosk --host-names kiosk.example.com --trusted-proxies 127.0.0.1
              juice kiosk --http 0.0.0.0:8081 --host-names kiosk.example.com --admin-http 127.0.0.1:8082
            """
    )

    @OptionGroup var options: KioskOptions

    @Option(
        help: ArgumentHelp("Only these stores, separated by commas. (default: main and all that have stock)", valueName: "names"))
    var stores: String?

    @Flag(inversion: .prefixedNo, help: "Accept orders for any store, so that anyone who can reach the page can create stores.")
    var anyStore: Bool?

    @Option(help: ArgumentHelp("The service's consumer group, whose lag the page shows. (default: juice-maker)", valueName: "name"))
    var group: String?

    @Option(
        help: ArgumentHelp(
            "The service's duplicate window: how long after an order the page offers to cancel it. (default: 3600)",
            valueName: "seconds")) var duplicateWindow: Int?

    @OptionGroup var admin: AdminOptions
    @OptionGroup var menu: MenuOptions
    @OptionGroup var language: LanguageOptions
    @OptionGroup var kafka: KafkaOptions

    @MainActor
    func run() async throws {
        let settings = try Settings(self)
        let plan = try KioskPlan(settings)
        let logger = try settings.logger(default: .notice)
        try await KioskRun.run(
            KioskRun.group(plan, logger: logger, signals: [.sigterm, .sigint]) { address in
                StandardOutput.line("The kiosk is at \(KioskRun.url(address))")
            })
    }
}
