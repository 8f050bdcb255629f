import ArgumentParser
import Foundation
import JuiceDomain
import JuiceHTTP
import JuiceMessages
import JuiceRestockBot
import Kafka
import Logging

/// `juice restock-bot`: refills fruits that run out.
struct RestockBotCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restock-bot", abstract: "Refill fruits that run out: watch the stores and restock them, once per shortage.",
        discussion: """
            A fruit is short when LOW or fewer are left, or when an order lacked it and fewer than TARGET are left. The bot \
            refills it up to TARGET, never beyond: with one restock for all short fruits of a store, and no other for that \
            store until the service has answered. After a rejection the store gets none until its stock changes, and then for \
            the fruits that answers show to be short again. A store without an answer in juice.results is ignored until its \
            next order.

            Each shortage is refilled once, however many bots run and whichever of them dies. Bots of one --bot-group share \
            the stores; another bot takes over within 10 seconds. It may send a refill again, but with the same id, which is \
            derived from the answer that showed the shortage: so the service applies it once, within its duplicate window. \
            Groups are independent of each other: give each its own --stores or --fruits.

            With --admin-http it serves health and metrics. It is ready while a broker answers and it reads its partitions.

            It prints a line for each refill, and runs until Ctrl-C or SIGTERM; with --once until nothing is short and \
            every refill is answered, or until --timeout. Exit status: 0 ended or, with --once, done; 64 usage, 69 no broker \
            or no answer, 70 failed, 78 bad configuration or topics.

            Examples:
              juice restock-bot
              juice restock-bot --bootstrap-servers kafka:9092 --low 10 --target 100
              juice restock-bot --stores 강남,홍대 --fruits strawberry,mango --json
              juice restock-bot --once --timeout 1m
            """
    )

    @Option(.low, value: "count", help: "Refill a fruit when this many or fewer are left.")
    var low: Int?

    @Option(.target, value: "count", help: "The level to refill up to; more than --low.")
    var target: Int?

    @Option(
        .stores, value: "names|@file", help: "Only these stores, separated by commas, or one a line in a file. (default: all)")
    var stores: String?

    @Option(.fruits, value: "names", help: "Only these fruits of the menu, by id or name. (default: all)", completion: .fruits)
    var fruits: String?

    @Flag(inversion: .prefixedNo, help: "Exit once nothing is short and every refill is answered.")
    var once: Bool?

    @Option(.timeout, help: "The time limit of --once.")
    var timeout: String?

    @Option(.botGroup, value: "name", help: "The group of bots that share the stores.")
    var botGroup: String?

    @Flag(inversion: .prefixedNo, help: "Print each refill as a line of JSON, as --log-format json does.")
    var json: Bool?

    @OptionGroup var admin: AdminOptions
    @OptionGroup var menu: MenuOptions
    @OptionGroup var kafka: KafkaOptions

    func run() throws {
        let settings = try Settings(self)
        let plan = try RestockBotPlan(settings)
        // With --once the refills are a result.
        if plan.onceWithin == nil { OutputQueue.startAll(try settings[.logFormat]) }
        let paint = Paint.forStandardOutput()
        let interruption = StopSignal.onInterruption()
        let (clients, logger) = (try KafkaClients(settings), try settings.logger(default: .notice))
        try logger.started("restock-bot", brokers: clients.bootstrapServers, settings, ["group": "\(plan.group)"])
        try RestockBotRun(
            clients: clients, plan: plan, logger: logger,
            isEnded: { interruption.isRequested },
            show: { refill in
                let text = RefillLine.text(refill, time: ClockTime.now, paint: paint)
                StandardOutput.serviceLine(plan.printsJSON ? RefillLine.json(refill) : text)
            }
        ).run()
    }
}

extension Setting<Int> {
    static var low: Self { Self("low", in: 0...FruitStore.maximumLevel, default: 5) }
    static var target: Self { Self("target", in: 0...FruitStore.maximumLevel, default: 30) }
}

extension Setting<[String]?> {
    static var fruits: Self {
        Self("fruits", "fruits, separated by commas") { text in
            let names = text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
            return names.contains("") ? nil : names
        }
    }
}

extension Setting<String> {
    static var botGroup: Self {
        let longest = Refill.maximumGroupLength
        return Self("bot-group", default: "juice-restock-bot", "1 to \(longest) bytes long") { text in
            (1...longest).contains(text.utf8.count) ? text : nil
        }
    }
}

