import ArgumentParser
import Foundation
import JuiceDomain
import JuiceMessages
import Kafka
import Logging

/// `juice restock-bot`: refills fruits that run out.
struct RestockBotCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restock-bot", abstract: "Refill fruits that run out: watch the stores and restock them, once per shortage.",
        discussion: """
            A fruit is short when LOW or fewer are left, or when an order lacked it and fewer than TARGET are left. The bot \
            refills it up to TARGET, and again only once the service has answered. A store without an answer in juice.results \
            is ignored until its next order.

            The id of a refill is the place of the answer that showed the shortage. So a bot that starts again, or takes over \
            from another one, may send a refill again, but under the same id: the service carries it out once. Bots of one \
            --bot-group share the stores; another bot takes over within 10 seconds. Groups are independent of each other: \
            give each its own --stores.

            It logs each refill, and runs until Ctrl-C or SIGTERM. Exit status: 0 ended, 64 usage, 70 failed, 78 bad \
            configuration or topics.

            Examples:
              juice restock-bot --bootstrap-servers kafka:9092 --low 10 --target 100
              juice restock-bot --stores 강남,홍대 --log-format json
            """
    )

    @Option("Refill a fruit when this many or fewer are left.", .number(in: 0...FruitStore.maximumLevel))
    var low = RestockBotPlan().low
    @Option("The level to refill up to; more than --low.", .number(in: 0...FruitStore.maximumLevel))
    var target = RestockBotPlan().target
    @Option("Only these stores, separated by commas, or one a line in a file. Unless given, all.", .stores) var stores: StoreList?
    // What the 128 bytes of a refill's id leave for it, beside partition and offset.
    @Option("The group of bots that share the stores.", .text("name", ofAtMost: CommandKind.maximumIDLength - 31))
    var botGroup = RestockBotPlan().group
    @OptionGroup var service: GroupOptions
    @OptionGroup var kafka: KafkaOptions

    func run() throws {
        OutputQueue.startAll(kafka.general.logFormat)
        let (plan, interruption) = (try plan(), EndingSignals.stopSignal())
        let clients = try KafkaClients(kafka)
        clients.logger.started("restock-bot", brokers: clients.bootstrapServers, kafka, ["group": "\(plan.group)"])
        try plan.run(clients) { interruption.isRequested }
    }

    func plan() throws(Failure) -> RestockBotPlan {
        guard low < target else {
            let hint = "a fruit with LOW or fewer left is refilled up to TARGET"
            throw Failure(.usage, "--low \(low) must be below --target \(target)", hint: hint)
        }
        guard botGroup != service.group else {
            throw Failure(.configuration, "--bot-group \(botGroup) is the service's; bots need another")
        }
        let stores = try stores?.ids()
        return RestockBotPlan(low: low, target: target, stores: stores.map { Set($0.map(Name.init)) }, group: botGroup)
    }
}

/// What a restock bot does.
struct RestockBotPlan: Sendable {
    /// A fruit is short at this level and below, and is refilled up to that one.
    var low = 5, target = 30
    /// The only stores to refill; nil for all.
    var stores: Set<Name>?
    /// The consumer group of the bots that share the stores.
    var group = "juice-restock-bot"

    /// Runs a bot on this thread until it is asked to end. After an error that passes, another one reads again from the committed
    /// offsets, and makes the same decisions.
    func run(_ clients: KafkaClients, until isEnded: () -> Bool) throws(Failure) {
        var bot: RestockBot?
        // Topics that are not there at the start are a mistake; later they may come back.
        var (hasRun, lastReason) = (false, "")
        while !isEnded() {
            do throws(KafkaError) {
                let current = if let bot { bot } else { try RestockBot(clients, self) }
                (bot, hasRun) = (current, true)
                try current.step()
                lastReason = ""
            } catch {
                if error.code.isHopeless || !hasRun && error.remedy != .retry { throw clients.failure(error) }
                bot = nil
                let level = clients.watch.obstacle == nil && error.message != lastReason ? Logger.Level.warning : .info
                lastReason = error.message
                clients.logger.log(level: level, "reading again from the committed offsets: \(error)")
                Thread.sleep(forTimeInterval: 1)
            }
        }
        clients.logger.notice("stopping: leaving the group")
        // So that the next bot need not read it again.
        bot?.commit()
    }
}

/// A member of a plain consumer group that reads answers, and sends a refill for each shortage that they show. ``Shortages`` says
/// why no refill counts twice. The bot belongs to one thread, and cannot be used after an error.
final class RestockBot {
    private let (plan, topics, logger, watch): (RestockBotPlan, TopicNames, Logger, BrokerWatch)
    private let member: Consumer
    private let producer: Producer
    private let decoder = AnswerDecoder()
    /// What is read, by partition of the results.
    private var partitions: [TopicPartition: Shortages] = [:]
    /// Refills that brokers have not confirmed, and why they did not confirm one.
    private var (unconfirmed, failure) = (0, KafkaError?.none)
    private var (heardAt, committedAt) = (ContinuousClock.now, ContinuousClock.now)

