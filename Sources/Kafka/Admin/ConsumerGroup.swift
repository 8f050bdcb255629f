import CRdKafka

/// A consumer group, as its coordinator describes it.
public struct ConsumerGroup: Sendable {
    /// One consumer of the group.
    public struct Member: Sendable {
        /// The member's `group.instance.id`; nil if it is not a static member.
        public let instanceID: String?
        /// The partitions assigned to it. Empty unless the group is stable.
        public let partitions: [TopicPartition]
    }

    /// Whether every member has its assignment and no rebalance is in progress.
    public let isStable: Bool
    /// The members.
    public let members: [Member]
}

extension Admin {
    /// Asks the coordinator for a group's members and their assignments.
    public func describe(group name: String, timeout: Duration) throws(KafkaError) -> ConsumerGroup {
        let event = try name.withCString { name in
            var names: [UnsafePointer<CChar>?] = [name]
            return Result { () throws(KafkaError) in
                try handle.request(RD_KAFKA_ADMIN_OP_DESCRIBECONSUMERGROUPS, timeout: timeout) { options, queue in
                    rd_kafka_DescribeConsumerGroups(handle.pointer, &names, names.count, options, queue)
                }
            }
        }.get()
        defer { rd_kafka_event_destroy(event) }

        var count = 0
        let result = rd_kafka_event_DescribeConsumerGroups_result(event)
        let groups = rd_kafka_DescribeConsumerGroups_result_groups(result, &count)
        guard count > 0, let group = groups?[0] else { throw .outOfMemory }
        if let error = rd_kafka_ConsumerGroupDescription_error(group),
            let error = KafkaError(rd_kafka_error_code(error), message: String(cString: rd_kafka_error_string(error)))
        {
            throw error
        }
        let state = rd_kafka_ConsumerGroupDescription_state(group)
        return ConsumerGroup(
            isStable: state == RD_KAFKA_CONSUMER_GROUP_STATE_STABLE,
            members: (0..<rd_kafka_ConsumerGroupDescription_member_count(group)).compactMap {
                rd_kafka_ConsumerGroupDescription_member(group, $0).map(Self.member)
            })
    }

    private static func member(_ member: OpaquePointer) -> ConsumerGroup.Member {
        let assignment = rd_kafka_MemberDescription_assignment(member)
        let partitions = rd_kafka_MemberAssignment_partitions(assignment)
        return ConsumerGroup.Member(
            instanceID: rd_kafka_MemberDescription_group_instance_id(member).map { String(cString: $0) },
            partitions: partitions.map { PartitionList.partitions(of: UnsafeMutablePointer(mutating: $0)) } ?? [])
    }
}
