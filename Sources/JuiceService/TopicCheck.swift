import JuiceDomain
import JuiceEngine
import JuiceMessages
import Kafka

/// Checks whether the service can use the topics: all exist, with enough partitions, the stock compacted and dead letters
/// allowed to be as large as the records they quote; and whether the topics survive the loss of a broker.
package struct TopicCheck: Sendable {
    /// What is wrong with the topics, and the command that fixes it.
    package struct Problem: Sendable, Equatable, Encodable, CustomStringConvertible {
        package let fault: String
        package let fix: String

        package init(_ fault: String, fix: String) { (self.fault, self.fix) = (fault, fix) }

        package var description: String { "\(fault)\n  fix it with: \(fix)" }
        /// On one line, for a log.
        var line: String { "\(fault); to fix it: \(fix)" }
    }

    /// The result of a check.
    package struct Findings: Sendable {
        /// What has to be fixed, most basic first; empty if the service can start.
        package let problems: [Problem]
        /// What the service can live with; empty if there are problems.
        package let warnings: [Problem]
        package let cluster: Cluster
        /// The number of partitions that hold stores.
        let storePartitions: Int32
        /// A position note is written after this many milliseconds without one, at most a day. When a note expires, the next one
        /// must have existed for longer than repeats may ask for an answer, whatever happens in between.
        let noteInterval: Timestamp
        /// `host:port` of each broker.
        var brokers: [String] { cluster.metadata.brokers.map(\.address) }
        /// From this age on, in milliseconds, a command loses its timestamp when it is forwarded: the inputs refuse it, or brokers
        /// set timestamps themselves. Nil if there is no such age, or brokers do not say.
        package let oldestForward: Timestamp?
        /// Which timestamps of commands count.
        package let times: CommandTimes
    }

    /// What the cluster says about the topics, and what the topics say about where stores live.
    package struct Cluster: Sendable {
        /// The brokers, and which topics exist.
        package var metadata: ClusterMetadata
        /// The number of partitions that hold stores, by the claims in the journal; nil if there are none.
        var claimedPartitions: Int?
        /// The last claim of each partition.
        var owners: [JournalOwners.LastClaim] = []
        /// Whether journal and stock are empty: no service has begun yet. And the empty topics, if there is no claim.
        var isNew = false
        var empty: Set<String> = []
        /// Why it is unknown in which partition a store lives: the stock topic was enlarged, or claims differ.
        var split: String?
        /// Prefixes whose topics all exist; looked for if this prefix has none.
        var otherPrefixes: [String] = []

        subscript(topic: String) -> ClusterMetadata.Topic? { metadata[topic] }
    }

    private let names: TopicNames
    private let bootstrapServers: String
    private let capabilities: BrokerCapabilities
    private let duplicateWindow: DuplicateWindow

    /// - Parameters:
    ///   - bootstrapServers: the brokers to name in the commands that fix problems.
    ///   - duplicateWindow: how long answers have to be retained so that they can be restored.
    package init(
        names: TopicNames, bootstrapServers: String, capabilities: BrokerCapabilities = .full,
        duplicateWindow: DuplicateWindow = .standard
    ) {
        (self.names, self.bootstrapServers) = (names, bootstrapServers)
        (self.capabilities, self.duplicateWindow) = (capabilities, duplicateWindow)
    }

    // MARK: - Asking the cluster

    /// Asks the cluster about the topics, and checks its answers.
    ///
    /// - Parameters:
    ///   - reader: sees past undecided transactions, and reads the claims in the journal. Without it, or without the right to read,
    ///     stores are assumed to live in as many partitions as the stock topic has.
    ///   - asked: how many partitions the topics should have; nil if none were asked for.
    ///   - timeout: how long to wait for each answer.
    /// - Throws: `KafkaError` when the cluster does not answer.
    package func findings(
        _ admin: Admin, reader: Consumer?, asked: Int? = nil, timeout: Duration
    ) throws(KafkaError) -> Findings {
        var cluster = try cluster(admin, timeout: timeout)
        if let reader { try lookForStores(reader, timeout: timeout, in: &cluster) }
        return findings(of: cluster, asked: asked)
    }

    /// The topics and, if brokers describe them, their settings.
    private func cluster(_ admin: Admin, timeout: Duration) throws(KafkaError) -> Cluster {
        var metadata = try admin.metadata(topics: names.all, timeout: timeout)
        for error in metadata.topics.compactMap(\.error) where !error.code.isMissing { throw error }
        let described = capabilities.managesTopics ? names.all.filter { metadata[$0] != nil } : []
        metadata.add(settings: try admin.configurations(ofTopics: described, timeout: timeout))
        return Cluster(metadata: metadata)
    }

    /// Faulty settings of existing topics: with them, answers may be lost or given twice. Throws `KafkaError` when the cluster does
    /// not answer, or the right to describe settings is missing.
    func wrongSettings(_ admin: Admin, timeout: Duration) throws(KafkaError) -> [Problem] {
        wrongSettings(of: try cluster(admin, timeout: timeout))
    }

    /// One problem per topic: a fault of another topic must not make it a new problem.
    func wrongSettings(of cluster: Cluster) -> [Problem] {
        (neededSettings(cluster) + [cleanElection]).flatMap { rule in
            rule.topics.flatMap { faults(of: [rule], among: [$0], in: cluster) }
        }
    }

    /// Finds the number of partitions that hold stores, from the claims in the journal or, without any, from the stock. If there
    /// are no topics, looks for other prefixes.
    func lookForStores(_ reader: Consumer, timeout: Duration, in cluster: inout Cluster) throws(KafkaError) {
        do throws(KafkaError) {
            if names.all.allSatisfy({ cluster[$0] == nil }) {
                let all = try reader.metadata(topics: nil, timeout: timeout).topics.map(\.name)
                cluster.otherPrefixes = TopicNames.prefixes(among: all, like: names.prefix)
            }
            if let journal = cluster[names.results] {
                let claims = try reader.claims(in: journal, timeout: timeout)
                (cluster.claimedPartitions, cluster.owners) = (claims.partitions.map(Int.init), claims.owners)
            }
            guard cluster.claimedPartitions == nil else { return }
            let topics = names.all.compactMap { cluster[$0] }
            let logs = try reader.watermarks(of: topics.flatMap(\.places), timeout: timeout)
            cluster.empty = Set(topics.filter { $0.places.allSatisfy { logs[$0]?.isEmpty ?? false } }.map(\.name))
            cluster.isNew = cluster.empty.isSuperset(of: [names.results, names.stock])
            if let stock = cluster[names.stock] { try reader.checkHomes(in: stock, timeout: timeout) }
        } catch {
            if error.code == .invalidPartitions { return cluster.split = error.message }
            guard error.code.isDenial || error.code.isDamage else { throw error }
        }
    }

    func findings(of cluster: Cluster, asked: Int? = nil) -> Findings {
        let problems = problems(of: cluster, asked: asked)
        let retention = cluster[names.results]?.number("retention.ms").map(Timestamp.init) ?? .max
        let inputs = names.inputs.compactMap { cluster[$0] }
        return Findings(
            problems: problems, warnings: problems.isEmpty ? warnings(of: cluster) : [], cluster: cluster,
            storePartitions: Int32(clamping: storePartitions(cluster, asked: asked)),
            noteInterval: max(1_000, min((retention - duplicateWindow.retention) / 4, 24 * 3_600_000)),
            // A transaction takes some seconds, and clocks differ a little.
            oldestForward: inputs.compactMap { $0.setsTimes ? 0 : $0.longestBehind.map { max(0, Timestamp($0) - 60_000) } }.min(),
            times: CommandTimes(
                limitsAhead: inputs.allSatisfy {
                    $0.setsTimes || $0.longestAhead.map { $0 <= Int(CommandTimes.furthestAhead) } ?? false
                },
                limitsBehind: inputs.allSatisfy { $0.setsTimes || $0.longestBehind != nil }))
    }

    private func problems(of cluster: Cluster, asked: Int?) -> [Problem] {
        let needed = storePartitions(cluster, asked: asked)
        let missing = names.all.filter { cluster[$0] == nil }
        guard missing.isEmpty else {
            let most = names.all.compactMap { cluster[$0]?.partitionCount }.max() ?? 4
            let create = createCommand(prefix: names.prefix, partitions: needed > 0 ? needed : most)
            let others = cluster.otherPrefixes
            let fault =
                others.isEmpty
                ? "missing topics: \(missing.joined(separator: ", "))"
                : "no topics have the prefix \(names.prefix), but all have \(others.prefix(3).joined(separator: " or "))"
            return [Problem(fault, fix: (others.first.map { "--topic-prefix \($0), or for new topics: " } ?? "") + create)]
        }
        // Must be fixed before anything else: adding partitions to the other topics would only hide it.
        if let split = cluster.split {
            return [Problem(split, fix: move(partitions: needed, guide: "stock-in-the-wrong-partitions"))]
        }
        return coPartitioned.compactMap { sizeProblem(of: $0, in: cluster, needed: needed, asked: asked) }
            + faults(of: neededSettings(cluster), in: cluster)
    }

    /// What is wrong with a topic's number of partitions; nil if nothing is.
    private func sizeProblem(of name: String, in cluster: Cluster, needed: Int, asked: Int?) -> Problem? {
        guard let count = cluster[name]?.partitionCount else { return nil }
        let fault = "topic \(name) has \(count.counted("partition"))"
        let create = createCommand(prefix: names.prefix, partitions: needed)
        let delete = kafkaCommand("topics", bootstrapServers, "--delete --topic \(name)")
        let enlarge = kafkaCommand("topics", bootstrapServers, "--alter --topic \(name) --partitions \(needed)")
        if cluster.isNew {
            guard count != needed else { return nil }
            return Problem(
                "\(fault), not \(needed): another program may have created it",
                fix: cluster.empty.contains(name)
                    ? "\(delete), which is empty, then \(create)"
                    : count < needed ? enlarge : createCommand(prefix: names.prefix, partitions: count))
        }
        if count < needed {
            // A topic with fewer partitions is not the original one. Adding partitions would not restore its records.
            let isRecord = name == names.stock || name == names.results
            return Problem(
                "\(fault), but stores live in \(needed)" + (isRecord ? ": it was recreated, and what it held is lost" : ""),
                fix: isRecord ? "\(delete), then \(create), then what `juice doctor` says of each partition" : enlarge)
        }
        guard let asked, count < asked else { return nil }
        return Problem(
            "\(fault), not \(asked), and stores live in \(needed) for good", fix: move(partitions: asked, guide: "more-partitions"))
    }

    /// One problem for all topics that share a fault.
    private func faults(of rules: [Rule], among topics: [String]? = nil, in cluster: Cluster) -> [Problem] {
        rules.compactMap { rule in
            let faulty = (topics ?? rule.topics).compactMap { name in cluster[name].flatMap(rule.fault).map { (name, $0) } }
            guard let fault = faulty.first?.1 else { return nil }
            return Problem("\(list("topic", faulty.map(\.0))) with \(fault)", fix: configCommand(faulty.map(\.0), rule.setting))
        }
    }

    private func warnings(of cluster: Cluster) -> [Problem] {
        let needed = storePartitions(cluster)
        let larger = coPartitioned.compactMap { cluster[$0] }.filter { $0.partitionCount > needed }
        let enlarged = larger.map(\.partitionCount).max().map { most in
            Problem(
                "stores live in \(needed.counted("partition")), but"
                    + " \(larger.map { "\($0.name) has \($0.partitionCount)" }.joined(separator: ", ")): commands in the other"
                    + " partitions are forwarded, which takes them some milliseconds, and nothing is answered there",
                fix: move(partitions: most, guide: "more-partitions"))
        }
        // This is normal on a broker for experiments.
        let few = names.all.compactMap { cluster[$0] }.filter { $0.replicationFactor < 3 }
        let unreplicated = few.map(\.replicationFactor).min().map { fewest in
            Problem(
                "\(list("topic", few.map(\.name))) with a replication factor of \(fewest): with fewer than 3, a broker that fails"
                    + " takes orders and stock with it or stops the service",
                fix: kafkaCommand("reassign-partitions", bootstrapServers, "--reassignment-json-file FILE --execute")
                    + ", with three replicas of each partition in FILE")
        }
        guard capabilities.managesTopics else { return [enlarged].compactMap(\.self) }
        return [enlarged, unreplicated].compactMap(\.self) + faults(of: durableSettings + timeSettings, in: cluster)
    }

    /// The number of partitions that hold stores decides where each store lives. So it never changes, even if the inputs or the
    /// stock topic are enlarged. Before any store exists, it is the number asked for, or the largest that a topic has: a topic with
    /// fewer was created by another program.
    private func storePartitions(_ cluster: Cluster, asked: Int? = nil) -> Int {
        if cluster.isNew { return asked ?? coPartitioned.compactMap { cluster[$0]?.partitionCount }.max() ?? 0 }
        return cluster.claimedPartitions ?? cluster[names.stock]?.partitionCount ?? 0
    }

    private var coPartitioned: [String] { [names.orders, names.restocks, names.results, names.stock] }

    // MARK: - Settings

    /// A setting that topics must have.
    private struct Rule {
        let topics: [String]
        let setting: String
        /// What is wrong with a topic's setting; nil if nothing is.
        let fault: (ClusterMetadata.Topic) -> String?

        init(_ topics: [String], _ setting: String, _ fault: @escaping (ClusterMetadata.Topic) -> String?) {
            (self.topics, self.setting, self.fault) = (topics, setting, fault)
        }

        /// Requires a policy for records that are no longer needed.
        init(_ topics: [String], policy: String, _ reason: String) {
            self.init(topics, "cleanup.policy=\(policy)") {
                guard let other = $0.settings.map({ $0["cleanup.policy"] ?? "delete" }), other != policy else { return nil }
                return "cleanup.policy=\(other), \(reason)"
            }
        }

        /// Requires a setting to be at least a number. A missing or negative one means no limit.
        init(
            _ topics: [String], _ name: String, atLeast least: Int, of value: ((ClusterMetadata.Topic) -> Int?)? = nil,
            _ reason: String
        ) {
            self.init(topics, "\(name)=\(least)") { topic in
                let value = if let value { value(topic) } else { topic.number(name) }
                return value.flatMap { $0 < least ? "\(name)=\($0)\(reason)" : nil }
            }
        }
    }

    /// What the service cannot do without.
    private func neededSettings(_ cluster: Cluster) -> [Rule] {
        let window = duplicateWindow.age
        let retention = 2 * window + 300_000
        let size = "max.message.bytes"
        let largest = names.inputs.compactMap { cluster[$0]?.number(size) }.max() ?? 0
        return [
            // Compaction also rejects records without a key.
            Rule(
                [names.orders, names.restocks, names.deadLetters], policy: "delete",
                "which takes all of a store's records but the last"),
            Rule(
                [names.stock], policy: "compact", "but it holds the state of every store and must only be compacted"),
            Rule([names.results], policy: "delete", "which would leave one answer per store"),
            // Repeats of a command are detected by its answer, and position notes must outlast the window, too.
            Rule(
                [names.results], "retention.ms", atLeast: Int(retention),
                ", but repeats of a command are to be known for \(window) ms, which takes \(retention) ms"),
            // A producer fills a batch of small records up to Kafka's default limit.
            Rule(coPartitioned, size, atLeast: TopicPlan.defaultMaxMessageBytes, ", smaller than the batches the service sends"),
            Rule(
                [names.deadLetters], size, atLeast: largest + TopicPlan.deadLetterRoom,
                ", but it must be able to quote a record of \(largest) bytes and say why"),
        ]
    }

    /// Settings that let topics survive the loss of a broker, and stay available without it.
    private var durableSettings: [Rule] {
        [
            Rule(names.all, "min.insync.replicas=2") {
                guard $0.replicationFactor >= 3, let least = $0.number("min.insync.replicas") else { return nil }
                if least < 2 { return "min.insync.replicas=\(least): what one broker alone has confirmed is lost with it" }
                guard least >= $0.replicationFactor else { return nil }
                return "min.insync.replicas=\(least), as many as there are copies: nothing is written while one broker is down"
            },
            cleanElection,
            Rule(
                [names.results], "retention.ms", atLeast: 7 * 86_400_000,
                ", less than a week: while the service is down or a partition is stopped, answers and position notes expire, and the"
                    + " notes are not renewed"),
            // A topic that is only compacted, as the stock is, deletes nothing by size.
            Rule([names.orders, names.restocks, names.results], "retention.bytes=-1") {
                $0.number("retention.bytes").map {
                    "retention.bytes=\($0): under load, commands expire before they are read, and answers before repeats ask for"
                        + " them, however long retention.ms is"
                }
            },
        ]
    }

    private var cleanElection: Rule {
        Rule(names.all, "unclean.leader.election.enable=false") {
            guard $0.replicationFactor > 1, $0.settings?["unclean.leader.election.enable"] == "true" else { return nil }
            return "unclean.leader.election.enable=true: a copy that lacks records may become the leader, and they are lost"
        }
    }

    /// Settings that keep senders' timestamps, and let brokers refuse those of wrong clocks.
    private var timeSettings: [Rule] {
        let (ahead, behind) = (TimeLimit.ahead, TimeLimit.behind)
        let (week, hour) = (Int(CommandTimes.longestUnread), Int(CommandTimes.furthestAhead))
        return [
            Rule(names.inputs, "message.timestamp.type=CreateTime") {
                guard $0.setsTimes else { return nil }
                return "message.timestamp.type=LogAppendTime: repeats count from when brokers took a command, not from when it was"
                    + " sent, and a forwarded command counts from its forwarding"
            },
            // An older timestamp than that counts as now in any case.
            Rule(
                names.inputs, behind, atLeast: week, of: { $0.longestBehind },
                ": brokers refuse commands that come later than that after they were sent, and one that is forwarded later counts"
                    + " from its forwarding"),
            Rule(names.inputs, "\(behind)=\(week)") {
                guard !$0.setsTimes, $0.number(behind) == Int.max, $0.longestBehind == nil else { return nil }
                return "no \(behind): brokers take commands of any age, and where one is from, or this machine's clock, is wrong by"
                    + " more than a week, a repeat may be carried out again"
            },
            Rule(names.inputs, "\(ahead)=\(hour)") {
                guard !$0.setsTimes, $0.number(ahead) != nil, $0.longestAhead.map({ $0 > hour }) ?? true else { return nil }
                return
                    "\(ahead) above \(hour): brokers take commands from the future, so this machine's clock decides which are, and"
                    + " while it is behind, repeats may be carried out again"
            },
            Rule([names.results, names.stock, names.deadLetters], "\(ahead)=\(2 * hour)") {
                guard !$0.setsTimes, $0.number(ahead) != nil, $0.longestAhead != 2 * hour else { return nil }
                return
                    "another \(ahead) than \(2 * hour), by which brokers notice that this machine's clock is wrong, and take"
                    + " answers to commands from senders up to an hour ahead"
            },
        ]
    }

    // MARK: - Texts

    private func configCommand(_ topics: [String], _ setting: String) -> String {
        let name = topics.count == 1 ? topics.joined() : "$topic"
        let command = kafkaCommand(
            "configs", bootstrapServers, "--alter --entity-type topics --entity-name \(name) --add-config \(setting)")
        return topics.count == 1 ? command : "for topic in \(topics.joined(separator: " ")); do \(command); done"
    }

    private func move(partitions: Int, guide: String) -> String {
        createCommand(prefix: "NEW.", partitions: partitions) + " and the move that docs/OPERATIONS.md#\(guide) shows"
    }

    private func createCommand(prefix: String, partitions: Int) -> String {
        TopicNames(prefix: prefix).command("topics create", bootstrapServers) + " --partitions \(partitions)"
    }
}

