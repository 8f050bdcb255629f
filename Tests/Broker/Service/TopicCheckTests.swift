import JuiceEngine
import JuiceMessages
import TestSupport
import Testing

@testable import JuiceService
@testable import Kafka

extension ClusterMetadata.Topic {
    /// A topic with these numbers of partitions and copies.
    fileprivate init(_ name: String, partitions: Int, copies: Int, settings: [String: String]? = nil) {
        self.init(name: name)
        (self.partitions, self.settings) = (Self.partitions(partitions, copies: copies), settings)
    }

    fileprivate static func partitions(_ count: Int, copies: Int = 3) -> [ClusterMetadata.Partition] {
        let brokers = Array(0..<Int32(copies))
        return (0..<Int32(count)).map { .init(number: $0, leader: 0, replicas: brokers, inSyncReplicas: brokers) }
    }
}

extension TopicCheck.Cluster {
    /// Topics without problems.
    fileprivate static var fit: Self {
        let settings = [
            "cleanup.policy": "delete", "max.message.bytes": "1048588", "min.insync.replicas": "2",
            "unclean.leader.election.enable": "false",
        ]
        let names = TopicNames()
        var cluster = Self(
            metadata: ClusterMetadata(
                topics: names.all.map { ClusterMetadata.Topic($0, partitions: 4, copies: 3, settings: settings) }))
        cluster.set("cleanup.policy=compact", of: names.stock)
        cluster.set("max.message.bytes=1114124", of: names.deadLetters)
        return cluster
    }

    /// Changes topics: those of these names, or all.
    fileprivate mutating func change(_ names: [String]? = nil, _ change: (inout ClusterMetadata.Topic) -> Void) {
        for index in metadata.topics.indices where names?.contains(metadata.topics[index].name) ?? true {
            change(&metadata.topics[index])
        }
    }

    /// Changes one setting, for example `retention.ms=60000`, of one topic or all.
    fileprivate mutating func set(_ setting: String, of topic: String? = nil) {
        let parts = setting.split(separator: "=", maxSplits: 1).map(String.init)
        change(topic.map { [$0] }) { $0.settings?[parts[0]] = parts[1] }
    }

    /// No service has run yet, and a topic has another number of partitions than the others.
    fileprivate mutating func begin(with topic: String, of count: Int) {
        (isNew, empty) = (true, Set(TopicNames().all))
        resize([topic], to: count)
    }

    fileprivate mutating func resize(_ topics: [String]? = nil, to count: Int = 8) {
        change(topics) { $0.partitions = ClusterMetadata.Topic.partitions(count) }
    }
}

/// Problems of topics, and the commands that fix them.
@Suite struct TopicCheckTests {
    typealias Change = @Sendable (inout TopicCheck.Cluster) -> Void

    /// A change to topics without problems, how the resulting fault begins, and how its fix begins or ends.
    struct Case: CustomTestStringConvertible {
        let fault, fix: String
        let change: Change

        init(_ fault: String, _ fix: String, _ change: @escaping Change) {
            (self.fault, self.fix, self.change) = (fault, fix, change)
        }

        var testDescription: String { fault }

        func expect(_ found: [TopicCheck.Problem]) {
            #expect(found.count == 1)
            #expect(found.first?.fault.hasPrefix(fault) == true, "\(found)")
            let isFixed = found.first.map { $0.fix.hasPrefix(fix) || $0.fix.hasSuffix(fix) }
            #expect(isFixed == true, "\(found)")
        }
    }

    private func findings(_ change: Change) -> TopicCheck.Findings {
        var cluster = TopicCheck.Cluster.fit
        change(&cluster)
        return TopicCheck(names: TopicNames(), bootstrapServers: "broker:9092").findings(of: cluster)
    }

    private static let fit: KeyValuePairs<String, Change> = [
        "as planned": { _ in },
        "newly created": { cluster in
            for topic in TopicPlan(names: TopicNames(), partitionCount: 4, replicationFactor: 3).topics {
                let defaults = [
                    "cleanup.policy": "delete", "max.message.bytes": "\(TopicPlan.defaultMaxMessageBytes)",
                    "min.insync.replicas": "1",
                ]
                let configuration = topic.configuration.merging(topic.optional) { $1 }
                cluster.change([topic.name]) { $0.settings = defaults.merging(configuration) { $1 } }
            }
        },
        "not described": { $0.change { $0.settings = nil } },
        "fewer dead-letter partitions": { $0.resize(["juice.dead-letters"], to: 1) },
        "more dead-letter partitions": { $0.resize(["juice.dead-letters"], to: 9) },
        "times limited as in old brokers": { $0.set("message.timestamp.difference.max.ms=604800000") },
        "times of a week": { $0.set("message.timestamp.before.max.ms=604800000", of: "juice.orders") },
        "answers and stock timed by brokers": {
            for name in ["juice.results", "juice.stock"] { $0.set("message.timestamp.type=LogAppendTime", of: name) }
        },
        "of any size": { $0.set("retention.bytes=-1") },
        // A topic that is only compacted deletes nothing by size.
        "stock of a limited size": { $0.set("retention.bytes=1048576", of: "juice.stock") },
        "answers kept for ever": { $0.set("retention.ms=-1", of: "juice.results") },
        "answers kept for a week": { $0.set("retention.ms=604800000", of: "juice.results") },
    ]

