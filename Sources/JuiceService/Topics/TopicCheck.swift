import JuiceEngine
import JuiceMessages
import Kafka

/// Checks whether the service can use the topics: all exist, with enough partitions, the stock compacted and dead letters
/// allowed to be as large as the records they quote; and whether the topics survive the loss of a broker.
public struct TopicCheck: Sendable {
    /// Something about the topics that should be fixed, or has to be before the service can start.
    public struct Problem: Error, Sendable, Equatable, CustomStringConvertible {
        /// What is wrong.
        public let fault: String
        /// The command that fixes it.
        public let mend: String

        /// The fault and how to fix it.
        public var description: String { "\(fault)\n  mend it with: \(mend)" }
    }

    /// The result of a check.
    public struct Findings: Sendable, Equatable {
        /// What has to be fixed, most basic first; empty if the service can start.
        public let problems: [Problem]
        /// What the service can live with; empty if there are problems.
        public let warnings: [Problem]
        /// How many partitions stores live in.
        let storePartitions: Int
        /// The partition count of the larger input.
        let inputPartitions: Int
        /// How long answers are kept, in milliseconds; nil for ever, or if the broker does not say.
        let answerRetention: Int64?
    }

    /// One topic as the cluster describes it.
    struct Description: Equatable {
        var partitionCount: Int
        var replicationFactor = 1
        /// Nil if the broker cannot describe it.
        var configuration: [String: String]?
    }

    let names: TopicNames
    let bootstrapServers: String
    let capabilities: BrokerCapabilities
    let duplicateWindow: DuplicateWindow
    /// How many partitions stores live in by the claims in the journal; nil if there are none.
    var servedPartitions: Int?
    /// A store in the wrong partition of the stock topic; looked for if there are no claims.
    var misplaced: StockSample.Misplaced?

    /// A check of these topics.
    ///
    /// - Parameters:
    ///   - names: the topics' names.
    ///   - bootstrapServers: the brokers that the fixing commands name.
    ///   - capabilities: what the brokers can do.
    ///   - duplicateWindow: how long answers have to be retained so that they can be restored.
    public init(
        names: TopicNames, bootstrapServers: String, capabilities: BrokerCapabilities = .full,
        duplicateWindow: DuplicateWindow = .standard
    ) {
        self.names = names
        self.bootstrapServers = bootstrapServers
        self.capabilities = capabilities
        self.duplicateWindow = duplicateWindow
    }

    /// Asks the cluster and checks its answers.
    ///
    /// - Parameters:
    ///   - admin: the client that asks about topics.
    ///   - reader: a consumer that sees past undecided transactions, to read the claims in the journal. Without it, or without the
    ///     right to read, stores are assumed to live in as many partitions as the stock topic has.
    ///   - timeout: how long to wait for each answer.
    /// - Throws: `KafkaError` when the cluster does not answer.
    public func findings(_ admin: Admin, reader: Consumer?, timeout: Duration) throws(KafkaError) -> Findings {
        let metadata = try admin.metadata(topics: names.all, timeout: timeout)
        for topic in metadata.topics {
            if let error = topic.error, !Self.meansMissing(error.code) { throw error }
        }
        var topics: [String: Description] = [:]
        for name in names.all {
            guard let topic = metadata[name] else { continue }
            topics[name] = Description(partitionCount: topic.partitionCount, replicationFactor: topic.replicationFactor)
        }
        if capabilities.managesTopics, !topics.isEmpty {
            let configurations = try admin.configurations(ofTopics: topics.keys.sorted(), timeout: timeout)
            for (name, configuration) in configurations { topics[name]?.configuration = configuration }
        }
        guard let reader else { return findings(of: topics) }
        return try lookingForStores(in: topics, reader, timeout: timeout).findings(of: topics)
    }

    func findings(of topics: [String: Description]) -> Findings {
        let problems = problems(of: topics)
        return Findings(
            problems: problems, warnings: problems.isEmpty ? warnings(of: topics) : [], storePartitions: storePartitions(topics),
            inputPartitions: names.inputs.compactMap { topics[$0]?.partitionCount }.max() ?? 0,
            answerRetention: retention(of: topics))
    }

    /// The same check, which also knows what the journal and the stock topic say about where stores live.
    private func lookingForStores(
        in topics: [String: Description],
        _ reader: Consumer,
        timeout: Duration
    ) throws(KafkaError) -> TopicCheck {
        var check = self
        do throws(KafkaError) {
            if let results = topics[names.results] {
                check.servedPartitions = try ServedPartitions.count(
                    in: names.results, partitionCount: Int32(clamping: results.partitionCount), reader, timeout: timeout
                ).map(Int.init)
            }
            if check.servedPartitions == nil, let stock = topics[names.stock] {
                check.misplaced = try StockSample.misplaced(
                    in: names.stock, partitionCount: Int32(clamping: stock.partitionCount), reader, timeout: timeout)
            }
        } catch {
            guard error.code.isDenial || error.code.isDamage else { throw error }
        }
        return check
    }

