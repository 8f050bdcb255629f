import ArgumentParser
import JuiceDomain
import JuiceMessages
import JuiceService
import JuiceWeb
import Kafka
import ServiceLifecycle

struct DemoCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo", abstract: "See it work: a broker, the service and points of sale that restock, in one process.",
        discussion: """
            It prints a line for each answer until Ctrl-C. With --orders it runs as fast as it can, ends after that many \
            answers and counts them in its last line, as `juice traffic` does.

            With --kiosk the web page of `juice kiosk` shows the answers instead, and the stock. Without --staff-token-file or \
            --staff-pin-file it makes a PIN for this run and prints it.

            Examples:
              juice demo
              juice demo --orders 2000 | tail -1
              juice demo --stores 강남,홍대 --language ko
              juice demo --kiosk
            """
    )

    @OptionGroup var traffic: TrafficOptions
    @Flag("Serve the web page.") var kiosk = false
    @OptionGroup var page: KioskOptions
    @OptionGroup var menu: MenuOptions
    @Option("The language of names and messages.", .word) var language = Language.english
    @OptionGroup var general: GeneralOptions

    func run() throws {
        let (stores, menu, secrets) = (try traffic.storeIDs(), try menu.load(), try page.staffSecrets())
        if kiosk { try page.http.check() }
        let logger = general.logger(default: .warning)
        let embedded = try EmbeddedKafka(topics: TopicNames(), partitions: 4, runFiles: .ofThisUser(), logger: logger)
        defer { embedded.stop() }
        let clients = KafkaClients(
            bootstrapServers: embedded.bootstrapServers, capabilities: .embedded, logger: logger)
        let health = ServiceHealth()
        let service = ServiceConfiguration(
            bootstrapServers: embedded.bootstrapServers, instanceID: "demo", menu: menu, language: language,
            capabilities: .embedded)
        var services: [any Service] = [OrderService(configuration: service, health: health, logger: logger)]
        if kiosk {
            // Without a secret of the user's, staff get a PIN for this run.
            let pin = (0..<6).map { _ in String(Int.random(in: 0...9)) }.joined()
            let own = secrets.isEmpty ? [StaffSecret(pin: pin)].compactMap(\.self) : secrets
            let plan = try KioskPlan(clients, page, menu: menu, stores: stores, staffSecrets: own)
            services += plan.services(logger: logger) { address in
                StandardOutput.line("the page: \(KioskPlan.url(address))" + (secrets.isEmpty ? "; the staff PIN is \(pin)" : ""))
            }
        }
        let group = BackgroundGroup(services)
        defer { group.stop() }
        let session = try TrafficSession(clients, stores: stores, orders: traffic.orders, menu: menu)
        StandardError.write(
            "an embedded Kafka broker at \(clients.bootstrapServers); Ctrl-C ends it\n"
                + "the service joins its consumer group, which takes some seconds\n")
        try session.run(
            mayBegin: {
                try group.check()
                // The session fails if it gets no answer for a while, and the group takes some seconds to form.
                return health.readiness.isEmpty
            },
            // The page shows the answers, and its address must not scroll away.
            show: kiosk ? { _ in } : AnswerCells.write)
        StandardOutput.line(session.summary)
    }
}