extension Setting<Bool> {
    static var once: Self { Self("once") }
}

/// What a restock bot does.
struct RestockBotPlan: Sendable {
    let rules: RefillRules
    /// The consumer group of the bots that share the stores.
    var group = Setting<String>.botGroup.standard
    /// Whether refills are printed as JSON. JSON logs imply it, because both are collected together.
    var printsJSON = false
    /// The time limit for exiting once nothing is short and every refill is answered; nil runs forever.
    var onceWithin: Duration?
    /// The address for health and metrics; nil does not serve them.
    var adminAddress: HTTPAddress?
}

extension RestockBotPlan {
    init(_ settings: Settings) throws(Failure) {
        let (low, target, stores) = (try settings[.low], try settings[.target], try settings.stores())
        var fruits = try settings[.fruits]
        if let given = fruits {
            let menu = MenuNames(menu: try settings.menu())
            fruits = try given.map { name throws(Failure) in try menu.fruit(name) }
        }
        guard let rules = RefillRules(low: low, target: target, stores: stores, fruits: fruits) else {
            let hint = "a fruit with LOW or fewer left is refilled up to TARGET"
            throw Failure(.usage, "--low \(low) must be below --target \(target)", hint: hint)
        }
        self.init(rules: rules)
        group = try settings[.botGroup]
        guard try group != settings[.group] else {
            throw Failure(.configuration, "--bot-group \(group.printable) is the service's; bots need another")
        }
        let logsJSON = try settings[.logFormat] == .json
        printsJSON = try settings[.json] || logsJSON
        onceWithin = try settings[.once] ? settings[.timeout] : nil
        adminAddress = try settings[.adminHTTP]
    }
}

/// One run of a restock bot, on the thread that calls ``run()``.
struct RestockBotRun {
    let clients: KafkaClients
    let plan: RestockBotPlan
    let logger: Logger
    /// Whether the bot was asked to end.
    let isEnded: () -> Bool
    /// Receives each refill once it is written.
    let show: (Refill) -> Void

    func run() throws {
        let clients = clients.watching(logger)
        guard let address = plan.adminAddress else { return try run(clients, BotMonitor(watch: clients.watch)) }
        let metrics = Metrics(BotMonitor.help.map { .init($0.key, help: $0.value) })
        let monitor = BotMonitor(factory: metrics.registry, watch: clients.watch)
        let admin = BackgroundGroup<HTTPAddress> { onListening in
            .of([
                metrics.server(
                    at: address, readyMetric: "juice_bot_ready", liveness: { monitor.liveness() },
                    readiness: { monitor.readiness }, countsItself: true, logger: logger, onListening: onListening)
            ])
        }
        defer { admin.stop() }
        _ = try admin.waitUntilUp()
        try run(clients, monitor)
    }

    private func run(_ clients: KafkaClients, _ monitor: BotMonitor) throws(Failure) {
        let (watch, deadline) = (clients.watch, plan.onceWithin.map(Deadline.init(after:)))
        let consumer = try clients.consumer()
        do throws(KafkaError) {
            defer { consumer.close() }
            // Waits for the cluster. A topic that does not exist ends the bot.
            let isWaiting = { !isEnded() && !(deadline?.isOver ?? false) }
            _ = try watch.metadata(of: [clients.topics.restocks, clients.topics.results], from: consumer, while: isWaiting)
        } catch { if !isEnded() { throw clients.failure(error) } }
        let stop = StopSignal()
        defer { stop.request() }
        Thread.detachNewThread {
            guard let consumer = try? clients.consumer() else { return }
            defer { consumer.close() }
            watch.keepProbing(consumer, until: stop)
        }
        let botLogger = BotLogger(logger: logger)
        let bot = JuiceRestockBot.RestockBot(
            base: clients.base, group: plan.group, topics: clients.topics, rules: plan.rules, capabilities: clients.capabilities,
            hooks: ClientHooks(logger: logger, logCeiling: .info, onError: watch.noticed)
        ) { [show] event in
            botLogger.log(event)
            monitor.handle(event)
            if case .sent(let refill) = event { show(refill) }
        }
        // Where no broker answers, a commit would wait for one.
        defer {
            logger.notice("stopping: leaving the group")
            bot.leave(isCommitting: !watch.needsProbe)
        }
        while !isEnded() {
            if let deadline {
                if bot.work?.isSettled ?? false { return }
                if deadline.isOver {
                    let underway = bot.work?.underway ?? 0
                    guard underway > 0 else { throw Failure(.unavailable, "not done in time; a longer --timeout may help") }
                    let hint = "they are written, and are answered once the service runs; sent again they count once"
                    throw Failure(.unavailable, "\(underway.counted("refill")) not answered yet", hint: hint)
                }
            }
            do throws(KafkaError) {
                let pause = try bot.step()
                let work = bot.work
                monitor.stepped(work: work)
                botLogger.update(isReading: work != nil, failure: watch.lastFailure, now: .now)
                if pause == .zero { botLogger.update(underway: work?.underway ?? 0, now: .now) }
                Thread.sleep(forTimeInterval: pause / .seconds(1))
            } catch { throw clients.failure(error) }
        }
    }
}

