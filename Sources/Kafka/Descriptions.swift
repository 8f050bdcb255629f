import CRdKafka

/// A consumer group, as its coordinator describes it.
package struct ConsumerGroup: Sendable, Encodable {
    package struct Member: Sendable, Encodable {
        package let clientID: String
        /// Its `group.instance.id`; nil if it is not a static member.
        package let instanceID: String?
        /// The address from which it is connected to the coordinator.
        package let host: String
        /// The partitions assigned to it; empty unless the group is stable.
        package let partitions: [TopicPartition]
    }

    /// Kafka's name for the state, such as `Empty` or `PreparingRebalance`; `Stable` if every member has its assignment; `Dead` if
    /// there is no such group.
    package let state: String
    package let members: [Member]

    /// Whether a member was assigned a partition of a topic, or may be in a moment.
    package func reads(_ topic: String) -> Bool {
        members.contains { member in state != "Stable" || member.partitions.contains { $0.topic == topic } }
    }
}

extension Admin {
    /// Asks the coordinator for a group's members and their assignments. A group that does not exist has no members.
    package func describe(group name: String, timeout: Duration) throws(KafkaError) -> ConsumerGroup {
        try handle.describe(group: name, timeout: timeout)
    }
}

extension ClientHandle {
    /// For requests to a group's coordinator. It outlasts the caller's wait: librdkafka must not time a request out while it looks
    /// for the coordinator (issue 4605).
    private static let coordinatorTimeout = Duration.seconds(3_600)

    func describe(group name: String, timeout: Duration) throws(KafkaError) -> ConsumerGroup {
        let event = try request(
            RD_KAFKA_ADMIN_OP_DESCRIBECONSUMERGROUPS, timeout: timeout, requestTimeout: Self.coordinatorTimeout
        ) { client, options, queue in
            name.withCString { name in
                var names: [UnsafePointer<CChar>?] = [name]
                rd_kafka_DescribeConsumerGroups(client, &names, names.count, options, queue)
            }
        }
        defer { rd_kafka_event_destroy(event) }

        var count = 0
        let result = rd_kafka_event_DescribeConsumerGroups_result(event)
        let groups = rd_kafka_DescribeConsumerGroups_result_groups(result, &count)
        guard count > 0, let group = groups?[0] else { throw .noAnswer }
        if let error = rd_kafka_ConsumerGroupDescription_error(group),
            let error = KafkaError(rd_kafka_error_code(error), message: String(cString: rd_kafka_error_string(error)))
        {
            throw error
        }
        let members = (0..<rd_kafka_ConsumerGroupDescription_member_count(group)).compactMap {
            rd_kafka_ConsumerGroupDescription_member(group, $0).map(ConsumerGroup.Member.init)
        }
        return ConsumerGroup(
            state: String(cString: rd_kafka_consumer_group_state_name(rd_kafka_ConsumerGroupDescription_state(group))),
            members: members)
    }

    func committed(
        _ partitions: [TopicPartition], by group: String, timeout: Duration
    ) throws(KafkaError) -> [TopicPartition: CommittedOffset] {
        // librdkafka reports an error for an empty list.
        guard !partitions.isEmpty else { return [:] }
        var query: OpaquePointer?
        try PartitionList(partitions).lend {
            query = rd_kafka_ListConsumerGroupOffsets_new(group, $0)
            return RD_KAFKA_RESP_ERR_NO_ERROR
        }
        defer { rd_kafka_ListConsumerGroupOffsets_destroy(query) }
        let event = try request(
            RD_KAFKA_ADMIN_OP_LISTCONSUMERGROUPOFFSETS, timeout: timeout, requestTimeout: Self.coordinatorTimeout
        ) { rd_kafka_ListConsumerGroupOffsets($0, &query, 1, $1, $2) }
        defer { rd_kafka_event_destroy(event) }

        var count = 0
        let result = rd_kafka_event_ListConsumerGroupOffsets_result(event)
        let groups = rd_kafka_ListConsumerGroupOffsets_result_groups(result, &count)
        guard count > 0, let group = groups?[0] else { throw .noAnswer }
        return try rd_kafka_group_result_partitions(group)?.committed() ?? [:]
    }
}

extension ConsumerGroup.Member {
    fileprivate init(_ member: OpaquePointer) {
        let assignment = rd_kafka_MemberDescription_assignment(member)
        self.init(
            clientID: String(cString: rd_kafka_MemberDescription_client_id(member)),
            instanceID: rd_kafka_MemberDescription_group_instance_id(member).map { String(cString: $0) },
            host: String(cString: rd_kafka_MemberDescription_host(member)),
            partitions: rd_kafka_MemberAssignment_partitions(assignment)?.partitions ?? [])
    }
}
