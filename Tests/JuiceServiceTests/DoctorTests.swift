import JuiceEngine
import JuiceMessages
import Kafka
import Testing

@testable import JuiceService

/// What follows from what was seen.
@Suite struct DoctorTests {
    typealias Change = @Sendable (inout Observations) -> Void

    private static let configuration = ServiceConfiguration(bootstrapServers: "kafka:9092", instanceID: "doctor")
    private static let now: Timestamp = 1_800_000_000_000

    /// Three brokers, and two instances that have answered everything.
    private static var healthy: Observations {
        var seen = Observations(time: now)
        seen.brokers = (Int32(1)...3).map { .init(id: $0, address: "kafka\($0):9092", version: "3.9-IV0") }
        let copies = (Int32(0)..<2).map {
            ClusterMetadata.Partition(number: $0, leader: $0 + 1, replicas: [1, 2, 3], inSyncReplicas: [1, 2, 3])
        }
        seen.topics = configuration.topics.all.map {
            .init(name: $0, partitions: copies, settings: ["min.insync.replicas": "2"])
        }
        seen.watched = 2_000
        seen.group = group(members: ["shop-1-0": 0, "shop-2-0": 1])
        seen.partitions = (Int32(0)..<2).map { number in
            let inputs = InputTopic.allCases.map { topic in
                var input = Observations.Input(input: InputPartition(topic: topic, partition: number))
                (input.next, input.published, input.log, input.decidedEnd) = (10, 10, 0..<10, 10)
                input.lastHandled = (9, now - 60_000, now - 59_900)
                input.progress = (10, 0, 0)
                return input
            }
            return .init(number: number, owner: ("juice-maker", "shop-\(number + 1)"), inputs: inputs)
        }
        seen.stamps = [stamp(.orders, -60_000), stamp(.results, -59_900)]
        return seen
    }

    private static func group(members: [String: Int32], state: String = "Stable") -> ConsumerGroup {
        ConsumerGroup(
            state: state, isStable: state == "Stable", coordinator: 1,
            members: members.map { name, partition in
                .init(
                    clientID: "juice", instanceID: name, host: "/10.0.0.1",
                    partitions: [TopicPartition(topic: "juice.orders", partition: partition)])
            })
    }

    private static func stamp(_ topic: Topic, _ age: Timestamp, isNew: Bool = false) -> Observations.Stamp {
        .init(
            place: TopicPartition(topic: configuration.topics[topic], partition: 0), clock: "somebody's", offset: 9, at: now + age,
            written: isNew ? now - 2_000...now : nil)
    }

    /// What is seen otherwise, and the findings: how bad each is and how it begins.
    struct Case: CustomTestStringConvertible {
        let testDescription: String
        let expected: [(Int32, String)]
        let change: Change

        init(_ name: String, _ expected: [(Int32, String)] = [], _ change: @escaping Change) {
            (testDescription, self.expected, self.change) = (name, expected, change)
        }
    }

