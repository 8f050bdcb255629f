import ArgumentParser
import JuiceDomain
import JuiceMessages
import JuiceService
import JuiceWeb
import Kafka
import Logging
import ServiceLifecycle
import Synchronization

/// `juice demo`: everything in one process.
struct DemoCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo", abstract: "See it work: a broker, the service, points of sale and a restock bot in one process.",
        discussion: """
            On a terminal it shows the stores' stock and the latest answers until Ctrl-C; otherwise it prints a line \
            for each answer. With --orders it runs as fast as it can and ends after that many answers.

            With --kiosk it also serves the web page of `juice kiosk`. Without --staff-token-file or --staff-pin-file it makes a \
            PIN for this run and prints it.

            The last line is `orders N, juice made X, out of stock Y, rejected Z, cancelled C`, where N = X + Y + Z.

            Examples:
              juice demo
              juice demo --orders 2000 | tail -1
              juice demo --stores 강남,홍대 --language ko
              juice demo --kiosk
            """
    )

    @OptionGroup var amount: TrafficOptions
    @Flag(.kiosk) var kiosk: Bool?
    @OptionGroup var page: KioskOptions
    @Option(.menu) var menu: String?
    @Option(.language) var language: String?
    @OptionGroup var general: GeneralOptions

    func run() throws {
        let settings = try Settings(self)
        let (plan, menu, language) = (try TrafficPlan(settings), try settings.menu(), try settings[.language])
        let secrets = try KioskPlan.staffSecrets(settings)
        let isLive = LiveTerminal.isPossible
        // Log lines would disturb the live view. An error that ends the demo is printed after it.
        let logger = try isLive ? .lines(level: .critical) { _ in } : settings.logger(default: .warning)

        let interruption = StopSignal.onInterruption()
        let embedded = try EmbeddedKafka(topics: TopicNames(), partitions: 4, runFiles: .ofThisUser(), logger: logger)
        defer { embedded.stop() }
        let clients = KafkaClients(
            bootstrapServers: embedded.bootstrapServers, origin: .embedded(processID: embedded.runFile.processID), logger: logger)
        let health = ServiceHealth()
        let service = ServiceConfiguration(
            bootstrapServers: embedded.bootstrapServers, instanceID: "demo", menu: menu, language: language,
            capabilities: .embedded)
        var services: [any Service] = [OrderService(configuration: service, health: health, logger: logger)]
        let page = PageLine()
        if try settings[.kiosk] {
            // Without a secret of the user's, staff get a PIN for this run.
            let pin = (0..<6).map { _ in String(Int.random(in: 0...9)) }.joined()
            let own = secrets.isEmpty ? [StaffSecret(pin: pin)].compactMap(\.self) : secrets
            services += try KioskPlan(clients, settings, stores: plan.stores, staffSecrets: own).services(logger: logger) {
                address in
                let line = "the page: \(KioskPlan.url(address))" + (secrets.isEmpty ? "; the staff PIN is \(pin)" : "")
                page.text.withLock { $0 = line }
                if !isLive { StandardOutput.line(line) }
            }
        }
        let group = BackgroundGroup(services)
        defer { group.stop() }
        let session = try TrafficSession(clients, plan, menu: menu)
        var view = try isLive ? DemoView(clients, plan, menu: menu, language: language) : nil
        try session.run(
            until: { interruption.isRequested },
            mayBegin: {
                try group.check()
                // Earlier orders would be answered too, but their latency would include the forming of the group.
                return health.readiness.isEmpty
            },
            show: { answers in
                if let view {
                    try view.show(answers, of: session, note: page.text.withLock(\.self))
                } else {
                    AnswerLine.write(answers)
                }
            })
        // Leaves the terminal's alternate screen.
        view = nil
        StandardOutput.line(session.tally.summary)
    }
}

extension Setting<Bool> {
    static var kiosk: Self { Self("kiosk", help: "Also serve the web page.") }
}

/// Where the page is, once it can be reached.
private final class PageLine: Sendable { let text = Mutex<String?>(nil) }

/// The live view, which fills the terminal: stock, counters and the latest answers.
private final class DemoView {
    private let bootstrapServers: String
    private let stores: [String]
    private let menu: Menu
    private let language: Language
    private let stock: StockReader
    private let paint = Paint.forStandardOutput()
    private let terminal = LiveTerminal()
    /// The latest answers as lines, oldest first.
    private var latest: [String] = []
    private var nextFrame = ContinuousClock.now

    private static let mostLatest = 200

    init(_ clients: KafkaClients, _ plan: TrafficPlan, menu: Menu, language: Language) throws(Failure) {
        (bootstrapServers, stores, self.menu, self.language) = (clients.bootstrapServers, plan.stores, menu, language)
        stock = try StockReader(clients, store: nil, timeout: .seconds(10))
        try stock.reader.startAtEnds()
    }

    /// Adds answers, and draws at most ten times a second.
    ///
    /// - Parameter note: a line below the title, if any.
    func show(_ answers: [Answer], of session: TrafficSession, note: String?) throws {
        let now = ClockTime.now
        latest += answers.suffix(Self.mostLatest).map { AnswerLine.text($0, time: now, paint: paint) }
        latest.removeFirst(max(0, latest.count - Self.mostLatest))
        try stock.reader.poll(timeout: .zero) { stock.apply($0) }
        guard ContinuousClock.now >= nextFrame else { return }
        nextFrame = .now + .milliseconds(100)

        let (columns, rows) = LiveTerminal.size
        // A store without a record has the menu's initial stock.
        let known = Dictionary(stock.latest.map { ($0.record.store, $0.record) }) { _, last in last }
        let records = stores.map { known[$0] ?? .initial(of: $0, menu) }
        let table = StockTable(menu: menu, language: language).fitted(to: columns, records)
        let tally = session.tally
        let counters = [
            paint(.green, "juice made \(tally.juicesMade)"), paint(.yellow, "out of stock \(tally.outOfStock)"),
            paint(.red, "rejected \(tally.rejected)"), paint(.cyan, "cancelled \(tally.cancelled)"),
            paint(.cyan, "restocked \(tally.restocked)"), "in flight \(session.inFlight)",
        ]
        let speed = tally.answerTimes.map { times in
            "\(tally.orders.counted("order")), \(Int(session.ordersPerSecond.rounded())) a second, half answered within"
                + " \(times.median.inMilliseconds), 99 of 100 within \(times.p99.inMilliseconds)"
        }
        var lines = [paint(.bold, "juice demo") + "  an embedded Kafka broker at \(bootstrapServers); Ctrl-C ends it"]
        lines += [note, ""].compactMap(\.self) + table.lines(records, paint: paint)
        lines += ["", counters.joined(separator: "   ")]
        lines += [speed ?? "the service joins its consumer group, which takes some seconds", ""]
        // The newest answer is at the bottom, as in any log.
        terminal.draw(lines + latest.suffix(max(0, rows - lines.count)))
    }
}

extension Duration {
    /// `3.2 ms`.
    fileprivate var inMilliseconds: String { "\(((self / Duration.milliseconds(1)) * 10).rounded() / 10) ms" }
}
