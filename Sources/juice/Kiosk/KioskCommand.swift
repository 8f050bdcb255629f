import ArgumentParser
import JuiceHTTP
import JuiceKiosk
import Kafka
import ServiceLifecycle

/// The options of the page.
struct KioskOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Where the page is. (default: 127.0.0.1:8081, which only this machine reaches)",
            valueName: "host:port"
        )
    )
    var http: String?

    @Option(
        help: ArgumentHelp(
            "A file with the token that lets staff edit stock. (default: nobody can)",
            valueName: "file"
        ),
        completion: .file()
    )
    var staffTokenFile: String?

    @Option(
        help: ArgumentHelp(
            "Names under which browsers reach the page, besides localhost and addresses, separated by commas.",
            valueName: "names"
        )
    )
    var hostNames: String?

    @Option(
        help: ArgumentHelp(
            "Orders a second that are taken from one address, of IPv6 from one /64; ten seconds' worth at once. (default: 5)",
            valueName: "count"
        )
    )
    var addressRate: Int?

    @Option(
        help: ArgumentHelp("The same from all addresses together. (default: 100)", valueName: "count")
    )
    var orderRate: Int?

    @Option(
        help: ArgumentHelp(
            """
            Proxies whose X-Forwarded-For says who asks: addresses and networks such as 10.0.0.0/8, separated by commas. \
            (default: none; all who come through one share its address)
            """,
            valueName: "addresses"
        )
    )
    var trustedProxies: String?
}

/// `juice kiosk`: the web page.
struct KioskCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "kiosk",
        abstract: "Show the stores on a web page: order juice, edit stock, watch what goes on.",
        discussion: """
            The page is one client more: it sends orders and restocks, and shows answers and stock as they come. However \
            many pages are open, the brokers have one consumer from it. It keeps the stock of all stores in memory, or of \
            those that --stores names.

            Whoever reaches the page can order, for the store main and every store that has stock, or for those that \
            --stores names; an order for any other is refused, since it would make that store. Only who knows the token in \
            --staff-token-file can edit stock, also that of a new store, which makes it. The page is HTTP without TLS: on \
            other machines put a proxy with TLS in front, and name it with --host-names and --trusted-proxies.

            With --admin-http it shows its health and its metrics, at an address that visitors of the page need not reach. It is \
            ready while a broker answers and all stock is read.

            It runs until Ctrl-C or SIGTERM. A broker that does not answer is waited for, and the page says so.

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
        help: ArgumentHelp(
            "Only these stores, separated by commas. (default: main and all that have stock)",
            valueName: "names"
        )
    )
    var stores: String?

    @Flag(
        inversion: .prefixedNo,
        help: "Take orders for any store, too, and so let whoever reaches the page make stores."
    )
    var anyStore: Bool?

    @Option(
        help: ArgumentHelp(
            "The service's consumer group, whose lag the page shows. (default: juice-maker)",
            valueName: "name"
        )
    )
    var group: String?

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
            }
        )
    }
}