    static let cases: [Case] = [
        Case("healthy") { _ in },
        Case("an embedded broker, which knows no groups") { $0.group = nil },
        Case("no broker", [(69, "no Kafka broker answers at kafka:9092")]) { seen in
            seen.outage = "no Kafka broker answers at kafka:9092"
            seen.group = group(members: [:], state: "Dead")
        },
        // MARK: Brokers
        Case("a lost broker", [(1, "broker 3 is gone")]) { seen in
            seen.brokers.removeLast()
            seen.setCopies(leader: 1, inSync: [1, 2])
        },
        Case("two lost brokers", [(69, "fewer in-sync replicas than min.insync.replicas"), (1, "brokers 2, 3 are gone")]) { seen in
            seen.brokers.removeLast(2)
            seen.setCopies(leader: 1, inSync: [1])
        },
        Case("no leader", [(69, "no leader"), (1, "broker 3 is gone")]) { seen in
            seen.brokers.removeLast()
            seen.setCopies(leader: nil, inSync: [3])
            for index in seen.partitions.indices {
                seen.partitions[index].isServed = false
                seen.partitions[index].fault = PartitionFault(.leader(topic: "juice.orders"), "juice.orders [0] has no leader")
            }
        },
        Case("a broker that leads nothing does not answer", [(1, "broker 3 at kafka3:9092 does not answer this machine (hung)")]) {
            $0.brokers[2].silence = "hung"
        },
        Case("a leader does not answer", [(69, "broker 1 at kafka1:9092 does not answer this machine (hung); nothing is read")]) {
            $0.brokers[0].silence = "hung"
        },
        Case("a copy that lags behind", [(1, "copies that are not in sync: juice.orders [0], ")]) {
            $0.setCopies(leader: 1, inSync: [1, 2])
        },
        // MARK: Topics
        Case("topics", [(78, "missing topics: juice.restocks")]) { seen in
            seen.topicCheck = Self.check(missing: "juice.restocks")
        },
        Case("what could be better", [(0, "topics juice.orders, ")]) { seen in seen.topicCheck = Self.check(replicationFactor: 1) },
        // MARK: Group and owners
        Case("no instance", [(1, "nobody is in the group \"juice-maker\", so no command is answered; up to 5 wait")]) { seen in
            seen.group = group(members: [:], state: "Empty")
            seen.setWaiting(5, since: now - 3_600_000)
        },
        Case("a rebalance", [(1, "the group \"juice-maker\" is sharing out its partitions (PreparingRebalance)")]) {
            $0.group = group(members: ["shop-1-0": 0], state: "PreparingRebalance")
        },
        Case("nobody reads a partition", [(1, "partition 1 is assigned to nobody")]) {
            $0.group = group(members: ["shop-1-0": 0])
        },
        Case("a takeover that does not succeed", [(1, "shop-3 has been assigned partition 1, but has not taken it over")]) {
            $0.group = group(members: ["shop-1-0": 0, "shop-3-1": 1])
        },
        Case("another group", [(78, "partitions 0, 1 were claimed last by the group \"test\" (instance laptop)")]) { seen in
            for index in seen.partitions.indices { seen.partitions[index].owner = ("test", "laptop") }
        },
        Case("a stopped partition, and what waits there", [(78, "partition 0 is stopped: orders [0]: it was made anew")]) { seen in
            let anchor = InputPosition(topic: .orders, partition: 0, offset: 3)
            seen.partitions[0].fault = PartitionFault(
                .input(InputPartition(topic: .orders, partition: 0)), "orders [0]: it was made anew", anchors: [anchor])
            seen.setWaiting(5, since: now - 3_600_000)
            seen.partitions[0].inputs[0].lastHandled?.sentAt = now + 3_600_000
        },
        // MARK: Commands that wait
        Case("a command that came just now") { $0.setWaiting(1, since: now - 1_000) },
        Case("a stuck command", [(1, "a command waits in juice.orders [0] for 11 s, and none was answered in the 2 s that")]) {
            $0.setWaiting(1, since: now - 11_000)
        },
        Case("a stuck command from the future", [(1, "a command waits in juice.orders [0] for 0 s")]) {
            $0.setWaiting(1, since: now + 30_000)
        },
        Case("an old command that came while it looked") { seen in
            seen.setWaiting(1, since: now - 3_600_000)
            seen.partitions[0].inputs[0].progress?.formerEnd = 9
        },
        Case("a backlog that shrinks") { $0.setWaiting(50_000, since: now - 60_000, handled: 5_000, growth: -1) },
        Case("a backlog that takes less than half a minute") {
            $0.setWaiting(50_000, since: now - 9_000, handled: 5_000, growth: 9)
        },
        Case("a backlog that grows", [(1, "up to 90000 commands wait in juice.orders [0], the first for 60 s, and more come")]) {
            $0.setWaiting(90_000, since: now - 60_000, handled: 5_000, growth: 9)
        },
        Case("somebody's open transaction", [(1, "another program's transaction is open in juice.orders [0] from offset 10 on")]) {
            $0.partitions[0].inputs[0].log = 0..<12
        },
        // MARK: Clocks
        Case("a sender's clock ahead", [(1, "the command in juice.orders [0] at offset 9 is stamped 59 min after its answer")]) {
            $0.partitions[0].inputs[0].lastHandled?.sentAt = now + 3_500_000
            $0.stamps = [stamp(.orders, 3_500_000)]
        },
        Case("a sender's clock behind", [(1, "the command in juice.orders [0] at offset 9 is stamped 23 h before its answer")]) {
            $0.partitions[0].inputs[0].lastHandled?.sentAt = now - 86_300_000
        },
        Case(
            "the service's clock a day behind",
            [(1, "the command in juice.orders [0] at offset 9 is stamped 23 h after its answer")]
        ) {
            $0.partitions[0].inputs[0].lastHandled?.answeredAt = now - 86_400_000
        },
        Case("an answer after an outage long ago") {
            $0.partitions[0].inputs[0].lastHandled = (9, now - 86_300_000, now - 3_600_000)
        },
        Case("the service's clock ahead", [(1, "the record in juice.results [0] at offset 9 is stamped 2 h in the future of this")])
        {
            $0.stamps = [stamp(.results, 7_200_000)]
        },
        Case("the service's clock behind", [(1, "the record in juice.results [0] at offset 9 was written just now, but is")]) {
            $0.stamps = [stamp(.results, -7_200_000, isNew: true)]
        },
        // MARK: What is not known
        Case("no right to describe the group", [(1, "the group: not known: denied")]) { seen in
            seen.group = nil
            seen.failures = [.init(part: "the group", reason: "denied", isDenial: true)]
        },
        Case("too little time", [(1, "stock and answers are not checked to the end: stock [1]")]) { $0.unread = "stock [1]" },
        Case(
            "the worst comes first", [(78, "missing topics"), (69, "broker 1"), (1, "nobody is in"), (1, "the clocks: not known")]
        ) {
            seen in
            seen.failures = [.init(part: "the clocks", reason: "no answer")]
            seen.group = group(members: [:], state: "Empty")
            seen.brokers[0].silence = "hung"
            seen.topicCheck = Self.check(missing: "juice.orders")
        },
    ]

