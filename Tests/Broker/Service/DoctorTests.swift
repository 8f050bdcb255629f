import Foundation
import JuiceEngine
import JuiceMessages
import Testing

@testable import JuiceService
@testable import Kafka

/// The findings that follow from an examination.
@Suite struct DoctorTests {
    typealias Change = @Sendable (inout Examination) -> Void

    private static let configuration = ServiceConfiguration(bootstrapServers: "kafka:9092", instanceID: "doctor")
    private static let now = Date(timeIntervalSince1970: 1_800_000_000)

    /// Three brokers, and two instances that have answered everything.
    private static var healthy: Examination {
        var seen = Examination(time: now)
        seen.brokers = (Int32(1)...3).map { .init(id: $0, address: "kafka\($0):9092") }
        let copies = (Int32(0)..<2).map {
            ClusterMetadata.Partition(number: $0, leader: $0 + 1, replicas: [1, 2, 3], inSyncReplicas: [1, 2, 3])
        }
        seen.topics = (configuration.topics.all + ["__transaction_state"]).map {
            var topic = ClusterMetadata.Topic(name: $0)
            (topic.partitions, topic.settings) = (copies, ["min.insync.replicas": "2"])
            return topic
        }
        seen.group = group(members: ["shop-1-0": 0, "shop-2-1": 1])
        seen.partitions = (Int32(0)..<2).map { number in
            let inputs = InputTopic.allCases.map { topic in
                var input = Examination.Input(TopicPartition(topic: configuration.topics[topic], partition: number))
                (input.next, input.end, input.decidedEnd) = (10, 10, 10)
                return input
            }
            return .init(number: number, group: "juice-maker", instance: "shop-\(number + 1)", inputs: inputs)
        }
        return seen
    }

    private static func group(members: [String: Int32], state: String = "Stable") -> ConsumerGroup {
        ConsumerGroup(
            state: state,
            members: members.map { name, partition in
                .init(
                    clientID: name == "kcat" ? name : "juice", instanceID: name == "kcat" ? nil : name, host: "/10.0.0.1",
                    partitions: [TopicPartition(topic: "juice.orders", partition: partition)])
            })
    }

    /// A change to the healthy examination, and the expected findings: how severe each is and how it begins.
    struct Case: CustomTestStringConvertible {
        let testDescription: String
        /// Such as `69 no leader`.
        let expected: [String]
        let change: Change

        init(_ name: String, _ expected: String..., change: @escaping Change) {
            (testDescription, self.expected, self.change) = (name, expected, change)
        }
    }

