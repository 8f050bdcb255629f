import JuiceClient
import JuiceMaker
import JuiceMessages
import JuiceService
import Kafka
import Logging

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
        let service = BackgroundService(
            ServiceConfiguration(
                bootstrapServers: embedded.bootstrapServers, instanceID: "demo", menu: menu, language: language,
                capabilities: .embedded), logger: logger)
        defer { service.stop() }

        let connection = Connection(
            bootstrapServers: embedded.bootstrapServers, origin: .embedded(processID: embedded.runFile.processID), topics: topics,
            logger: logger)
        let page = try kiosk.map { try RunningKiosk($0, connection, logger: logger) }
        defer { page?.stop() }
        if let page, display == .lines { StandardOutput.line(page.welcome) }
        let session = try TrafficSession(connection, traffic: Traffic(stores: plan.stores, menu: menu, seed: plan.seed), plan: plan)
        switch display {
        case .live: try showLive(session, connection, service, interruption, note: page?.welcome)
        case .lines: try run(session, service, interruption, AnswerLine.write)
        }
        StandardOutput.line(session.tally.summary)
    }

    private func showLive(
        _ session: TrafficSession, _ connection: Connection, _ service: BackgroundService, _ interruption: StopSignal, note: String?
    ) throws {
        let stock = try StockReader(connection, store: nil, deadline: Deadline(after: .seconds(10)))
        try stock.startFollowing()
        var view = DemoView(
            bootstrapServers: connection.bootstrapServers, menu: menu, language: language, paint: .forStandardOutput(), note: note)
        var nextFrame = ContinuousClock.now
        let terminal = LiveTerminal()
        try run(session, service, interruption) { answers in
            view.add(answers, time: ClockTime.now)
            _ = try stock.follow(timeout: .zero)
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
        _ session: TrafficSession, _ service: BackgroundService, _ interruption: StopSignal, _ show: ([Answer]) throws -> Void
    ) throws {
        try session.run(
            until: { interruption.isRequested },
            mayBegin: {
                try service.check()
                // Earlier orders would be answered too, but their latency would include the forming of the group.
                return service.isReady
            },
            show: show
        )
    }
}
