import Foundation
import JuiceClient
import JuiceHTTP
import JuiceMessages
import JuiceRestockBot
import Kafka
import Logging

/// One run of a restock bot, on the thread that calls ``run()``.
struct RestockBotRun {
    let connection: Connection
    let plan: RestockBotPlan
    let logger: Logger
    /// Whether the bot was asked to end.
    let isEnded: () -> Bool
    /// Receives each refill once it is written.
    let show: (Refill) -> Void

    func run() throws {
        let watch = BrokerWatch(bootstrapServers: connection.bootstrapServers, logger: logger)
        let health = BotHealth { watch.outage }
        let (admin, metrics) = try plan.adminAddress.map { try showing(health, at: $0) } ?? (nil, nil)
        defer { admin?.stop() }
        try run(watch, health, metrics.map { BotMetrics(factory: $0.registry) })
    }

    /// Starts a server for the bot's health and metrics.
    private func showing(_ health: BotHealth, at address: HTTPAddress) throws -> (BackgroundServer?, Metrics?) {
        let metrics = Metrics(BotMetric.allCases.map { .init($0.rawValue, help: $0.help) })
        metrics.showReadiness(as: BotMetric.ready.rawValue) { health.readiness.isEmpty }
        let server = try BackgroundServer { onListening in
            let server = AdminServer.make(
                at: address, liveness: { health.liveness }, readiness: { health.readiness }, metrics: metrics,
                counted: HTTPMetrics(factory: metrics.registry), logger: logger, onListening: onListening)
            return ServiceRun.group([server], signals: [])
        }
        return (server, metrics)
    }

    private func run(_ watch: BrokerWatch, _ health: BotHealth, _ metrics: BotMetrics?) throws(Failure) {
        let deadline = plan.onceWithin.map(Deadline.init(after:))
        try findTopics(watch, deadline)
        let botLogger = BotLogger(logger: logger, target: plan.rules.target)
        let log = KafkaAnswerLog(
            base: connection.base, group: plan.group, topics: connection.topics, fetchWait: connection.fetchWait, watch: watch,
            hooks: ClientHooks(logger: logger, logCeiling: .info))
        var bot = JuiceRestockBot.RestockBot(log: log, rules: plan.rules, group: plan.group) { [show] event in
            botLogger.log(event)
            health.handle(event)
            metrics?.count(event)
            if case .sent(let refills) = event { refills.forEach(show) }
        }
        // Where no broker answers, a commit would wait for one.
        defer { if watch.needsProbe { bot.leave() } else { bot.commitAndLeave() } }
        while !isEnded() {
            if let deadline {
                if bot.isSettled { return }
                if deadline.isOver { throw Self.unsettled(bot.underway) }
            }
            let step = bot.step()
            let work = bot.work
            health.stepped(work: work)
            metrics?.record(work ?? .none)
            switch step {
            case .worked: botLogger.update(underway: bot.underway, now: .now)
            case .backOff(let pause): Thread.sleep(forTimeInterval: pause / .seconds(1))
            case .failed(let error): throw connection.failure(error)
            }
        }
    }

    private static func unsettled(_ underway: Int) -> Failure {
        let hint = "they are written, and are answered once the service runs; sent again they count once"
        return underway > 0
            ? Failure(.unavailable, "\(underway) refills are not answered yet", hint: hint)
            : Failure(.unavailable, "not done in time; a longer --timeout may help")
    }

    /// Waits for the cluster and checks that the topics exist.
    private func findTopics(_ watch: BrokerWatch, _ deadline: Deadline?) throws(Failure) {
        let consumer = try connection.consumer()
        defer { consumer.close() }
        do throws(KafkaError) {
            let names = [connection.topics.restocks, connection.topics.results]
            let isWaiting = { !isEnded() && !(deadline?.isOver ?? false) }
            _ = try watch.metadata(of: names, from: consumer, while: isWaiting)
        } catch {
            if isEnded() { return }
            throw connection.failure(error)
        }
    }
}
