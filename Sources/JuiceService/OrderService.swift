import Foundation
import JuiceDomain
import JuiceEngine
import JuiceMessages
import Kafka
import Logging
import Metrics
import ServiceLifecycle

/// The service: checks the topics, then runs its workers until asked to stop. Where new Kafka clients can help, it replaces all of
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
    /// The longest time until clients that others take the place of have ended. A lookup may take 8 s.
    private static let renewalTimeout = Duration.seconds(20)
    /// How long brokers may take to learn of a broker that has just come up or of topics just created.
    private static let settlingTime = Duration.seconds(2)
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
            // Of many instances that have lost the same coordinator, not all should make their clients at once.
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
            // While a right is missing, only the first of many is news.
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

    /// Makes the clients anew if brokers refuse them, and certificates or passwords on disk are no longer those that they have.
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
            // librdkafka refuses a property value only when it makes such a client. That should happen before the workers begin to.
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
        let start = ContinuousClock.now
        // A running service has seen them, so they are likely to come back.
        let settlingTime = clients.isFirst ? Self.settlingTime : configuration.patience
        var isSettled: Bool { .now - start >= settlingTime }
        var isWaiting = false
        var (otherGroupSince, unfitSince): (ContinuousClock.Instant?, ContinuousClock.Instant?)
        func isUnfit(for duration: Duration) -> Bool {
            let first = unfitSince ?? .now
            unfitSince = first
            return .now - first >= duration
        }
        // Each attempt begins with the first question again, and a slow broker must have time to answer the last one.
        var timeout = AdaptiveTimeout(shortest: .seconds(2))
        while !clients.end.isRequested {
            var (found, otherOwner): (TopicCheck.Findings?, JournalOwners.LastClaim?)
            var unproven: [TopicCheck.Problem] = []
            do throws(KafkaError) {
                let seen = try timeout.waiting { limit throws(KafkaError) in
                    if let topicPlan {
                        for name in try admin.create(topicPlan.topics, timeout: .seconds(4)) {
                            logger.notice("created topic \(name) with \(topicPlan.partitionCount.counted("partition"))")
                        }
                    }
                    return try configuration.topicCheck.findings(admin, reader: reader, timeout: limit)
                }
                if seen.problems.isEmpty {
                    otherOwner = try liveOwner(of: seen, admin)
                    // The embedded broker lasts no longer than its process.
                    if seen.cluster.isNew, configuration.capabilities.managesTopics { unproven = try prove(seen.cluster) }
                }
                found = seen
            } catch {
                // The brokers of a cluster come up one after the other.
                let mayPass = error.code == .invalidReplicationFactor && !isUnfit(for: configuration.patience)
                guard error.remedy == .retry || mayPass else {
                    if error.code.isDenial { throw .passing(error.advised) }
                    throw error.code.isRefusalOfSetting ? .badConfiguration(error.advised) : .failed(error.advised)
                }
                // Topics just created have no leaders for a moment. A partition without one answers no lookup.
                let reason = error.code.isFromBroker ? error.description : watch.lastFailure ?? error.description
                if error.code.isFromBroker { watch.reached() }
                if error.code.isFromBroker || watch.probe(admin) {
                    if isSettled, !isWaiting { logger.warning("waiting for the topics: \(reason)") }
                    isWaiting = isWaiting || isSettled
                }
                renewIfRefused(watch, clients)
            }
            guard unproven.isEmpty else { throw .unfitTopics(unproven) }
            if let otherOwner {
                let since = otherOwner.timestamp.map { ", since \(Date(milliseconds: $0).formatted(.iso8601))" } ?? ""
                let owner = "the group \"\(otherOwner.group)\" (instance \"\(otherOwner.instance)\"\(since)) serves these topics"
                guard let first = otherGroupSince else {
                    otherGroupSince = .now
                    logger.warning("waiting: \(owner), and only one group may")
                    continue
                }
                // One that was killed stays a member until its session ends, with the default of librdkafka after 45 s.
                guard .now - first < configuration.patience else {
                    throw .badConfiguration(
                        "\(owner): stop its instances, join them with --group, or end them with --take-over")
                }
            } else if let found, found.problems.isEmpty {
                watch.reached()
                for warning in found.warnings {
                    logger.log(level: clients.isFirst ? .warning : .debug, "\(warning.fault); to fix it: \(warning.fix)")
                }
                return found
            }
            if let found, otherOwner == nil {
                // Another program may be about to create them.
                let isIncomplete = configuration.topics.all.contains { found.cluster[$0] == nil }
                guard !isUnfit(for: isIncomplete ? configuration.patience : settlingTime) else {
                    throw .unfitTopics(found.problems)
                }
                if isUnfit(for: Self.settlingTime), !isWaiting, let problem = found.problems.first {
                    logger.warning("waiting for the topics: \(problem.fault); to fix it: \(problem.fix)")
                    isWaiting = true
                }
            }
            clients.end.wait(for: Self.pause)
        }
        return nil
    }

    /// The last claim of another group whose instances run. Such a service would be thrown out by this one's claims.
    private func liveOwner(of found: TopicCheck.Findings, _ admin: Admin) throws(KafkaError) -> JournalOwners.LastClaim? {
        // The embedded broker describes no groups, and serves a single process.
        guard !configuration.takesOver, configuration.capabilities.managesTopics else { return nil }
        let others = Dictionary(found.cluster.owners.map { ($0.group, $0) }) { first, _ in first }
        for (group, owner) in others where group != configuration.group {
            do throws(KafkaError) {
                if try admin.describe(group: group, timeout: .seconds(2)).reads(configuration.topics.orders) { return owner }
            } catch {
                guard error.code.isDenial else { throw error }
                logger.warning("without the right to describe the group \"\(group)\" it is not known whether its instances run")
            }
        }
        return nil
    }

    /// Tries on the brokers what exactly-once processing rests on.
    ///
    /// - Returns: what keeps a journal from beginning there.
    private func prove(_ cluster: TopicCheck.Cluster) throws(KafkaError) -> [TopicCheck.Problem] {
        let hooks = ClientHooks(logger: logger, logCeiling: .debug)
        let own = configuration.topics.all.compactMap { cluster[$0] }
        let proofs = try BrokerTrial(configuration, hooks: hooks, timeout: .seconds(10)).run() + [.settings(of: own)]
        if proofs.problems.isEmpty {
            logger.notice("a new journal, on brokers that have proven: \(proofs.map(\.property.text).joined(separator: "; "))")
        }
        return proofs.problems
    }

    /// Makes a client, which fails if librdkafka refuses a property. It took those of the first clients: later a file is missing.
    private func making<Client>(
        _ clients: ClientGeneration, _ body: () throws(KafkaError) -> Client
    ) throws(ServiceError) -> Client {
        do throws(KafkaError) { return try body() } catch {
            throw clients.isFirst ? .badConfiguration(error.description) : .passing(error.description)
        }
    }

    // MARK: - What is watched

    /// Probes the brokers every second, and looks every five at the topics' settings and at what workers wait for. By themselves
    /// clients notice a broker that hangs only when their requests time out. That says nothing of rebalances and transactions,
    /// which may take long while brokers answer.
    private func watchCluster(
        _ brokers: [String], _ watch: BrokerWatch, _ clients: ClientGeneration
    ) throws(ServiceError) {
        let configuration = configuration.knowing(brokers: brokers)
        let hooks = ClientHooks(logger: logger, logCeiling: .debug, onError: watch.noticed)
        let admin = try making(clients) { () throws(KafkaError) in try Admin(configuration: configuration.client, hooks: hooks) }
        let roundTrip = metrics?.gauge(.kafkaRoundTrip)
        var settings = SettingsWatch(metrics: metrics, logger: logger)
        var coordinators = CoordinatorWatch(configuration: configuration, admin: admin, logger: logger)
        var answeringSince: ContinuousClock.Instant?
        var round = 0
        while !clients.end.isRequested {
            let start = ContinuousClock.now
            // Brokers are asked twice, within the time in which a process has to stop.
            let isReached = watch.probe(admin, timeout: .milliseconds(1500))
            roundTrip?.record(isReached ? (.now - start) / .seconds(1) : 0)
            answeringSince = isReached ? answeringSince ?? start : nil
            if !isReached { renewIfRefused(watch, clients) }
            if health.readiness.isEmpty { clients.works() }
            if round.isMultiple(of: 5), let answeringSince {
                // A look that fails, perhaps for want of a right, is made again at the next turn.
                if configuration.capabilities.managesTopics,
                    let found = try? configuration.topicCheck.wrongSettings(admin, timeout: .seconds(2))
                {
                    settings.found(found)
                }
                let silence = health.longestSilence(since: answeringSince)
                coordinators.look(at: silence)
                let hindrance = coordinators.found ?? watch.closings
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
                // Another member of the same name takes its place in a moment, and other producers fence its own.
                log.leave(handsOver: false)
                return record(.left)
            }
            let step = worker.step()
            health.stepped(worker: number)
            metrics?.record(worker.held, remaining: log.remaining)
            events.logDueDeadLetters()
            switch step {
            case .worked, .idle:
                if !isAnswered { health.answered(worker: number) }
                isAnswered = true
            // Pauses are short while stopping, so that the last transaction gets as many attempts as time allows.
            case .backOff(let attempt):
                isAnswered = false
                // 10 ms after the first failure, doubled with each, up to a second.
                clients.end.wait(for: .milliseconds(min(1000, 10 << min(attempt - 1, 7))), onceRequested: .milliseconds(20))
            case .stopped: return
            case .failed(let error):
                if error.subject == .right { throw .passing(error.message) }
                // The other workers finish their transactions and hand over.
                stop.request()
                throw error.subject == .setting ? .badConfiguration(error.message) : .failed(error.message)
            }
        }
    }
}

extension OrderService: CustomStringConvertible {
    /// The type's name, so that logs show none of the properties and their secrets.
    package var description: String { "OrderService" }
}

/// Why the service could not start or continue.
package enum ServiceError: Error, CustomStringConvertible {
    /// A setting is invalid, or the brokers refuse it.
    case badConfiguration(String)
    /// The topics cannot be used as they are.
    case unfitTopics([TopicCheck.Problem])
    /// It may go on in a moment: a right is missing, or a file that was there.
    case passing(String)
    /// A worker failed for good.
    case failed(String)

    /// What happened and, if known, how to fix it.
    package var description: String {
        switch self {
        case .badConfiguration(let reason), .passing(let reason), .failed(let reason): reason
        case .unfitTopics(let problems): problems.map(\.description).joined(separator: "\n")
        }
    }
}
