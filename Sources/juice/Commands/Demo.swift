import ArgumentParser
import JuiceDomain
import JuiceMessages
import JuiceService
import JuiceWeb
import Kafka
import Logging

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

    @Flag(inversion: .prefixedNo, help: "Also serve the web page.")
    var kiosk: Bool?

    @OptionGroup var page: KioskOptions
    @OptionGroup var menu: MenuOptions
    @OptionGroup var language: LanguageOptions
    @OptionGroup var general: GeneralOptions

    func run() throws {
        let settings = try Settings(self)
        let plan = try TrafficPlan(settings)
        let display: DemoRun.Display = LiveTerminal.isPossible ? .live : .lines

        let level = try settings.logLevel(default: .warning)
        let format = try settings[.logFormat]
        let run = DemoRun(
            display: display, plan: plan, menu: try settings.menu(), language: try settings[.language],
            kiosk: try settings[.kiosk]
                ? DemoKiosk(settings: settings, stores: plan.stores, secrets: KioskPlan.staffSecrets(settings)) : nil,
            // Log lines would disturb the live view. An error that ends the demo is printed after it.
            logger: display == .live ? .lines(level: .critical) { _ in } : .lines(level: level, format: format))
        try run.run()
    }
}

/// One run of the demo, on the thread that calls ``run()``.
struct DemoRun {
    /// How answers and stock are shown.
    enum Display {
        /// In a view that is drawn again and again, on a terminal.
        case live
        /// A line for each answer.
        case lines
    }

    let display: Display
    let plan: TrafficPlan
    let menu: Menu
    let language: Language
    /// The web page, if it is wanted.
    let kiosk: DemoKiosk?
    let logger: Logger

    func run() throws {
        let interruption = StopSignal.onInterruption()
        let topics = TopicNames()
        let embedded = try EmbeddedKafka(topics: topics, partitions: 4, runFiles: .ofThisUser(), logger: logger)
        defer { embedded.stop() }
        let service = BackgroundGroup.service(
            ServiceConfiguration(
                bootstrapServers: embedded.bootstrapServers, instanceID: "demo", menu: menu, language: language,
                capabilities: .embedded), logger: logger)
        defer { service.stop() }

        let clients = KafkaClients(
            bootstrapServers: embedded.bootstrapServers, origin: .embedded(processID: embedded.runFile.processID), topics: topics,
            logger: logger)
        let page = try kiosk.map { kiosk in try kiosk.start(clients, logger: logger) }
        defer { page?.group.stop() }
        if let page, display == .lines { StandardOutput.line(page.welcome) }
        let session = try TrafficSession(clients, plan, menu: menu)
        switch display {
        case .live: try showLive(session, clients, service, interruption, note: page?.welcome)
        case .lines: try run(session, service, interruption, AnswerLine.write)
        }
        StandardOutput.line(session.tally.summary)
    }

    private func showLive(
        _ session: TrafficSession, _ clients: KafkaClients, _ service: BackgroundGroup<Void>, _ interruption: StopSignal,
        note: String?
    ) throws {
        let stock = try StockReader(clients, store: nil, timeout: .seconds(10))
        try stock.reader.startAtEnds()
        var view = DemoView(
            bootstrapServers: clients.bootstrapServers, menu: menu, language: language, paint: .forStandardOutput(), note: note)
        var nextFrame = ContinuousClock.now
        let terminal = LiveTerminal()
        try run(session, service, interruption) { answers in
            view.add(answers, time: ClockTime.now)
            try stock.reader.poll(timeout: .zero) { stock.apply($0) }
            guard ContinuousClock.now >= nextFrame else { return }
            nextFrame = .now + .milliseconds(100)
            let (columns, rows) = LiveTerminal.size
            terminal.draw(
                view.lines(
                    stock: self.stock(stock.latest.map(\.record)), tally: session.tally, inFlight: session.inFlight,
                    ordersPerSecond: session.ordersPerSecond, columns: columns, rows: rows))
        }
    }

    /// The demo's stores in order. A store without a record has the menu's initial stock.
    private func stock(_ records: [StockRecord]) -> [StockRecord] {
        let known = Dictionary(records.map { ($0.store, $0) }) { _, last in last }
        return plan.stores.map { known[$0] ?? .initial(of: $0, menu) }
    }