    static let cases: [Case] = [
        Case("healthy") { _ in },
        Case("no broker", "69 no Kafka broker answers at kafka:9092") { seen in
            seen.outage = "no Kafka broker answers at kafka:9092"
            seen.group = group(members: [:], state: "Dead")
        },
        // MARK: Brokers
        Case("a lost broker", "1 topics have copies on broker 3, but") { seen in
            seen.brokers.removeLast()
            seen.setCopies(leader: 1, inSync: [1, 2])
        },
        Case(
            "two lost brokers",
            "69 fewer in-sync replicas than min.insync.replicas", "1 topics have copies on brokers 2, 3, but"
        ) { seen in
            seen.brokers.removeLast(2)
            seen.setCopies(leader: 1, inSync: [1])
        },
        Case("no leader", "69 no leader", "1 topics have copies on broker 3, but") { seen in
            seen.brokers.removeLast()
            seen.setCopies(leader: nil, inSync: [3])
            for index in seen.partitions.indices {
                seen.partitions[index].isServed = false
                seen.partitions[index].fault = PartitionFault(.leader(topic: "juice.orders"), "juice.orders [0] has no leader")
            }
        },
        Case(
            "a coordinator that cannot write",
            "69 fewer in-sync replicas than min.insync.replicas, so nothing is written: __t",
            "1 copies that are not in sync: juice.orders [0], "
        ) {
            $0.setCopies(leader: 1, inSync: [1, 2])
            $0.topics[5].settings = ["min.insync.replicas": "3"]
        },
        Case("a setting above the number of replicas") { $0.topics[5].settings = ["min.insync.replicas": "4"] },
        Case(
            "a coordinator that cannot be made",
            "69 brokers have not created __transaction_state, in which they keep transactions, so no command is answered."
                + " They wait for as many brokers as transaction.state.log.replication.factor says; there are 3"
        ) {
            $0.missingTopics = [.transactions]
        },
        Case("a broker that leads nothing does not answer", "1 broker 3 at kafka3:9092 does not answer this machine (hung)") {
            $0.silence["kafka3:9092"] = "hung"
        },
        // MARK: Group and owners
        Case("no instance", "1 the group \"juice-maker\" has no members, so no command is answered (at most 5 wait)") { seen in
            seen.group = group(members: [:], state: "Empty")
            seen.setWaiting(5, since: now - 3_600)
        },
        Case("a rebalance", "1 the group \"juice-maker\" is sharing out its partitions (PreparingRebalance)") {
            $0.group = group(members: ["shop-1-0": 0], state: "PreparingRebalance")
        },
        Case("a takeover that does not succeed", "1 shop-3 was assigned partition 1, but has not taken") {
            $0.group = group(members: ["shop-1-0": 0, "shop-3-1": 1])
        },
        Case("a stranger in the group", "1 kcat at /10.0.0.1 is in the group") {
            $0.group = group(members: ["shop-1-0": 0, "kcat": 1])
        },
        Case(
            "another group, which has ended",
            "1 the group \"test\" (instance laptop), not \"juice-maker\", was the last to claim partitions 0, 1"
        ) { $0.setOwner(group: "test", instance: "laptop") },
        Case(
            "another group, which runs",
            "78 the group \"test\" (instance laptop), not \"juice-maker\", was the last to claim partitions 0, 1, and its instances"
        ) { seen in
            seen.setOwner(group: "test", instance: "laptop")
            seen.otherGroups = ["test": group(members: ["laptop-0": 0])]
        },
        Case("a stopped partition, and what waits there", "78 partition 0 is stopped: orders [0]: it was recreated") { seen in
            let anchor = InputPosition(topic: .orders, partition: 0, offset: 3)
            seen.partitions[0].fault = PartitionFault(
                .input(InputPartition(topic: .orders, partition: 0)), "orders [0]: it was recreated", anchors: [anchor])
            seen.setWaiting(5, since: now - 3_600)
        },
        Case("answers that only their owner knows", "78 only shop-1 knows what was answered in partition 0: results [0] begin") {
            $0.partitions[0].fault = PartitionFault(.answers, "results [0] begin at offset 9", missing: 9)
        },
        Case("answers that nobody knows", "78 partition 1 is stopped: results [1] begin", "1 no member was assigned partition 1") {
            $0.partitions[1].fault = PartitionFault(.answers, "results [1] begin at offset 9", missing: 9)
            $0.group = group(members: ["shop-1-0": 0])
        },
        // MARK: Commands that wait
        Case("commands that are worked off") { $0.setWaiting(1, since: now - 9, handled: 1) },
        Case("a command that came just now") { $0.setWaiting(1, since: now - 0.5, handled: 0) },
        Case("a command that came a second ago, none was answered", "0 commands wait in juice.orders [0] (1 at most), the first") {
            $0.setWaiting(1, since: now - 1, handled: 0)
        },
        Case(
            "a service that was just stopped, or froze",
            "1 commands wait in juice.orders [0] (2 at most), the first for 3 s, and none was answered within a second"
        ) {
            $0.setWaiting(2, since: now - 3, handled: 0)
        },
        Case("a stuck command", "1 commands wait in juice.orders [0] (7 at most), the first for 11 s") {
            $0.setWaiting(7, since: now - 11)
        },
        Case("a stuck command from the future", "1 commands wait in juice.orders [0] (1 at most), the first for 0 s") {
            $0.setWaiting(1, since: now + 30)
        },
        Case(
            "an old transaction with traffic behind it",
            "1 another program's transaction is open in juice.orders [0] from offset 10"
        ) {
            $0.partitions[0].inputs[0].end = 12
            $0.partitions[0].inputs[0].undecidedSince = now - 16
        },
        Case("an old transaction in the stock", "1 another program's transaction is open in juice.stock [2] from offset 7") {
            var stock = Examination.Input(TopicPartition(topic: "juice.stock", partition: 2))
            (stock.decidedEnd, stock.end, stock.undecidedSince) = (7, 9, now - 16)
            $0.outputs = [stock]
        },
        Case("a young transaction") {
            $0.partitions[0].inputs[0].end = 12
            $0.partitions[0].inputs[0].undecidedSince = now - 14
        },
        // MARK: What is not known
        Case("no right to describe the group", "1 not known: the group (denied)") { seen in
            seen.group = nil
            seen.failures = [.init(part: "the group", reason: "denied", isDenial: true)]
        },
        Case("too little time", "1 stock and answers are not checked to the end: stock [1]") { $0.unread = "stock [1]" },
        Case(
            "the worst comes first",
            "78 missing topics: juice.orders", "69 broker 1 at kafka1:9092 does not answer this machine (hung); nothing is read",
            "1 the group \"juice-maker\" has no members", "1 not known: the clocks (no answer), the group (no answer)"
        ) { seen in
            seen.failures = ["the clocks", "the group"].map { .init(part: $0, reason: "no answer") }
            seen.group = group(members: [:], state: "Empty")
            seen.silence["kafka1:9092"] = "hung"
            seen.problems = [TopicCheck.Problem("missing topics: juice.orders", fix: "juice topics create")]
        },
    ]

