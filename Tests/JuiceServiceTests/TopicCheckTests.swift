import JuiceMessages
import Testing

@testable import JuiceService

extension TopicCheck.Description {
    /// Topics without problems.
    static var fit: [String: Self] {
        let names = TopicNames()
        var topics: [String: Self] = [:]
        for name in names.all {
            topics[name] = .init(
                partitionCount: 4, replicationFactor: 3,
                configuration: [
                    "cleanup.policy": "delete", "max.message.bytes": "1048588", "min.insync.replicas": "2",
                    "unclean.leader.election.enable": "false",
                ])
        }
        topics[names.stock]?.configuration?["cleanup.policy"] = "compact"
        topics[names.deadLetters]?.configuration?["max.message.bytes"] = "1114124"
        return topics
    }
}

/// Problems of topics, and the commands that fix them.
@Suite struct TopicCheckTests {
    private let check = TopicCheck(names: TopicNames(), bootstrapServers: "broker:9092")

    private func topics(_ change: (inout [String: TopicCheck.Description]) -> Void = { _ in }) -> [String: TopicCheck.Description] {
        var topics = TopicCheck.Description.fit
        change(&topics)
        return topics
    }

    @Test func topicsAsPlannedAreFit() {
        let fit = TopicCheck.Findings(problems: [], warnings: [], storePartitions: 4, inputPartitions: 4, answerRetention: nil)
        #expect(check.findings(of: topics()) == fit)
    }

    @Test func thePlanPassesTheCheck() {
        let plan = TopicPlan(names: TopicNames(), partitionCount: 4, replicationFactor: 3)
        var described: [String: TopicCheck.Description] = [:]
        for topic in plan.topics {
            let defaults = [
                "cleanup.policy": "delete", "max.message.bytes": "\(TopicPlan.defaultMaxMessageBytes)", "min.insync.replicas": "1",
            ]
            described[topic.name] = .init(
                partitionCount: topic.partitionCount, replicationFactor: 3,
                configuration: defaults.merging(topic.configuration) { _, new in new })
        }
        let findings = check.findings(of: described)
        #expect(findings.problems.isEmpty && findings.warnings.isEmpty)
    }

    @Test func topicsWhoseConfigurationIsNotToldAreFit() {
        let untold = topics { topics in for name in topics.keys { topics[name]?.configuration = nil } }
        let findings = check.findings(of: untold)
        #expect(findings.problems.isEmpty && findings.warnings.isEmpty)
    }

    @Test func missingTopicsAreMendedByCreatingThem() {
        let problems = check.problems(of: topics { $0["juice.stock"] = nil })
        #expect(problems.map(\.fault) == ["missing topics: juice.stock"])
        #expect(problems.map(\.mend) == ["juice topics create --bootstrap-servers broker:9092 --partitions 4"])
    }