    @Test(arguments: cases) func whatWasSeenIsJudged(case: Case) {
        var seen = Self.healthy
        `case`.change(&seen)
        let found = seen.findings(Self.configuration)
        #expect(found.map(\.severity.rawValue) == `case`.expected.map(\.0), "\(found)")
        for (finding, expected) in zip(found, `case`.expected) {
            #expect(finding.fault.hasPrefix(expected.1), "\(finding.fault)")
            #expect(!finding.mend.isEmpty)
        }
    }

    @Test func aStoppedPartitionComesWithTheCommandOfTheLog() {
        var seen = Self.healthy
        seen.partitions[1].fault = PartitionFault(
            .journal, "the results were made anew", anchors: [InputPosition(topic: .restocks, partition: 1, offset: 7)])
        let command = "juice anchor --bootstrap-servers kafka:9092 --topic restocks --partition 1 --offset 7 "
        #expect(seen.findings(Self.configuration).first?.mend.hasPrefix(command) == true)
    }

    private static func check(missing: String? = nil, replicationFactor: Int = 3) -> TopicCheck.Findings {
        var cluster = TopicCheck.Cluster(topics: [:])
        for name in configuration.topics.all where name != missing {
            cluster[name] = .init(partitionCount: 2, replicationFactor: replicationFactor)
        }
        return TopicCheck(names: configuration.topics, bootstrapServers: "kafka:9092").findings(of: cluster)
    }
}

extension Observations {
    /// Gives all partitions of all topics this leader and these copies.
    fileprivate mutating func setCopies(leader: Int32?, inSync: [Int32]) {
        for topic in topics.indices {
            topics[topic].partitions = topics[topic].partitions.map {
                ClusterMetadata.Partition(number: $0.number, leader: leader, replicas: $0.replicas, inSyncReplicas: inSync)
            }
        }
    }

    /// Lets orders wait in partition 0.
    fileprivate mutating func setWaiting(_ count: Offset, since time: Timestamp, handled: Offset = 0, growth: Offset = 0) {
        let end = 10 + count
        partitions[0].inputs[0].log = 0..<end
        partitions[0].inputs[0].decidedEnd = end
        partitions[0].inputs[0].firstWaiting = (10, time)
        partitions[0].inputs[0].progress = (end - growth - handled, handled, growth)
    }
}