    @Test(arguments: fit) func acceptsSuitableTopics(name: String, change: Change) {
        let found = findings(change)
        #expect(found.problems.isEmpty && found.warnings.isEmpty)
        #expect(found.storePartitions == 4)
        #expect(found.noteInterval == 86_400_000)
    }

    /// When a note expires, the next one must have been there for longer than the window.
    @Test func notesAreWrittenInTimeWhereAnswersExpireSoon() {
        let found = findings { $0.set("retention.ms=7500000", of: "juice.results") }
        #expect(found.problems.isEmpty)
        #expect(found.noteInterval == 900_000)
        Case("topic juice.results with retention.ms=7500000, less than a week", "--add-config retention.ms=604800000") { _ in }
            .expect(found.warnings)
        #expect(findings { $0.set("retention.ms=1", of: "juice.results") }.noteInterval == 1_000)
    }

    /// A wrong setting is logged once, and once more when it is right again.
    @Test func settingsAreWatched() {
        let check = TopicCheck(names: TopicNames(), bootstrapServers: "broker:9092")
        let recorder = LogRecorder()
        var watch = FaultLog(logger: recorder.makeLogger(level: .notice), level: .critical)
        func lines(_ changes: [(String, String)]) -> [String] {
            var cluster = TopicCheck.Cluster.fit
            // A topic with added partitions is as fit as before.
            cluster.resize(["juice.stock"])
            for (topic, setting) in changes { cluster.set(setting, of: topic) }
            let before = recorder.all.count
            watch.found(check.wrongSettings(of: cluster))
            return Array(recorder.all.dropFirst(before))
        }
        let compacted = ("juice.results", "cleanup.policy=compact")
        #expect(lines([]).isEmpty)
        let logged = lines([compacted])
        #expect(logged.count == 1)
        #expect(logged.first?.hasPrefix("critical topic juice.results with cleanup.policy=compact") == true, "\(logged)")
        #expect(lines([compacted]).isEmpty)
        #expect(lines([compacted, ("juice.orders", "unclean.leader.election.enable=true")]).count == 1)
        let right = lines([("juice.orders", "unclean.leader.election.enable=true")])
        #expect(right.count == 1)
        #expect(right.first?.hasPrefix("notice no longer: topic juice.results with") == true, "\(right)")
    }

    // MARK: - Problems

    private static let problems: [Case] = [
        Case("missing topics: juice.stock", "juice topics create --bootstrap-servers broker:9092 --partitions 4") {
            $0.metadata.topics.removeAll { $0.name == "juice.stock" }
        },
        // The partition counts of Kafka's own topics and of enlarged inputs do not matter.
        Case("missing topics: juice.results", "juice topics create --bootstrap-servers broker:9092 --partitions 4") {
            $0.metadata.topics.removeAll { $0.name == "juice.results" }
            $0.metadata.topics.append(ClusterMetadata.Topic("__consumer_offsets", partitions: 50, copies: 3))
            $0.resize(["juice.orders"])
        },
        Case(
            "no topics have the prefix juice., but all have walk. or w2.", "--topic-prefix walk., or for new topics: juice topics "
        ) {
            ($0.metadata, $0.otherPrefixes) = (ClusterMetadata(), ["walk.", "w2."])
        },
        Case(
            "topic juice.orders has 3", "kafka-topics.sh --bootstrap-server broker:9092 --alter --topic juice.orders --partitions 4"
        ) {
            $0.resize(["juice.orders"], to: 3)
        },
        // If the stock topic decided, every other store would get the menu's initial stock again. Adding partitions to the others,
        // too, would only hide the problem.
        Case("store gangnam is in juice.stock [1]", "docs/OPERATIONS.md#stock-in-the-wrong-partitions shows") {
            $0.split = "store gangnam is in juice.stock [1], but of 8 partitions it belongs to 5"
            $0.resize(["juice.stock"])
        },
        // A monitor created the topic first, and nothing is in it.
        Case(
            "topic juice.stock has 1 partition, not 4",
            "--delete --topic juice.stock, which is empty, then juice topics create "
                + "--bootstrap-servers broker:9092 --partitions 4"
        ) {
            $0.begin(with: "juice.stock", of: 1)
        },
        Case("topic juice.orders has 1 partition, not 4", "--alter --topic juice.orders --partitions 4") {
            $0.begin(with: "juice.orders", of: 1)
            $0.empty.remove("juice.orders")
        },
        // Enlarging the others to the stock topic's 8 partitions would split the stores in two.
        Case("topic juice.orders has 2", "--topic juice.orders --partitions 4") {
            $0.claimedPartitions = 4
            $0.resize(["juice.stock"])
            $0.resize(["juice.orders"], to: 2)
        },
    ]

