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

            Whoever reaches the page can order. Only who knows the token in --staff-token-file can edit stock. The page is \
            HTTP without TLS: on other machines put a proxy with TLS in front, and name it with --host-names.

            It runs until Ctrl-C or SIGTERM. A broker that does not answer is waited for, and the page says so.

            Examples:
              juice kiosk
              juice kiosk --bootstrap-servers kafka:9092 --stores 강남,홍대 --language ko
              openssl rand -hex 16 > staff-token && juice kiosk --staff-token-file staff-token
              juice kiosk --http 0.0.0.0:8081 --host-names kiosk.example.com
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
