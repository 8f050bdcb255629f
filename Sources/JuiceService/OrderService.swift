import Foundation
import JuiceDomain
import JuiceEngine
import JuiceMessages
import Kafka
import Logging
import Metrics
import ServiceLifecycle

/// The service: checks the topics, then runs its workers until asked to stop. If new Kafka clients can help, it replaces all of
/// them: see ``ClientGeneration``.
///
/// ```swift
/// let service = OrderService(configuration: configuration, logger: logger)
/// try await ServiceGroup(services: [service], gracefulShutdownSignals: [.sigterm, .sigint], logger: logger).run()
/// ```
package struct OrderService: Service {
    private var configuration: ServiceConfiguration
    private let credentials: Credentials
    private let topicPlan: TopicPlan?
    private let logger: Logger
    private let health: ServiceHealth
    private let metrics: (any MetricsFactory)?
    private let onEvent: @Sendable (WorkerEvent) -> Void

    /// The longest time from the request to stop to the end of the service.
    private static let stopTimeout = Duration.milliseconds(4500)
    /// The longest time that replaced clients may take to end. A lookup may take 8 s.
    private static let renewalTimeout = Duration.seconds(20)
    /// How long brokers may take to learn of a broker that has just come up or of topics just created.
    private static let settlingTime = Duration.seconds(2)
    /// How long a worker may wait, while brokers answer, before the service looks for faults of coordinators.
    private static let patienceAtCoordinators = Duration.seconds(5)
    /// The pause between two attempts to use the topics.
    private static let pause = Duration.milliseconds(200)

    /// A service that does not run yet.
    ///
    /// - Parameters:
    ///   - properties: reads `kafkaProperties` again, since passwords may be renewed while it runs; nil keeps them.
    ///   - topicPlan: the topics to create if they are missing; nil creates none.
    ///   - metrics: receives the ``ServiceMetric`` values; nil measures nothing.
    ///   - logger: gets one line for each change of state.
    ///   - onEvent: called on the workers' threads for every event; it must be quick.
    package init(
        configuration: ServiceConfiguration, rereading properties: (@Sendable () throws -> [String: String])? = nil,
        topicPlan: TopicPlan? = nil, health: ServiceHealth = ServiceHealth(), metrics: (any MetricsFactory)? = nil,
        logger: Logger, onEvent: @escaping @Sendable (WorkerEvent) -> Void = { _ in }
    ) {
        (self.configuration, self.topicPlan, self.health) = (configuration, topicPlan, health)
        credentials = Credentials(configuration.kafkaProperties, source: properties)
        (self.metrics, self.logger, self.onEvent) = (metrics, logger, onEvent)
    }

    /// Runs until graceful shutdown or cancellation, then finishes the open transactions and leaves the group. It waits for brokers
    /// that do not answer.
    ///
    /// - Throws: ``ServiceError`` when it cannot start or continue.
    package func run() async throws {
        let stop = StopSignal()
        try await withTaskCancellationOrGracefulShutdownHandler {
            try await run(until: stop)
        } onCancelOrGracefulShutdown: {
            logger.notice("stopping: finishing the transactions at hand")
            health.stopping()
            stop.request()
        }
    }

    private func run(until stop: StopSignal) async throws {
        try configuration.validate()
        let watch = BrokerWatch(
            bootstrapServers: configuration.bootstrapServers, connections: configuration.mostConnections, logger: logger,
            onOutage: health.setOutage)
        var (service, isFirst, pause, silences) = (self, true, Duration.zero, 0)
        var denials = DenialPatience(configuration.denialPatience)
        while true {
            // If many instances lose the same coordinator, not all of them should make new clients at once.
            let patience = configuration.silencePatience * (1 << min(silences, 3)) * Double.random(in: 1...1.25)
            let clients = ClientGeneration(isFirst: isFirst, patience: patience, pause: pause)
            isFirst = false
            stop.onRequest { clients.end.request() }
            let reason: String
            do {
                try await service.run(clients, watch, until: stop)
                guard let found = clients.reason, !stop.isRequested else { return }
                (reason, pause, silences) = (found, .zero, clients.workingSince == nil ? silences + 1 : 1)
            } catch ServiceError.passing(let fault) {
                if let since = clients.workingSince, .now - since > DenialPatience.grantedOnceReady { denials.granted() }
                guard let next = denials.pause(), !stop.isRequested else { throw ServiceError.failed(fault) }
                (reason, pause) = ("\(fault). The service ends if that lasts for a minute", next)
            }
            // While a right is missing, only the first of many attempts is news.
            let isNews = pause <= DenialPatience.firstPause
            logger.log(level: isNews ? .warning : .info, "making all Kafka clients anew: \(reason)")
            health.renewing(reason)
            _ = credentials.reload()
            service.configuration.kafkaProperties = credentials.properties
        }
    }

    /// Runs with one generation of clients.
    private func run(_ clients: ClientGeneration, _ watch: BrokerWatch, until stop: StopSignal) async throws {
        let limits = [(stop, Self.stopTimeout), (clients.end, Self.renewalTimeout)]
        let prepared = try await DedicatedThread.runAll(["topics"], until: clients.end, limits: limits) { _ in
            try prepareTopics(watch, clients)
        }
        guard let topics = prepared.first ?? nil else { return }
        try configuration.validate(brokers: topics.brokers.count)

        health.started(workers: configuration.workers)
        defer { health.ended() }
        let clocks = ClockWatch(metrics: metrics, logger: logger)
        let names = (0..<configuration.workers).map { "worker-\($0)" } + ["cluster"]
        let ended: [Void] = try await DedicatedThread.runAll(names, until: clients.end, limits: limits) { number in
            if number == configuration.workers {
                try watchCluster(topics.brokers, watch, clients)
            } else {
                try runWorker(number, topics, watch, clocks, clients, stop)
            }
        }
        guard ended.count < names.count else { return }
        guard stop.isRequested else {
            throw ServiceError.failed("calls of librdkafka do not return, so that no other clients can take its place")
        }
        // Nothing is lost: the broker completes or aborts the transactions it knows.
        logger.warning("stopping without waiting for Kafka any longer")
    }

    /// Replaces the clients if brokers refuse them, and the certificates or passwords on disk have changed since.
    private func renewIfRefused(_ watch: BrokerWatch, _ clients: ClientGeneration) {
        guard let fault = watch.fault, fault.code.isRefusal, credentials.reload() else { return }
        clients.renew("\(Credentials.change): \(fault.message)")
    }

    // MARK: - Topics

    /// Waits for the cluster, creates the topics if asked to, and checks them.
    ///
    /// - Returns: what the workers need to know about them; nil if asked to stop before that.
    /// - Throws: ``ServiceError`` if a setting or the topics have to be fixed first.
    private func prepareTopics(_ watch: BrokerWatch, _ clients: ClientGeneration) throws(ServiceError) -> TopicCheck.Findings? {
        clients.end.wait(for: clients.pause)
        let (admin, reader) = try making(clients) { () throws(KafkaError) in
            let hooks = ClientHooks(logger: logger, logCeiling: .info)
            // librdkafka checks property values only when it makes such a client. So make one before the workers do.
            for consumer in [configuration.groupConsumer(worker: 0), configuration.changelogConsumer] {
                _ = try Consumer(configuration: consumer, hooks: hooks)
            }
            _ = try Producer(
                configuration: configuration.producer.merging(["transactional.id": configuration.checkID]), hooks: hooks)
            let watched = ClientHooks(logger: logger, logCeiling: .info, onError: watch.noticed)
            return (
                try Admin(configuration: configuration.client, hooks: watched),
                try Consumer(configuration: configuration.logEndConsumer, hooks: watched)
            )
        }
        defer { reader.close() }
        // Each attempt begins with the first question again, and a slow broker must have time to answer the last one.
        var timeout = AdaptiveTimeout(shortest: .seconds(2))
        var hindrances = FaultLog(logger: logger, level: .warning)
        // When each obstacle was first met, and which ones were logged.
        var (since, said) = ([Obstacle.Kind.silence: ContinuousClock.now], Set<Obstacle.Kind>())
        while !clients.end.isRequested {
            let obstacle: Obstacle
            do throws(KafkaError) {
                let (found, hindering) = try lookAtTopics(admin, reader, &timeout, &hindrances, clients)
                guard let hindering else {
                    watch.reached()
                    hindrances.found([])
                    health.setHindrance(nil)
                    for warning in found.warnings { logger.log(level: clients.isFirst ? .warning : .debug, "\(warning.line)") }
                    return found
                }
                obstacle = hindering
            } catch  where error.remedy == .retry {
                // Topics just created have no leaders for a moment. A partition without one answers no lookup.
                let reason = error.code.isFromBroker ? error.advised : watch.lastFailure ?? error.description
                if error.code.isFromBroker { watch.reached() }
                let isAnswering = error.code.isFromBroker || watch.probe(admin)
                // A running service has seen the topics, so they are likely to come back.
                let grace = clients.isFirst ? Self.settlingTime : configuration.patience
                obstacle = Obstacle(
                    kind: .silence, text: " for the topics: \(reason)", grace: isAnswering ? grace : nil, end: .failed(reason))
                renewIfRefused(watch, clients)
            } catch {
                // The brokers of a cluster come up one after the other.
                obstacle = Obstacle(
                    kind: .unfit, text: " for the topics: \(error)",
                    limit: error.code == .invalidReplicationFactor ? configuration.patience : .zero,
                    end: ServiceError(LogError(error)))
            }
            let first = since[obstacle.kind] ?? .now
            since[obstacle.kind] = first
            let time = ContinuousClock.now - first
            if let limit = obstacle.limit, time >= limit { throw obstacle.end }
            if let grace = obstacle.grace, time >= grace, said.insert(obstacle.kind).inserted {
                logger.warning("waiting\(obstacle.text)")
            }
            clients.end.wait(for: Self.pause)
        }
        return nil
    }

    /// What keeps a start from going on.
    private struct Obstacle {
        enum Kind { case silence, unfit, otherGroup }

        let kind: Kind
        /// The rest of the log line, after "waiting".
        let text: String
        /// How long it may last before that line is logged; nil never logs it.
        var grace: Duration? = settlingTime
        /// How long it may last before the start fails; nil is for ever.
        var limit: Duration?
        let end: ServiceError
    }

    /// One attempt to use the topics.
    ///
    /// - Returns: the findings, and what keeps the service from using the topics, if anything.
    private func lookAtTopics(
        _ admin: Admin, _ reader: Consumer, _ timeout: inout AdaptiveTimeout, _ hindrances: inout FaultLog,
        _ clients: ClientGeneration
    ) throws(KafkaError) -> (TopicCheck.Findings, Obstacle?) {
        let found = try timeout.waiting { limit throws(KafkaError) in
            if let topicPlan {
                for name in try admin.create(topicPlan.topics, timeout: .seconds(4)) {
                    logger.notice("created topic \(name) with \(topicPlan.partitionCount.counted("partition"))")
                }
            }
            return try configuration.topicCheck.findings(admin, reader: reader, timeout: limit)
        }
        if let problem = found.problems.first {
            // Another program may be about to create the topics, and a running service has seen them.
            let mayCome = !clients.isFirst || configuration.topics.all.contains { found.cluster[$0] == nil }
            let limit = mayCome ? configuration.patience : Self.settlingTime
            let end = ServiceError.unfitTopics(found.problems)
            return (found, Obstacle(kind: .unfit, text: " for the topics: \(problem.line)", limit: limit, end: end))
        }
        if let other = try liveOwner(of: found, admin) {
            let since = other.timestamp.map { ", since \(Date(milliseconds: $0).formatted(.iso8601))" } ?? ""
            let owner = "the group \"\(other.group)\" (instance \"\(other.instance)\"\(since)) serves these topics"
            // A killed instance stays a member until its session ends, with librdkafka's default after 45 s.
            let end = ServiceError.badConfiguration(
                "\(owner): stop its instances, join them with --group, or end them with --take-over")
            let text = ": \(owner), and only one group may"
            return (found, Obstacle(kind: .otherGroup, text: text, grace: .zero, limit: configuration.patience, end: end))
        }
        // What exactly-once processing rests on is tried on the brokers. The embedded one lasts no longer than its process.
        guard found.cluster.isNew, configuration.capabilities.managesTopics else { return (found, nil) }
        do throws(KafkaError) {
            let hooks = ClientHooks(logger: logger, logCeiling: .debug)
            let own = configuration.topics.all.compactMap { found.cluster[$0] }
            let proofs = try BrokerTrial(configuration, hooks: hooks, timeout: .seconds(10)).run() + [.settings(of: own)]
            let unproven = proofs.problems
            guard unproven.isEmpty else {
                return (found, Obstacle(kind: .unfit, text: "", limit: .zero, end: .unfitTopics(unproven)))
            }
            logger.notice("a new journal, on brokers that have proven: \(proofs.map(\.property.text).joined(separator: "; "))")
            return (found, nil)
        } catch {
            // The trial has asked for this coordinator, but nothing yet for that of groups.
            if let found = Examination.hindrances(configuration, admin, of: [.transactions]) { hindrances.found(found) }
            health.setHindrance(hindrances.problems.first?.line)
            throw error
        }
    }

    /// The last claim of another group whose instances run. This service's claims would make them end.
    private func liveOwner(of found: TopicCheck.Findings, _ admin: Admin) throws(KafkaError) -> JournalOwners.LastClaim? {
        guard !configuration.takesOver else { return nil }
        let others = Dictionary(found.cluster.owners.map { ($0.group, $0) }) { first, _ in first }
        for (group, owner) in others where group != configuration.group {
            // The embedded broker describes no groups, and ends with its process, which serves the topics.
            guard configuration.capabilities.managesTopics else { return owner }
            do throws(KafkaError) {
                if try admin.describe(group: group, timeout: .seconds(2)).reads(configuration.topics.orders) { return owner }
            } catch {
                guard error.code.isDenial else { throw error }
                logger.warning("without the right to describe the group \"\(group)\" it is not known whether its instances run")
            }
        }
        return nil
    }

    /// Makes a client. This fails if librdkafka refuses a property or, after the first clients, if a file is missing.
    private func making<Client>(
        _ clients: ClientGeneration, _ body: () throws(KafkaError) -> Client
    ) throws(ServiceError) -> Client {
        do throws(KafkaError) { return try body() } catch {
            throw clients.isFirst ? .badConfiguration(error.description) : .passing(error.description)
        }
    }

    // MARK: - What is watched

    /// Probes the brokers every second, and every five looks at the topics' settings and at what workers wait for. On their own,
    /// clients notice a broker that hangs only when their requests time out. A probe shows nothing of rebalances and transactions,
    /// which may take long while brokers answer.
    private func watchCluster(
        _ brokers: [String], _ watch: BrokerWatch, _ clients: ClientGeneration
    ) throws(ServiceError) {
        let configuration = configuration.knowing(brokers: brokers)
        let hooks = ClientHooks(logger: logger, logCeiling: .debug, onError: watch.noticed)
        let admin = try making(clients) { () throws(KafkaError) in try Admin(configuration: configuration.client, hooks: hooks) }
        let (roundTrip, wrongSettings) = (metrics?.gauge(.kafkaRoundTrip), metrics?.gauge(.wrongSettings))
        var settings = FaultLog(logger: logger, level: .critical, consequence: ". Answers may be lost or given twice")
        var hindrances = FaultLog(logger: logger, level: .warning)
        var answeringSince: ContinuousClock.Instant?
        var round = 0
        while !clients.end.isRequested {
            let start = ContinuousClock.now
            // A probe asks twice, within the time that a process has to stop.
            let isReached = watch.probe(admin, timeout: .milliseconds(1500))
            roundTrip?.record(isReached ? (.now - start) / .seconds(1) : 0)
            answeringSince = isReached ? answeringSince ?? start : nil
            if !isReached { renewIfRefused(watch, clients) }
            if health.readiness.isEmpty { clients.works() }
            if round.isMultiple(of: 5), let answeringSince {
                // A look that fails, perhaps because a right is missing, is repeated at the next turn.
                if configuration.capabilities.managesTopics,
                    let found = try? configuration.topicCheck.wrongSettings(admin, timeout: .seconds(2))
                {
                    wrongSettings?.record(found.count)
                    settings.found(found)
                }
                let silence = health.longestSilence(since: answeringSince)
                let isLong = silence.map { $0.time >= Self.patienceAtCoordinators } ?? false
                if let found = isLong ? Examination.hindrances(configuration, admin) : [] { hindrances.found(found) }
                let hindrance = hindrances.problems.first?.line ?? watch.closings()
                health.setHindrance(hindrance)
                if let silence, silence.time >= clients.patience, hindrance == nil,
                    silence.isCured(byClientsOf: configuration, hooks: hooks)
                {
                    clients.renew(silence.description)
                }
            }
            round += 1
            clients.end.wait(for: .seconds(1))
        }
    }

    // MARK: - Workers

    /// Drives a worker step by step until it is asked to stop or cannot continue. The worker and everything it owns live on this
    /// thread.
    private func runWorker(
        _ number: Int, _ topics: TopicCheck.Findings, _ watch: BrokerWatch, _ clocks: ClockWatch, _ clients: ClientGeneration,
        _ stop: StopSignal
    ) throws(ServiceError) {
        let configuration = configuration.knowing(brokers: topics.brokers)
        let metrics = metrics.map { WorkerMetrics(worker: number, topics: configuration.topics, factory: $0) }
        var logger = logger
        logger[metadataKey: "worker"] = "\(number)"
        let log = try making(clients) { () throws(KafkaError) in
            try LibrdkafkaPort(
                configuration: configuration, worker: number, storePartitions: topics.storePartitions,
                deadLetterPartitions: Int32(clamping: topics.cluster[configuration.topics.deadLetters]?.partitionCount ?? 1),
                watch: watch, metrics: metrics, clocks: clocks, logger: logger)
        }

        var events = WorkerLogger(logger: logger, configuration: configuration)
        func record(_ event: WorkerEvent) {
            let event = log.namingCoordinator(in: event)
            events.log(event)
            health.record(event, ofWorker: number)
            metrics?.record(event)
            onEvent(event)
        }
        var worker = Worker(
            log: log, settings: configuration.workerSettings(partitionCount: topics.storePartitions, findings: topics),
            onEvent: record)
        var isAnswered = true
        while true {
            if stop.isRequested {
                worker.requestStop()
            } else if clients.end.isRequested {
                // Another member of the same name takes its place in a moment, and new producers fence its own.
                log.leave(handsOver: false)
                return record(.left)
            }
            let step = worker.step()
            health.stepped(worker: number)
            metrics?.record(worker.held, remaining: worker.remaining)
            events.logDueDeadLetters()
            switch step {
            case .worked, .idle, .waiting:
                if !isAnswered { health.answered(worker: number) }
                isAnswered = true
                if case .waiting(let time) = step { stop.wait(for: .milliseconds(time)) }
            // Pauses are short while stopping, so that the last transaction gets as many attempts as time allows.
            case .backOff(let attempt):
                isAnswered = false
                // 10 ms after the first failure, doubled with each, up to a second.
                clients.end.wait(for: .milliseconds(min(1000, 10 << min(attempt - 1, 7))), onceRequested: .milliseconds(20))
            case .stopped: return
            case .failed(let error):
                // The other workers finish their transactions and hand over.
                if error.subject != .right { stop.request() }
                throw ServiceError(error)
            }
        }
    }
}

extension OrderService: CustomStringConvertible {
    /// The type's name, so that logs show none of the properties and their secrets.
    package var description: String { "OrderService" }
}