    /// Joins the group as a dynamic member, so that one host can run several bots. Throws if a topic does not exist.
    init(_ clients: KafkaClients, _ plan: RestockBotPlan) throws(KafkaError) {
        (self.plan, logger, topics, watch) = (plan, clients.logger, clients.topics, clients.watch)
        let hooks = ClientHooks(logger: logger, logCeiling: .info, onError: watch.noticed)
        producer = try Producer(configuration: clients.sending(timeout: .seconds(30)), hooks: hooks)
        _ = try watch.metadata(of: [topics.restocks, topics.results], from: producer, while: { false })
        let reading = KafkaConfiguration([
            "queued.max.messages.kbytes": "16384", "session.timeout.ms": "10000", "heartbeat.interval.ms": "1000",
            "max.poll.interval.ms": "60000", "socket.timeout.ms": "10000",
        ])
        .merging(clients.capabilities.consumerProperties).merging(clients.base().properties)
        .merging([
            "group.id": plan.group, "enable.auto.commit": "false", "isolation.level": "read_committed",
            "auto.offset.reset": "error",
            // The last records before an end may be transaction markers, which only this event passes.
            "enable.partition.eof": "true",
        ])
        member = try Consumer(configuration: reading, hooks: hooks)
        try member.subscribe(to: [topics.results])
    }

    deinit { member.close() }

    /// Commits the offsets from which another bot must read in order to decide the same. If that fails, it reads more.
    func commit() {
        committedAt = .now
        member.publish(partitions.mapValues { CommittedOffset($0.safePosition) })
    }

    /// Polls once, and sends the refills that are due. Commits offsets every 5 seconds.
    func step() throws(KafkaError) {
        producer.poll(timeout: .zero)
        if let failure { throw failure }
        // A rebalance does not end a poll that waits for records, so polls are short until the first assignment.
        let batch = try member.poll(maxRecords: 10_000, timeout: .milliseconds(member.hasAssignment ? 100 : 10))
        switch batch.rebalance {
        case .assigned(let assigned): try begin(assigned)
        case .revoked(let error):
            partitions = [:]
            if let error { try report(error) }
        case nil:
            if !batch.isEmpty { heardAt = .now }
            for element in batch { try read(element) }
        }
        for partition in Array(partitions.keys) {
            // Brokers, not memory, hold most of what is under way.
            for refill in partitions[partition]?.startRefills(atMost: 1000 - unconfirmed) ?? [] {
                try send(refill, to: partition.partition)
            }
        }
        if .now - committedAt > .seconds(5) { commit() }
        // A broker that hangs breaks no connection.
        if watch.needsProbe || .now - heardAt > .seconds(2), watch.probe(producer) {
            heardAt = .now
            do throws(KafkaError) { _ = try member.partitions(of: [topics.restocks, topics.results], timeout: .seconds(1)) } catch {
                // Nothing else says that a topic was deleted.
                if error.code.isMissing { throw error }
            }
        }
    }

    private func begin(_ assigned: [TopicPartition]) throws(KafkaError) {
        let committed = try member.committed(assigned, timeout: .seconds(2))
        let logs = try member.watermarks(of: assigned, timeout: .seconds(2))
        guard logs.count == assigned.count else { throw KafkaError(code: .timedOut, isRetriable: true) }
        for (partition, log) in logs {
            let start = committed[partition]?.offset
            partitions[partition] = Shortages(plan, partition: partition.partition, log: log, committed: start)
        }
        try member.assign(partitions.mapValues(\.position))
        let numbers = assigned.map(\.partition).sorted().map(String.init).joined(separator: ",")
        logger.notice("watching", metadata: ["partitions": "\(numbers)"])
    }

    private func read(_ element: RecordBatch.Element) throws(KafkaError) {
        switch element {
        case .record(let record):
            let partition = record.place
            partitions[partition]?.advance(to: record.offset + 1)
            // Notes, and answers that this version does not know, say nothing about the stock.
            guard let value = record.value, let answer = try? decoder.decode(value) else { return }
            partitions[partition]?.apply(answer, at: record.offset, time: record.timestamp ?? 0)
            if case .rejected = answer.outcome, partitions[partition]?.isRefill(answer) ?? false {
                logger.warning("refill rejected: \(answer.message)", metadata: ["store": "\(answer.store)", "id": "\(answer.id)"])
            }
        case .endOfPartition(let partition, let next): partitions[partition]?.advance(to: next)
        case .failure(_, let error): try report(error)
        }
    }

    /// Throws an error that does not go away by itself.
    private func report(_ error: KafkaError) throws(KafkaError) {
        guard !error.code.isOffsetReset, !error.code.isHopeless, !error.code.isDamage else { throw error }
        watch.noticed(error)
    }

    /// Sends a refill in the background, to the partition that has the store's answers.
    private func send(_ refill: Refill, to partition: Int32) throws(KafkaError) {
        unconfirmed += 1
        let command = OutgoingCommand.restock(id: refill.id, store: refill.store, .add, refill.amounts)
        try producer.produce(
            topic: topics.restocks, partition: partition, key: Array(refill.store.utf8), value: command.value,
            timestamp: refill.time
        ) { [weak self, logger] outcome in
            self?.unconfirmed -= 1
            switch outcome {
            case .success:
                let amounts = refill.amounts.map { "\($0.fruit) +\($0.amount)" }.joined(separator: ", ")
                logger.notice("refill", metadata: ["store": "\(refill.store)", "id": "\(refill.id)", "add": "\(amounts)"])
            case .failure(let error): self?.failure = error
            }
        }
    }
}