    /// What `juice topics create --partitions` says about existing topics.
    @Test(
        arguments: [
            (4, true, 4, nil), (4, false, 4, nil), (nil, true, 8, nil), (4, false, 8, nil),
            (4, true, 8, "topic juice.orders has 8 partitions, not 4: another program"),
            (8, false, 4, "topic juice.orders has 4 partitions, not 8, and stores live in 4 for good"),
        ] as [(Int?, Bool, Int, String?)])
    func topicsHaveAsManyPartitionsAsAskedFor(asked: Int?, isNew: Bool, count: Int, fault: String?) {
        var cluster = TopicCheck.Cluster.fit
        (cluster.isNew, cluster.claimedPartitions) = (isNew, isNew ? nil : 4)
        cluster.resize(to: count)
        let found = TopicCheck(names: TopicNames(), bootstrapServers: "broker:9092").findings(of: cluster, asked: asked)
        #expect(found.problems.first?.fault.hasPrefix(fault ?? "-") ?? (fault == nil), "\(found.problems)")
    }

    /// A wrong setting of one topic or all, and the right one.
    private static func wrong(_ setting: String, of topic: String? = nil, fix: String) -> Case {
        guard let topic else {
            return Case("topics juice.orders, juice.restocks, ", "--entity-name $topic --add-config \(fix); done") {
                $0.set(setting)
            }
        }
        return Case("topic \(topic) with ", "--entity-name \(topic) --add-config \(fix)") { $0.set(setting, of: topic) }
    }

    private static let neededSettings = [
        wrong("cleanup.policy=delete", of: "juice.stock", fix: "cleanup.policy=compact"),
        wrong("cleanup.policy=compact,delete", of: "juice.stock", fix: "cleanup.policy=compact"),
        wrong("cleanup.policy=compact", of: "juice.results", fix: "cleanup.policy=delete"),
        wrong("cleanup.policy=compact", of: "juice.orders", fix: "cleanup.policy=delete"),
        wrong("cleanup.policy=compact,delete", of: "juice.restocks", fix: "cleanup.policy=delete"),
        wrong("cleanup.policy=compact", of: "juice.dead-letters", fix: "cleanup.policy=delete"),
        // Answers must be kept as long as repeats are known.
        wrong("retention.ms=7499999", of: "juice.results", fix: "retention.ms=7500000"),
        // Topics must accept whole batches, and dead letters also the records that they quote.
        wrong("max.message.bytes=20000", of: "juice.orders", fix: "max.message.bytes=1048588"),
        wrong("max.message.bytes=20000", of: "juice.stock", fix: "max.message.bytes=1048588"),
        wrong("max.message.bytes=1048588", of: "juice.dead-letters", fix: "max.message.bytes=1114124"),
    ]

    @Test(arguments: problems + neededSettings) func aProblemComesWithTheCommandThatFixesIt(case: Case) {
        let found = findings(`case`.change)
        `case`.expect(found.problems)
        #expect(found.warnings.isEmpty)
    }

    // MARK: - Warnings

    private static let move = "juice topics create --bootstrap-servers broker:9092 --topic-prefix NEW. --partitions 8 "

    private static let warnings: [Case] = [
        Case("stores live in 4 partitions, but juice.orders has 8", move) { $0.resize(["juice.orders"]) },
        // The claims decide, not the stock topic: enlarging it moves no store.
        Case(
            "stores live in 4 partitions, but juice.orders has 8, juice.restocks has 8, juice.results has 8, juice.stock has 8",
            move
        ) {
            $0.claimedPartitions = 4
            $0.resize()
        },
        // It may well be a broker for experiments: one line.
        Case(
            "topics juice.orders, juice.restocks, juice.results, juice.stock, juice.dead-letters with a replication factor of 1",
            "kafka-reassign-partitions.sh --bootstrap-server broker:9092 --reassignment-json-file FILE --execute"
        ) {
            $0.change { $0.partitions = ClusterMetadata.Topic.partitions(4, copies: 1) }
            $0.set("min.insync.replicas=1")
            $0.set("unclean.leader.election.enable=true")
        },
    ]

