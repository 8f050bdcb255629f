import JuiceMessages
import Testing

@testable import JuiceService

extension TopicCheck.Cluster {
    /// Topics without problems.
    fileprivate static var fit: Self {
        let names = TopicNames()
        var cluster = Self(topics: [:])
        for name in names.all {
            cluster[name] = .init(
                partitionCount: 4, replicationFactor: 3,
                configuration: [
                    "cleanup.policy": "delete", "max.message.bytes": "1048588", "min.insync.replicas": "2",
                    "unclean.leader.election.enable": "false",
                ])
        }
        cluster[names.stock]?.configuration?["cleanup.policy"] = "compact"
        cluster[names.deadLetters]?.configuration?["max.message.bytes"] = "1114124"
        return cluster
    }

    /// Changes one setting, for example `retention.ms=60000`.
    fileprivate mutating func set(_ setting: String, of topic: String) {
        let parts = setting.split(separator: "=", maxSplits: 1).map(String.init)
        self[topic]?.configuration?[parts[0]] = parts[1]
    }
}

/// Problems of topics, and the commands that fix them.
@Suite struct TopicCheckTests {
    private let check = TopicCheck(names: TopicNames(), bootstrapServers: "broker:9092")

    /// What the check finds in topics that differ from those without problems.
    private func findings(_ change: (inout TopicCheck.Cluster) -> Void) -> TopicCheck.Findings {
        var cluster = TopicCheck.Cluster.fit
        change(&cluster)
        return check.findings(of: cluster)
    }

    private func problems(_ change: (inout TopicCheck.Cluster) -> Void) -> [TopicCheck.Problem] { findings(change).problems }

    @Test func topicsAsPlannedAreFit() {
        let found = findings { _ in }
        #expect(found.problems.isEmpty && found.warnings.isEmpty)
        #expect(found.partitions == TopicCheck.PartitionCounts(stores: 4, inputs: 4, deadLetters: 4))
        #expect(found.noteInterval == 86_400_000)
    }

    @Test func thePlanPassesTheCheck() {
        let plan = TopicPlan(names: TopicNames(), partitionCount: 4, replicationFactor: 3)
        let found = findings { cluster in
            for topic in plan.topics {
                let defaults = [
                    "cleanup.policy": "delete", "max.message.bytes": "\(TopicPlan.defaultMaxMessageBytes)",
                    "min.insync.replicas": "1",
                ]
                cluster[topic.name]?.configuration = defaults.merging(topic.configuration) { _, new in new }
            }
        }
        #expect(found.problems.isEmpty && found.warnings.isEmpty)
    }

    @Test func topicsWhoseConfigurationIsNotToldAreFit() {
        let found = findings { cluster in for name in cluster.topics.keys { cluster[name]?.configuration = nil } }
        #expect(found.problems.isEmpty && found.warnings.isEmpty)
    }

    @Test func missingTopicsAreMendedByCreatingThem() {
        let problems = problems { $0["juice.stock"] = nil }
        #expect(problems.map(\.fault) == ["missing topics: juice.stock"])
        #expect(problems.map(\.mend) == ["juice topics create --bootstrap-servers broker:9092 --partitions 4"])
    }