/// Logs the bot's events, each change once.
final class BotLogger {
    private let logger: Logger
    private var waitingSince: ContinuousClock.Instant?
    private var hasWarned = false
    private var idleSince: ContinuousClock.Instant?
    private var hasToldWhyIdle = false
    private var failures = 0

    init(logger: Logger) { self.logger = logger }

    func log(_ event: BotEvent) {
        switch event {
        case .watching(let partitions):
            let partitions = partitions.map(String.init).joined(separator: ",")
            // After a failure a restart is not news.
            let level = failures > 0 ? Logger.Level.debug : .notice
            logger.log(level: level, "watching", metadata: ["partitions": "\(partitions)"])
        case .rejected(let answer):
            logger.warning(
                "refill rejected, and not sent again before the stock changes: \(answer.message)",
                metadata: ["store": "\(answer.store)", "id": "\(answer.id)"])
        case .lost(let error):
            failures += 1
            // Fewer failures in a row are normal: another bot joined or left.
            let level = failures == 5 ? Logger.Level.warning : .info
            logger.log(level: level, "reading again from the committed offsets: \(error)")
        case .recovered:
            if failures >= 5 { logger.notice("refills are written again") }
            failures = 0
        case .answered: update(underway: 0, now: .now)
        case .sent: break
        }
    }

    /// Warns once if the bot has no share of the stores for 10 s, and a broker that it may wait for cannot be reached.
    func update(isReading: Bool, failure: @autoclosure () -> String?, now: ContinuousClock.Instant) {
        let since = idleSince ?? now
        idleSince = isReading ? nil : since
        guard !isReading, !hasToldWhyIdle, now - since > .seconds(10), let failure = failure() else { return }
        hasToldWhyIdle = true
        logger.warning("waiting for a share of the stores: \(failure)")
    }

    /// Warns if refills have had no answer for 30 s: the service may not be running.
    func update(underway: Int, now: ContinuousClock.Instant) {
        if underway == 0 {
            if hasWarned { logger.notice("refills are answered again") }
            (waitingSince, hasWarned) = (nil, false)
        } else if !hasWarned, now - (waitingSince ?? now) >= .seconds(30) {
            hasWarned = true
            logger.warning("\(underway.counted("refill")) without an answer for 30 s: is the service running?")
        } else {
            waitingSince = waitingSince ?? now
        }
    }
}

/// Formats a refill as one line.
enum RefillLine {
    /// `12:34:56  gangnam       juice-restock-bot/0-12  kiwi +25 (5 → 30)`.
    static func text(_ refill: Refill, time: String?, paint: Paint) -> String {
        let amounts = refill.entries.map { "\($0.fruit.printable) +\($0.added) (\($0.level) → \($0.level + $0.added))" }
        let store = DisplayWidth.pad(StoreID.visible(refill.store), to: 12)
        let id = paint(.faint, DisplayWidth.pad(refill.id.printable, to: 24))
        let columns = [time.map { paint(.faint, $0) }, store, id, paint(.cyan, amounts.joined(separator: ", "))]
        return columns.compactMap { $0 }.joined(separator: "  ")
    }

    /// `{"refill":[{"added":25,"fruit":"kiwi","level":5}],"restockId":"…","store":"gangnam","time":"2026-01-31T12:34:56.789Z"}`.
    static func json(_ refill: Refill, time: Date = .now) -> String {
        struct Line: Encodable {
            let restockId, store, time: String
            let refill: [Refill.Entry]
        }
        let utc = DateTime.utc(milliseconds: Int64(time.timeIntervalSince1970 * 1000))
        return JSONText.line(Line(restockId: refill.id, store: refill.store, time: utc, refill: refill.entries))
    }
}