    private static let wantedSettings = [
        wrong("min.insync.replicas=1", fix: "min.insync.replicas=2"),
        wrong("min.insync.replicas=3", fix: "min.insync.replicas=2"),
        wrong("unclean.leader.election.enable=true", fix: "unclean.leader.election.enable=false"),
        wrong("message.timestamp.type=LogAppendTime", of: "juice.orders", fix: "message.timestamp.type=CreateTime"),
        wrong("message.timestamp.before.max.ms=60000", of: "juice.restocks", fix: "message.timestamp.before.max.ms=604800000"),
        // Kafka 3.9 takes any time by default. Kafka 4 takes any that is less than an hour ahead.
        wrong("message.timestamp.before.max.ms=\(Int.max)", of: "juice.restocks", fix: "message.timestamp.before.max.ms=604800000"),
        wrong("message.timestamp.after.max.ms=\(Int.max)", of: "juice.orders", fix: "message.timestamp.after.max.ms=3600000"),
        wrong("message.timestamp.after.max.ms=\(Int.max)", of: "juice.results", fix: "message.timestamp.after.max.ms=7200000"),
        wrong("message.timestamp.after.max.ms=3600000", of: "juice.dead-letters", fix: "message.timestamp.after.max.ms=7200000"),
        wrong("retention.bytes=1048576", of: "juice.orders", fix: "retention.bytes=-1"),
        wrong("retention.bytes=1048576", of: "juice.restocks", fix: "retention.bytes=-1"),
        wrong("retention.bytes=1048576", of: "juice.results", fix: "retention.bytes=-1"),
    ]

    /// The age up to which a forwarded command keeps its time: a minute less than the topic accepts.
    @Test(
        arguments: [
            ("message.timestamp.before.max.ms=3600000", 3_540_000), ("message.timestamp.difference.max.ms=3600000", 3_540_000),
            ("message.timestamp.before.max.ms=1000", 0), ("message.timestamp.type=LogAppendTime", 0),
            ("message.timestamp.after.max.ms=1000", nil),
        ] as [(String, Timestamp?)]) func aForwardedCommandKeepsItsTimeIfTheTopicTakesIt(setting: String, oldest: Timestamp?)
    {
        #expect(findings { $0.set(setting, of: "juice.restocks") }.oldestForward == oldest)
    }

    /// Whose clock decides when a command was sent.
    @Test(
        arguments: [
            (nil, CommandTimes()), ("type=LogAppendTime", CommandTimes(limitsAhead: true, limitsBehind: true)),
            ("after.max.ms=3600000", CommandTimes(limitsAhead: true)), ("after.max.ms=86400000", CommandTimes()),
            ("before.max.ms=604800000", CommandTimes(limitsBehind: true)),
            ("difference.max.ms=604800000", CommandTimes(limitsBehind: true)),
            ("difference.max.ms=3600000", CommandTimes(limitsAhead: true, limitsBehind: true)),
        ] as [(String?, CommandTimes)]) func timesAreBelievedWhereBothInputsLimitThem(setting: String?, times: CommandTimes)
    {
        func found(_ topics: [String]) -> CommandTimes {
            findings { cluster in
                for topic in topics { if let setting { cluster.set("message.timestamp.\(setting)", of: topic) } }
            }.times
        }
        #expect(found(["juice.orders", "juice.restocks"]) == times)
        #expect(found(["juice.orders"]) == CommandTimes())
    }

    @Test(arguments: warnings + wantedSettings) func theServiceStartsWithAWarning(case: Case) {
        let found = findings(`case`.change)
        `case`.expect(found.warnings)
        #expect(found.problems.isEmpty && found.storePartitions == 4)
    }

    // MARK: - Prefixes

    @Test func findsPrefixesOfCompleteTopicSets() {
        let topics = ["walk.", "", "b."].flatMap { TopicNames(prefix: $0).all } + ["half.orders", "half.stock", "orders2"]
        #expect(TopicNames.prefixes(among: topics, like: "wolk.") == ["walk.", "b.", ""])
    }

    @Test func thePrefixIsPartOfTheFix() {
        let check = TopicCheck(names: TopicNames(prefix: "eu."), bootstrapServers: "broker:9092")
        let fixes = check.findings(of: .init(metadata: ClusterMetadata())).problems.map(\.fix)
        #expect(fixes == ["juice topics create --bootstrap-servers broker:9092 --topic-prefix eu. --partitions 4"])
    }

    @Test(arguments: [(nil, nil), (1, nil), (2, nil), (3, "2"), (5, "2")] as [(Int?, String?)])
    func replicatedTopicsAreMadeToBeConfirmedByTwoBrokers(factor: Int?, least: String?) {
        let plan = TopicPlan(names: TopicNames(), replicationFactor: factor)
        #expect(plan.topics.allSatisfy { $0.configuration["min.insync.replicas"] == least })
    }
}