    @Test func thePrefixIsPartOfTheMend() {
        let check = TopicCheck(names: TopicNames(prefix: "eu."), bootstrapServers: "broker:9092")
        #expect(
            check.problems(of: [:]).map(\.mend) == [
                "juice topics create --bootstrap-servers broker:9092 --topic-prefix eu. --partitions 4"
            ])
    }

    @Test(arguments: ["juice.orders", "juice.restocks"])
    func tooFewPartitionsAreMendedByAddingSome(name: String) {
        let problems = check.problems(of: topics { $0[name]?.partitionCount = 3 })
        #expect(problems.map(\.mend) == ["kafka-topics.sh --bootstrap-server broker:9092 --alter --topic \(name) --partitions 4"])
    }

    @Test func deadLettersMayHaveAnyPartitionCount() {
        for count in [1, 9] {
            let findings = check.findings(of: topics { $0["juice.dead-letters"]?.partitionCount = count })
            #expect(findings.problems.isEmpty && findings.warnings.isEmpty)
        }
    }

    @Test(arguments: [
        (["juice.orders"], "juice.orders has 8"), (["juice.orders", "juice.restocks"], "juice.orders has 8, juice.restocks has 8"),
        (["juice.results"], "juice.results has 8"),
    ]) func enlargedTopicsAreServedWithAWarning(names: [String], fault: String) {
        let findings = check.findings(of: topics { for name in names { $0[name]?.partitionCount = 8 } })
        #expect(findings.problems.isEmpty && findings.storePartitions == 4)
        #expect(findings.warnings.count == 1)
        #expect(findings.warnings.first?.fault.hasPrefix("stores live in 4 partitions, but \(fault)") == true)
        #expect(
            findings.warnings.first?.mend.hasPrefix(
                "juice topics create --bootstrap-servers broker:9092 --topic-prefix juice2. --partitions 8 ") == true)
    }

    /// The group's metadata decides, not the stock topic.
    @Test func anEnlargedStockTopicMovesNoStore() {
        var check = check
        check.servedPartitions = 4
        let findings = check.findings(
            of: topics { for name in TopicNames().all { $0[name]?.partitionCount = 8 } }
        )
        #expect(findings.problems.isEmpty && findings.storePartitions == 4)
        #expect(findings.warnings.map { $0.fault.contains("juice.stock has 8") } == [true])
    }

    /// If the stock topic decided, every other store would get the menu's initial stock again.
    @Test func anEnlargedStockTopicWithoutANoteIsRefused() {
        var check = check
        check.misplaced = .init(store: "gangnam", partition: 1, home: 5)
        // Adding partitions to the others, too, would only hide the problem.
        let problems = check.problems(of: topics { $0["juice.stock"]?.partitionCount = 8 })
        #expect(problems.count == 1)
        #expect(problems.first?.fault.contains("store gangnam stands in partition 1 of juice.stock") == true)
        #expect(problems.first?.mend.contains(" --topic-prefix juice2. --partitions 8 ") == true)
    }

    /// Adding the missing partitions to the others would split the stores in two.
    @Test func aTopicMadeAnewWithFewerPartitionsGetsThoseItHad() {
        var check = check
        check.servedPartitions = 4
        let problems = check.problems(
            of: topics {
                $0["juice.stock"]?.partitionCount = 8
                $0["juice.orders"]?.partitionCount = 2
            })
        #expect(problems.map { $0.mend.hasSuffix("--topic juice.orders --partitions 4") } == [true])
    }

    @Test(arguments: ["juice.", "juice7.", "eu.juice", "v9"])
    func theMoveIsToThePrefixThatComesNext(prefix: String) {
        let names = TopicNames(prefix: prefix)
        var larger = Dictionary(uniqueKeysWithValues: names.all.map { ($0, TopicCheck.Description(partitionCount: 4)) })
        larger[names.orders]?.partitionCount = 5
        let next = ["juice.": "juice2.", "juice7.": "juice8.", "eu.juice": "eu.juice2", "v9": "v10"][prefix]
        let mend = TopicCheck(names: names, bootstrapServers: "broker:9092").enlargement(larger).first?.mend
        #expect(mend?.contains(" --topic-prefix \(next ?? "") --partitions 5 ") == true)
    }

    @Test(arguments: ["delete", "compact,delete"]) func aStockTopicThatDeletesIsRefused(policy: String) {
        let problems = check.problems(of: topics { $0["juice.stock"]?.configuration?["cleanup.policy"] = policy })
        #expect(problems.count == 1)
        #expect(problems.first?.fault.contains("cleanup.policy=\(policy)") == true)
        #expect(problems.first?.mend.hasSuffix("--add-config cleanup.policy=compact") == true)
    }

    @Test func answersMustBeKeptAsLongAsRepeatsAreKnown() {
        let kept = { (milliseconds: String) in
            check.problems(of: topics { $0["juice.results"]?.configuration?["retention.ms"] = milliseconds })
        }
        #expect(kept("-1").isEmpty && kept("3600000").isEmpty)
        #expect(kept("60000").map(\.mend).map { $0.hasSuffix("--add-config retention.ms=3600000") } == [true])
    }

    @Test func compactedAnswersAreRefused() {
        let problems = check.problems(of: topics { $0["juice.results"]?.configuration?["cleanup.policy"] = "compact" })
        #expect(problems.first?.mend.hasSuffix("--add-config cleanup.policy=delete") == true)
    }

    @Test(arguments: ["juice.orders", "juice.restocks", "juice.results", "juice.stock"])
    func topicsMustTakeWholeBatches(name: String) {
        let problems = check.problems(
            of: topics { $0[name]?.configuration?["max.message.bytes"] = "20000" }
        )
        #expect(problems.count == 1)
        #expect(problems.first?.mend.hasSuffix("--entity-name \(name) --add-config max.message.bytes=1048588") == true)
    }

    @Test func deadLettersMustHoldWhatTheyQuote() {
        let problems = check.problems(of: topics { $0["juice.orders"]?.configuration?["max.message.bytes"] = "5000000" })
        #expect(problems.first?.mend.hasSuffix("--add-config max.message.bytes=5065536") == true)
    }
}

/// Invalid settings are refused before anything is started.
@Suite struct ServiceConfigurationTests {
    private func configuration(_ change: (inout ServiceConfiguration) -> Void) -> ServiceConfiguration {
        var configuration = ServiceConfiguration(bootstrapServers: "broker:9092", instanceID: "one")
        change(&configuration)
        return configuration
    }

    @Test(arguments: ServiceConfiguration.reservedProperties.sorted())
    func whatExactlyOnceRestsOnIsNotForUsersToSet(name: String) {
        #expect(throws: ServiceError.self) {
            try configuration { $0.kafkaProperties[name] = "x" }.validate()
        }
    }

    @Test func otherPropertiesReachEveryClient() throws {
        let configuration = configuration { $0.kafkaProperties = ["security.protocol": "ssl"] }
        try configuration.validate()
        for client in [
            configuration.client, configuration.groupConsumer(worker: 0), configuration.changelogConsumer,
            configuration.logEndConsumer, configuration.producer,
        ] {
            #expect(client["security.protocol"] == "ssl")
            #expect(client["bootstrap.servers"] == "broker:9092")
        }
    }

    @Test func workersHaveNamesOfTheirOwn() {
        let configuration = configuration { _ in }
        #expect(configuration.groupConsumer(worker: 3)["group.instance.id"] == "one-3")
        let ids = [(0, 0), (0, 7), (1, 0)].flatMap { configuration.transactionalIDs(worker: $0, set: $1).prefix(2) }
        #expect(
            ids == [
                "juice-maker/one/0/0/0", "juice-maker/one/0/0/1", "juice-maker/one/0/7/0", "juice-maker/one/0/7/1",
                "juice-maker/one/1/0/0", "juice-maker/one/1/0/1",
            ])
    }

    @Test func noDescriptionShowsASecret() {
        let configuration = configuration { $0.kafkaProperties = ["sasl.password": "s3cret"] }
        var dumped = ""
        dump(configuration, to: &dumped)
        let service = OrderService(configuration: configuration, logger: quietLogger)
        for text in ["\(configuration)", "\(service)", String(reflecting: configuration), dumped] {
            #expect(!text.contains("s3cret"))
        }
    }
}
