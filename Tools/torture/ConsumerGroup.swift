import CRdKafka
import Kafka

/// A consumer group, as its coordinator describes it.
struct ConsumerGroup {
    /// Whether every member has its assignment and no rebalance is in progress.
    let isStable: Bool
    /// The `group.instance.id` of each member, nil if it is not a static one, and the partitions assigned to it.
    let members: [(instanceID: String?, partitions: [TopicPartition])]
}

extension Admin {
    /// Asks the coordinator for a group's members and their assignments, which are empty unless the group is stable.
    func describe(group name: String, timeout: Duration) throws(KafkaError) -> ConsumerGroup {
        // librdkafka must not end this request itself while it looks for the coordinator: once it has found it, it would drop the
        // request twice, which ends the process. So the request outlasts whoever waits for it.
        let event = try name.withCString { name in
            var names: [UnsafePointer<CChar>?] = [name]
            return Result { () throws(KafkaError) in
                try handle.request(
                    RD_KAFKA_ADMIN_OP_DESCRIBECONSUMERGROUPS, timeout: timeout, requestTimeout: .seconds(3_600)
                ) { client, options, queue in
                    rd_kafka_DescribeConsumerGroups(client, &names, names.count, options, queue)
                }
            }
        }.get()
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
            rd_kafka_ConsumerGroupDescription_member(group, $0)
        }
        return ConsumerGroup(
            isStable: rd_kafka_ConsumerGroupDescription_state(group) == RD_KAFKA_CONSUMER_GROUP_STATE_STABLE,
            members: members.map { member in
                let assignment = rd_kafka_MemberDescription_assignment(member)
                return (
                    rd_kafka_MemberDescription_group_instance_id(member).map { String(cString: $0) },
                    rd_kafka_MemberAssignment_partitions(assignment)?.partitions ?? []
                )
            })
    }
}