    private func run(
        _ session: TrafficSession, _ service: BackgroundGroup<Void>, _ interruption: StopSignal, _ show: ([Answer]) throws -> Void
    ) throws {
        try session.run(
            until: { interruption.isRequested },
            mayBegin: {
                try service.check()
                // Earlier orders would be answered too, but their latency would include the forming of the group.
                return service.isUp
            },
            show: show
        )
    }
}

/// The web page of a demo.
struct DemoKiosk {
    let settings: Settings
    let stores: [String]
    /// Those in files; without one, each run makes a PIN of its own.
    let secrets: [StaffSecret]

    /// Starts the kiosk and waits until it accepts connections. It blocks, so do not call it on Swift's cooperative pool.
    ///
    /// - Returns: what runs, and a line with the URL of the page and, if it was made for this run, the staff PIN.
    /// - Throws: ``Failure`` if it cannot listen.
    func start(_ clients: KafkaClients, logger: Logger) throws -> (group: BackgroundGroup<HTTPAddress>, welcome: String) {
        let pin = (0..<6).map { _ in String(Int.random(in: 0...9)) }.joined()
        let own = secrets.isEmpty ? [StaffSecret(pin: pin)].compactMap(\.self) : secrets
        let plan = try KioskPlan(clients, settings, stores: stores, staffSecrets: own)
        let group = BackgroundGroup { onListening in plan.group(logger: logger, onListening: onListening) }
        let address = try group.waitUntilUp()
        return (group, "the page: \(KioskPlan.url(address))" + (secrets.isEmpty ? "; the staff PIN is \(pin)" : ""))
    }
}

/// The lines of the live view: stock, counters and the latest answers.
struct DemoView {
    let bootstrapServers: String
    let menu: Menu
    let language: Language
    let paint: Paint
    /// A line below the title, if any.
    let note: String?
    /// The latest answers as lines, oldest first.
    private(set) var latest: [String] = []

    private static let mostLatest = 200

    mutating func add(_ answers: [Answer], time: String) {
        latest += answers.suffix(Self.mostLatest).map { AnswerLine.text($0, time: time, paint: paint) }
        latest.removeFirst(max(0, latest.count - Self.mostLatest))
    }

    /// The lines that fill a screen of this size.
    func lines(stock: [StockRecord], tally: Tally, inFlight: Int, ordersPerSecond: Double, columns: Int, rows: Int) -> [String] {
        let table = StockTable(menu: menu, language: language).fitted(to: columns, stock)
        var lines = [paint(.bold, "juice demo") + "  an embedded Kafka broker at \(bootstrapServers); Ctrl-C ends it"]
        lines += [note, ""].compactMap(\.self)
        lines += table.lines(stock, paint: paint)
        lines += ["", counters(tally, inFlight), speed(tally, ordersPerSecond), ""]
        // The newest answer is at the bottom, as in any log.
        return lines + latest.suffix(max(0, rows - lines.count))
    }

    private func counters(_ tally: Tally, _ inFlight: Int) -> String {
        [
            paint(.green, "juice made \(tally.juicesMade)"), paint(.yellow, "out of stock \(tally.outOfStock)"),
            paint(.red, "rejected \(tally.rejected)"), paint(.cyan, "cancelled \(tally.cancelled)"),
            paint(.cyan, "restocked \(tally.restocked)"), "in flight \(inFlight)",
        ].joined(separator: "   ")
    }

    private func speed(_ tally: Tally, _ ordersPerSecond: Double) -> String {
        guard let times = tally.answerTimes else { return "the service joins its consumer group, which takes some seconds" }
        let rate = ordersPerSecond < 10 ? "\((ordersPerSecond * 10).rounded() / 10)" : "\(Int(ordersPerSecond.rounded()))"
        return "\(tally.orders.counted("order")), \(rate) a second, half answered within \(times.median.inMilliseconds),"
            + " 99 of 100 within \(times.p99.inMilliseconds)"
    }
}

extension Duration {
    /// `3.2 ms`.
    var inMilliseconds: String { "\(((self / Duration.milliseconds(1)) * 10).rounded() / 10) ms" }
}
