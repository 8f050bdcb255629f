import CRdKafka
import Foundation
import JuiceDomain
import Kafka

/// The topics and the consumer group of a run, and an operator's actions on them.
struct Cluster {
    let admin: Admin
    private let plan: Plan

    private static let topics = ["orders", "restocks", "results", "stock", "dead-letters"]
    private static let timeout = Duration.seconds(20)

    init(plan: Plan) throws(KafkaError) {
        self.plan = plan
        admin = try Admin(configuration: plan.client, hooks: .silent)
    }

    /// Runs a `juice` command on the topics of the run.
    func juice(_ arguments: [String]) throws -> (status: Int32, output: String) {
        let place = ["--bootstrap-servers", plan.bootstrapServers, "--topic-prefix", plan.prefix]
        return try Child.run(plan.juice, arguments + place)
    }

    private func consumer() throws(KafkaError) -> Consumer { try Consumer(configuration: plan.reader, hooks: .silent) }
}

// MARK: - Topics

extension Cluster {
    /// The partitions of the run's topics and of the brokers' internal ones.
    func allPartitions() throws(KafkaError) -> [ClusterMetadata.Partition] {
        let names = Self.topics.map(plan.topic) + ["__consumer_offsets", "__transaction_state"]
        return try admin.metadata(topics: names, timeout: .seconds(5)).topics.flatMap(\.partitions)
    }

    /// `host:port` of each broker that the options or the brokers name, separated by commas.
    func brokers() throws -> String {
        let named = plan.bootstrapServers.split(separator: ",").map { $0.filter { !$0.isWhitespace } }
        let known = try admin.metadata(topics: [], timeout: Self.timeout).brokers.map(\.address)
        return Set(named + known).sorted().joined(separator: ",")
    }

    /// Creates the topics that are missing, with enough replicas to tolerate the loss of a broker if one is to fail.
    func createTopics() throws {
        let brokers = try admin.metadata(topics: [], timeout: Self.timeout).brokers.count
        let replication = plan.brokerCommand != nil && brokers >= 3 ? ["--replication-factor", "3"] : []
        let result = try juice(["topics", "create", "--partitions", "\(plan.partitions)"] + replication)
        guard result.status == 0 else { throw ToolError(result.output.trimmingCharacters(in: .whitespacesAndNewlines)) }
    }

    func deleteTopics() { try? admin.delete(topics: Self.topics.map(plan.topic), timeout: Self.timeout) }

    /// Deletes topics and creates others of the same names.
    func recreate(_ topics: [String]) throws {
        let names = topics.map(plan.topic)
        try admin.delete(topics: names, timeout: Self.timeout)
        func count() throws -> Int {
            let metadata = try admin.metadata(topics: names, timeout: Self.timeout)
            return names.count { metadata[$0] != nil }
        }
        try wait(for: Self.timeout) { try count() == 0 }
        // Brokers may still be deleting the old ones.
        try wait(for: Self.timeout) { try (try? createTopics()) != nil && count() == names.count }
    }
}

// MARK: - The group

extension Cluster {
    private var inputs: [TopicPartition] { plan.partitions(of: "orders") + plan.partitions(of: "restocks") }

    /// Whether the group has processed all commands, by its committed offsets: no record follows them. The service does not depend
    /// on these offsets, but after a reset they must become right by themselves.
    func isDrained() throws -> Bool {
        let consumer = try consumer()
        defer { consumer.close() }
        let committed = try consumer.committed(inputs, timeout: Self.timeout).mapValues(\.offset)
        let ends = try consumer.endOffsets(of: inputs, timeout: Self.timeout)
        guard inputs.allSatisfy({ committed[$0, default: 0] <= ends[$0, default: 0] }) else { return false }
        // The offsets between the two may be records, or only markers of transactions that forwarded records.
        let ranges = Dictionary(uniqueKeysWithValues: inputs.map { ($0, committed[$0, default: 0]..<ends[$0, default: 0]) })
        var isDrained = true
        try consumer.read(ranges, timeout: Self.timeout) { _, _ in
            isDrained = false
            return false
        }
        return isDrained
    }

    /// Whether the group has no members. Only then can others delete it or commit offsets for it.
    var isGroupEmpty: Bool { group?.members.isEmpty ?? false }

    /// The group; nil if no broker describes it. A client keeps asking the broker that was the coordinator, so after a move a new
    /// client asks.
    var group: ConsumerGroup? {
        do throws(KafkaError) {
            return try admin.describe(group: plan.group, timeout: .seconds(2))
        } catch {
            guard error.code.rawValue == RD_KAFKA_RESP_ERR_NOT_COORDINATOR.rawValue else { return nil }
            return try? Admin(configuration: plan.client, hooks: .silent).describe(group: plan.group, timeout: .seconds(2))
        }
    }

    /// Deletes the group with its offsets.
    func deleteGroup() throws {
        let configuration = rd_kafka_conf_new()
        rd_kafka_conf_set(configuration, "bootstrap.servers", plan.bootstrapServers, nil, 0)
        guard let client = rd_kafka_new(RD_KAFKA_PRODUCER, configuration, nil, 0) else {
            throw ToolError("no client to delete the group with")
        }
        defer { rd_kafka_destroy(client) }
        let queue = rd_kafka_queue_new(client)
        defer { rd_kafka_queue_destroy(queue) }
        var groups = [rd_kafka_DeleteGroup_new(plan.group)]
        defer { rd_kafka_DeleteGroup_destroy_array(&groups, groups.count) }
        rd_kafka_DeleteGroups(client, &groups, groups.count, nil, queue)
        let event = rd_kafka_queue_poll(queue, Self.timeout.milliseconds)
        defer { if let event { rd_kafka_event_destroy(event) } }
        var count = 0
        let results = rd_kafka_DeleteGroups_result_groups(rd_kafka_event_DeleteGroups_result(event), &count)
        guard count > 0, let result = results?[0] else { throw ToolError("no broker answers the request to delete the group") }
        if let error = rd_kafka_group_result_error(result) {
            throw ToolError("the group is not deleted: \(String(cString: rd_kafka_error_string(error)))")
        }
    }

    /// Commits wrong offsets for the group, as a client outside of it.
    func resetOffsets(using random: inout SeededGenerator) throws(KafkaError) {
        let consumer = try consumer()
        defer { consumer.close() }
        let ends = try consumer.endOffsets(of: inputs, timeout: Self.timeout)
        var wrong: [TopicPartition: Offset] = [:]
        for input in inputs {
            let end = ends[input, default: 0]
            wrong[input] = random.pick([0, Offset.random(in: 0...end, using: &random), end, end + 1_000])
        }
        try consumer.commit(wrong.mapValues { CommittedOffset($0) }, timeout: Self.timeout)
    }
}