    private static func meansMissing(_ code: KafkaError.Code) -> Bool {
        code == .unknownTopicOrPartition || code == .unknownTopic
    }

    func problems(of topics: [String: Description]) -> [Problem] {
        let missing = names.all.filter { topics[$0] == nil }
        guard missing.isEmpty else {
            let count = servedPartitions ?? topics.values.map(\.partitionCount).max() ?? 4
            return [
                Problem(
                    fault: "missing topics: \(missing.joined(separator: ", "))",
                    mend: createCommand(prefix: prefix, partitions: count))
            ]
        }
        if let lost = lostNumber(topics) { return [lost] }
        return tooFewPartitions(topics) + compactedInputs(topics) + compaction(topics) + answerRetention(topics) + batchSize(topics)
            + deadLetterSize(topics)
    }

    func warnings(of topics: [String: Description]) -> [Problem] {
        enlargement(topics) + (capabilities.managesTopics ? durability(topics) : [])
    }

    /// Compaction would remove all but a store's last command, and rejects records without a key.
    private func compactedInputs(_ topics: [String: Description]) -> [Problem] {
        [names.orders, names.restocks, names.deadLetters].compactMap { name in
            guard let policy = topics[name]?.configuration?["cleanup.policy"], policy.contains("compact") else { return nil }
            return Problem(
                fault: "topic \(name) has cleanup.policy=\(policy), which takes all of a store's records but the last",
                mend: configCommand(name, "cleanup.policy=delete"))
        }
    }

    private func compaction(_ topics: [String: Description]) -> [Problem] {
        guard let configuration = topics[names.stock]?.configuration else { return [] }
        let policy = configuration["cleanup.policy"] ?? "delete"
        guard policy != "compact" else { return [] }
        return [
            Problem(
                fault: "topic \(names.stock) has cleanup.policy=\(policy); it holds the state of every store and must"
                    + " be compacted, never deleted from", mend: configCommand(names.stock, "cleanup.policy=compact"))
        ]
    }

    /// Repeats of a command are detected by its answer, so answers have to be retained for the duplicate window.
    private func answerRetention(_ topics: [String: Description]) -> [Problem] {
        guard let configuration = topics[names.results]?.configuration else { return [] }
        let policy = configuration["cleanup.policy"] ?? "delete"
        if policy != "delete" {
            return [
                Problem(
                    fault: "topic \(names.results) has cleanup.policy=\(policy), which would leave one answer per store",
                    mend: configCommand(names.results, "cleanup.policy=delete"))
            ]
        }
        guard let retention = retention(of: topics), retention < duplicateWindow.age else { return [] }
        return [
            Problem(
                fault: "topic \(names.results) keeps answers for \(retention) ms, but repeats of a command are to be known"
                    + " for \(duplicateWindow.age) ms", mend: configCommand(names.results, "retention.ms=\(duplicateWindow.age)"))
        ]
    }

    private func retention(of topics: [String: Description]) -> Int64? {
        topics[names.results]?.configuration?["retention.ms"].flatMap(Int64.init).flatMap { $0 >= 0 ? $0 : nil }
    }

    /// A producer fills a batch of small records up to Kafka's default limit.
    private func batchSize(_ topics: [String: Description]) -> [Problem] {
        [names.orders, names.restocks, names.results, names.stock].compactMap { name in
            let needed = TopicPlan.defaultMaxMessageBytes
            guard let limit = limit(name, topics), limit < needed else { return nil }
            return Problem(
                fault: "topic \(name) takes batches up to \(limit) bytes, fewer than the service sends",
                mend: configCommand(name, "max.message.bytes=\(needed)"))
        }
    }

    private func limit(_ name: String, _ topics: [String: Description]) -> Int? {
        topics[name]?.configuration?["max.message.bytes"].flatMap(Int.init)
    }

    private func deadLetterSize(_ topics: [String: Description]) -> [Problem] {
        guard let deadLetters = limit(names.deadLetters, topics),
            let largest = [names.orders, names.restocks].compactMap({ limit($0, topics) }).max()
        else { return [] }
        let needed = largest + TopicPlan.deadLetterRoom
        guard deadLetters < needed else { return [] }
        return [
            Problem(
                fault: "topic \(names.deadLetters) takes records up to \(deadLetters) bytes, but must be able to quote"
                    + " one of \(largest) bytes and say why", mend: configCommand(names.deadLetters, "max.message.bytes=\(needed)"))
        ]
    }

    func configCommand(_ topic: String, _ entry: String) -> String {
        "kafka-configs.sh --bootstrap-server \(bootstrapServers) --alter --entity-type topics --entity-name \(topic)"
            + " --add-config \(entry)"
    }

    func createCommand(prefix: String, partitions: Int) -> String {
        "juice topics create --bootstrap-servers \(bootstrapServers)"
            + (prefix == TopicNames.standardPrefix ? "" : " --topic-prefix \(prefix)") + " --partitions \(partitions)"
    }

    var prefix: String { String(names.orders.dropLast("orders".count)) }
}