    @Test func thePrefixIsPartOfTheMend() {
        let check = TopicCheck(names: TopicNames(prefix: "eu."), bootstrapServers: "broker:9092")
        #expect(
            check.findings(of: .init(topics: [:])).problems.map(\.mend) == [
                "juice topics create --bootstrap-servers broker:9092 --topic-prefix eu. --partitions 4"
            ])
    }

    @Test(arguments: ["juice.orders", "juice.restocks"])
    func tooFewPartitionsAreMendedByAddingSome(name: String) {
        let problems = problems { $0[name]?.partitionCount = 3 }
        #expect(problems.map(\.mend) == ["kafka-topics.sh --bootstrap-server broker:9092 --alter --topic \(name) --partitions 4"])
    }

    @Test func deadLettersMayHaveAnyPartitionCount() {
        for count in [1, 9] {
            let findings = findings { $0["juice.dead-letters"]?.partitionCount = count }
            #expect(findings.problems.isEmpty && findings.warnings.isEmpty)
        }
    }

    @Test(arguments: [
        (["juice.orders"], "juice.orders has 8"), (["juice.orders", "juice.restocks"], "juice.orders has 8, juice.restocks has 8"),
        (["juice.results"], "juice.results has 8"),
    ]) func enlargedTopicsAreServedWithAWarning(names: [String], fault: String) {
        let findings = findings { for name in names { $0[name]?.partitionCount = 8 } }
        #expect(findings.problems.isEmpty && findings.partitions.stores == 4)
        #expect(findings.warnings.count == 1)
        #expect(findings.warnings.first?.fault.hasPrefix("stores live in 4 partitions, but \(fault)") == true)
        #expect(
            findings.warnings.first?.mend.hasPrefix(
                "juice topics create --bootstrap-servers broker:9092 --topic-prefix juice2. --partitions 8 ") == true)
    }

    /// The claims decide, not the stock topic.
    @Test func anEnlargedStockTopicMovesNoStore() {
        let findings = findings {
            $0.claimedPartitions = 4
            for name in TopicNames().all { $0[name]?.partitionCount = 8 }
        }
        #expect(findings.problems.isEmpty && findings.partitions.stores == 4)
        #expect(findings.warnings.map { $0.fault.contains("juice.stock has 8") } == [true])
    }

    /// If the stock topic decided, every other store would get the menu's initial stock again.
    @Test func anEnlargedStockTopicWithoutAClaimIsRefused() {
        let problems = problems {
            $0.misplaced = .init(store: "gangnam", partition: 1, home: 5)
            $0["juice.stock"]?.partitionCount = 8
        }
        // Adding partitions to the others, too, would only hide the problem.
        #expect(problems.count == 1)
        #expect(problems.first?.fault.contains("store gangnam stands in partition 1 of juice.stock") == true)
        #expect(problems.first?.mend.contains(" --topic-prefix juice2. --partitions 8 ") == true)
    }

    /// Adding the missing partitions to the others would split the stores in two.
    @Test func aTopicMadeAnewWithFewerPartitionsGetsThoseItHad() {
        let problems = problems {
            $0.claimedPartitions = 4
            $0["juice.stock"]?.partitionCount = 8
            $0["juice.orders"]?.partitionCount = 2
        }
        #expect(problems.map { $0.mend.hasSuffix("--topic juice.orders --partitions 4") } == [true])
    }

    @Test(arguments: ["juice.", "juice7.", "eu.juice", "v9"])
    func theMoveIsToThePrefixThatComesNext(prefix: String) {
        let names = TopicNames(prefix: prefix)
        var larger = TopicCheck.Cluster(
            topics: Dictionary(uniqueKeysWithValues: names.all.map { ($0, TopicCheck.Description(partitionCount: 4)) }))
        larger[names.orders]?.partitionCount = 5
        let next = ["juice.": "juice2.", "juice7.": "juice8.", "eu.juice": "eu.juice2", "v9": "v10"][prefix]
        let check = TopicCheck(names: names, bootstrapServers: "broker:9092", capabilities: .embedded)
        let mend = check.findings(of: larger).warnings.first?.mend
        #expect(mend?.contains(" --topic-prefix \(next ?? "") --partitions 5 ") == true)
    }

    @Test(arguments: [
        ("juice.stock", "cleanup.policy=delete", "cleanup.policy=compact"),
        ("juice.stock", "cleanup.policy=compact,delete", "cleanup.policy=compact"),
        ("juice.results", "cleanup.policy=compact", "cleanup.policy=delete"),
        ("juice.orders", "cleanup.policy=compact", "cleanup.policy=delete"),
        ("juice.restocks", "cleanup.policy=compact,delete", "cleanup.policy=delete"),
        ("juice.dead-letters", "cleanup.policy=compact", "cleanup.policy=delete"),
        // Answers must be kept as long as repeats are known.
        ("juice.results", "retention.ms=60000", "retention.ms=3600000"),
        // Topics must take whole batches, and dead letters hold what they quote.
        ("juice.orders", "max.message.bytes=20000", "max.message.bytes=1048588"),
        ("juice.restocks", "max.message.bytes=20000", "max.message.bytes=1048588"),
        ("juice.results", "max.message.bytes=20000", "max.message.bytes=1048588"),
        ("juice.stock", "max.message.bytes=20000", "max.message.bytes=1048588"),
        ("juice.dead-letters", "max.message.bytes=1048588", "max.message.bytes=1114124"),
    ]) func anUnfitSettingIsRefused(topic: String, setting: String, mend: String) {
        let problems = problems { $0.set(setting, of: topic) }
        #expect(problems.count == 1)
        #expect(problems.first?.fault.hasPrefix("topic \(topic) ") == true)
        #expect(problems.first?.mend.hasSuffix("--entity-name \(topic) --add-config \(mend)") == true)
    }

    @Test(arguments: ["retention.ms=-1", "retention.ms=3600000"]) func answersThatAreKeptLongEnoughAreFit(setting: String) {
        #expect(problems { $0.set(setting, of: "juice.results") }.isEmpty)
    }

    // MARK: - Durability

    /// It may well be a broker for experiments.
    @Test func ofTopicsWithFewCopiesThereIsOneLine() {
        let warnings = findings {
            for name in TopicNames().all {
                $0[name]?.replicationFactor = 1
                $0.set("min.insync.replicas=1", of: name)
                $0.set("unclean.leader.election.enable=true", of: name)
            }
        }.warnings
        #expect(warnings.count == 1)
        #expect(warnings.first?.fault.contains("a replication factor of 1") == true)
    }

    @Test(arguments: [
        ("min.insync.replicas=1", "min.insync.replicas=2"), ("min.insync.replicas=3", "min.insync.replicas=2"),
        ("unclean.leader.election.enable=true", "unclean.leader.election.enable=false"),
    ]) func whatLosesRecordsOrStopsWritingIsToldOnceForAllTopics(setting: String, mend: String) {
        let warnings = findings { for name in TopicNames().all { $0.set(setting, of: name) } }.warnings
        #expect(warnings.count == 1)
        #expect(warnings.first?.mend.hasPrefix("for topic in juice.orders juice.restocks ") == true)
        #expect(warnings.first?.mend.hasSuffix("--entity-name $topic --add-config \(mend); done") == true)
        let one = findings { $0.set(setting, of: "juice.stock") }.warnings
        #expect(one.map { $0.mend.hasSuffix("--entity-name juice.stock --add-config \(mend)") } == [true])
    }

    @Test func replicatedTopicsAreMadeToBeConfirmedByTwoBrokers() {
        for (factor, least) in [(nil, nil), (1, nil), (2, nil), (3, "2"), (5, "2")] as [(Int?, String?)] {
            let plan = TopicPlan(names: TopicNames(), replicationFactor: factor)
            #expect(plan.topics.allSatisfy { $0.configuration["min.insync.replicas"] == least })
        }
    }
}