/// A command of Kafka's own tools.
func kafkaCommand(_ tool: String, _ bootstrapServers: String, _ arguments: String) -> String {
    "kafka-\(tool).sh --bootstrap-server \(bootstrapServers) \(arguments)"
}

extension TopicNames {
    /// The prefixes whose topics are all among these, the most similar to `prefix` first.
    static func prefixes(among topics: [String], like prefix: String) -> [String] {
        let known = Set(topics)
        let complete = topics.compactMap { $0.hasSuffix("orders") ? String($0.dropLast("orders".count)) : nil }
            .filter { known.isSuperset(of: TopicNames(prefix: $0).all) }
        func likeness(_ other: String) -> Int { zip(prefix, other).prefix { $0 == $1 }.count - abs(prefix.count - other.count) }
        return complete.sorted { (-likeness($0), $0) < (-likeness($1), $1) }
    }

    /// A command of `juice` for these topics.
    package func command(_ name: String, _ bootstrapServers: String) -> String {
        "juice \(name) --bootstrap-servers \(bootstrapServers)" + (prefix == Self.standardPrefix ? "" : " --topic-prefix \(prefix)")
    }
}

extension ClusterMetadata.Topic {
    fileprivate var setsTimes: Bool { settings?["message.timestamp.type"] == "LogAppendTime" }
    /// By how many milliseconds a record's time may lie behind a broker's; nil for any. Up to Kafka 3.9 an older setting limits it,
    /// too (KIP-937).
    fileprivate var longestBehind: Int? { limit(TimeLimit.behind) }
    /// The same ahead of it.
    fileprivate var longestAhead: Int? { limit(TimeLimit.ahead) }

    private func limit(_ name: String) -> Int? {
        guard !setsTimes else { return nil }
        return [name, "message.timestamp.difference.max.ms"].lazy.compactMap(number).first { $0 < .max }
    }

    /// The limit that a setting gives; nil if there is none, or brokers do not say.
    func number(_ name: String) -> Int? { settings?[name].flatMap(Int.init).flatMap { $0 < 0 ? nil : $0 } }
}
