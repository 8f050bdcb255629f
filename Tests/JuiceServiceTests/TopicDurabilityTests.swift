import JuiceMessages
import Testing

@testable import JuiceService

/// Topics that would lose records with a broker, or could not be written without one.
@Suite struct TopicDurabilityTests {
    private let check = TopicCheck(names: TopicNames(), bootstrapServers: "broker:9092")

    private func findings(
        of names: [String] = TopicNames().all,
        _ change: (inout TopicCheck.Description) -> Void
    ) -> TopicCheck.Findings {
        var topics = TopicCheck.Description.fit
        for name in names {
            guard var topic = topics[name] else { continue }
            change(&topic)
            topics[name] = topic
        }
        return check.findings(of: topics)
    }

    /// It may well be a broker for experiments.
    @Test func ofTopicsWithFewCopiesThereIsOneLine() {
        let warnings = findings {
            $0.replicationFactor = 1
            $0.configuration?["min.insync.replicas"] = "1"
            $0.configuration?["unclean.leader.election.enable"] = "true"
        }.warnings
        #expect(warnings.count == 1)
        #expect(warnings.first?.fault.contains("a replication factor of 1") == true)
    }

    @Test(arguments: [
        ("min.insync.replicas", "1", "min.insync.replicas=2"), ("min.insync.replicas", "3", "min.insync.replicas=2"),
        ("unclean.leader.election.enable", "true", "unclean.leader.election.enable=false"),
    ]) func whatLosesRecordsOrStopsWritingIsToldOnceForAllTopics(name: String, value: String, mend: String) {
        let warnings = findings { $0.configuration?[name] = value }.warnings
        #expect(warnings.count == 1)
        #expect(warnings.first?.mend.hasPrefix("for topic in juice.orders juice.restocks ") == true)
        #expect(warnings.first?.mend.hasSuffix("--entity-name $topic --add-config \(mend); done") == true)
        let one = findings(of: ["juice.stock"]) { $0.configuration?[name] = value }.warnings
        #expect(one.map { $0.mend.hasSuffix("--entity-name juice.stock --add-config \(mend)") } == [true])
    }

    @Test func replicatedTopicsAreMadeToBeConfirmedByTwoBrokers() {
        for (factor, least) in [(nil, nil), (1, nil), (2, nil), (3, "2"), (5, "2")] as [(Int?, String?)] {
            let plan = TopicPlan(names: TopicNames(), replicationFactor: factor)
            #expect(plan.topics.allSatisfy { $0.configuration["min.insync.replicas"] == least })
        }
    }

    @Test(arguments: ["juice.orders", "juice.restocks", "juice.dead-letters"], ["compact", "compact,delete"])
    func compactedInputsAreRefused(name: String, policy: String) {
        let problems = findings(of: [name]) { $0.configuration?["cleanup.policy"] = policy }.problems
        #expect(problems.map { $0.mend.hasSuffix("--entity-name \(name) --add-config cleanup.policy=delete") } == [true])
    }
}