    @Test(arguments: cases) func reportsProblemsWithTheirFix(case: Case) {
        var seen = Self.healthy
        `case`.change(&seen)
        let found = seen.findings(Self.configuration)
        #expect(found.count == `case`.expected.count, "\(found)")
        for (finding, expected) in zip(found, `case`.expected) {
            #expect("\(finding.severity.rawValue) \(finding.fault)".hasPrefix(expected), "\(finding.fault)")
            #expect(!finding.fix.isEmpty && !finding.fix.hasPrefix("docs/"), "\(finding.fix)")
        }
    }

    @Test func aStoppedPartitionComesWithTheCommandOfTheLog() {
        var seen = Self.healthy
        seen.partitions[1].fault = PartitionFault(
            .journal, "the results were recreated", anchors: [InputPosition(topic: .restocks, partition: 1, offset: 7)])
        let command = "juice anchor --bootstrap-servers kafka:9092 --topic restocks --partition 1 --offset 7 "
        #expect(seen.findings(Self.configuration).first?.fix.hasPrefix(command) == true)
    }
}

extension Examination {
    /// Gives all partitions of all topics this leader and these copies.
    fileprivate mutating func setCopies(leader: Int32?, inSync: [Int32]) {
        for topic in topics.indices {
            topics[topic].partitions = topics[topic].partitions.map {
                ClusterMetadata.Partition(number: $0.number, leader: leader, replicas: $0.replicas, inSyncReplicas: inSync)
            }
        }
    }

    /// Sets the last instance that claimed all partitions.
    fileprivate mutating func setOwner(group: String, instance: String) {
        for index in partitions.indices { (partitions[index].group, partitions[index].instance) = (group, instance) }
    }

    /// Lets orders wait in partition 0.
    fileprivate mutating func setWaiting(_ count: Offset, since time: Date, handled: Offset? = nil) {
        let end = 10 + count
        (partitions[0].inputs[0].end, partitions[0].inputs[0].decidedEnd, partitions[0].inputs[0].waiting) = (end, end, count)
        (partitions[0].inputs[0].waitingSince, partitions[0].inputs[0].handled) = (time, handled)
    }
}

/// Spans are rounded, so none appears nearly a unit too short.
@Suite struct SpanTests {
    @Test(
        arguments: [
            (-1, "0 s"), (0.4, "0 s"), (119.4, "119 s"), (119.6, "2 min"), (7_169, "119 min"), (7_170, "2 h"), (10_799, "3 h"),
            (170_999, "47 h"), (171_001, "2 days"), (864_000, "10 days"),
        ] as [(TimeInterval, String)]
    )
    func spansAreRounded(seconds: TimeInterval, text: String) { #expect(spanText(seconds) == text) }
}
