import CRdKafka

// What an operator asks of a cluster, besides its topics: read-only requests of the admin client.

/// A consumer group, as its coordinator describes it.
public struct ConsumerGroup: Sendable, Encodable {
    /// A consumer in the group.
    public struct Member: Sendable, Encodable {
        /// Its `client.id`.
        public let clientID: String
        /// Its `group.instance.id`; nil if it is not a static member.
        public let instanceID: String?
        /// The address from which it is connected to the coordinator.
        public let host: String
        /// What is assigned to it; empty unless the group is stable.
        public let partitions: [TopicPartition]

        package init(clientID: String, instanceID: String?, host: String, partitions: [TopicPartition]) {
            (self.clientID, self.instanceID, self.host, self.partitions) = (clientID, instanceID, host, partitions)
        }
    }

    /// Kafka's word for it, such as `Stable`, `Empty` or `PreparingRebalance`; `Dead` if there is no such group.
    public let state: String
    /// Whether every member has its assignment and no rebalance is in progress.
    public let isStable: Bool
    /// The id of the broker that coordinates the group.
    public let coordinator: Int32?
    /// In no order.
    public let members: [Member]

    package init(state: String, isStable: Bool, coordinator: Int32?, members: [Member]) {
        (self.state, self.isStable, self.coordinator, self.members) = (state, isStable, coordinator, members)
    }
}

extension Admin {
    /// Asks the coordinator for a group's members and their assignments. A group that does not exist has no members.
    public func describe(group name: String, timeout: Duration) throws(KafkaError) -> ConsumerGroup {
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
        let state = rd_kafka_ConsumerGroupDescription_state(group)
        let members = (0..<rd_kafka_ConsumerGroupDescription_member_count(group)).compactMap {
            rd_kafka_ConsumerGroupDescription_member(group, $0).map(ConsumerGroup.Member.init)
        }
        return ConsumerGroup(
            state: String(cString: rd_kafka_consumer_group_state_name(state)),
            isStable: state == RD_KAFKA_CONSUMER_GROUP_STATE_STABLE,
            coordinator: rd_kafka_ConsumerGroupDescription_coordinator(group).map(rd_kafka_Node_id), members: members)
    }

    /// Asks each of these brokers for its own settings, all at the same time.
    ///
    /// - Returns: the settings of each by Kafka's names, or why it did not answer. An error from a broker is an answer, too.
    public func configurations(
        ofBrokers ids: [Int32], timeout: Duration
    ) -> [Int32: Result<[String: String], KafkaError>] {
        let queue = rd_kafka_queue_new(handle.pointer)
        defer { rd_kafka_queue_destroy(queue) }
        for id in ids { requestConfiguration(ofBroker: id, timeout: timeout, queue) }
        var answers = ids.reduce(into: [:]) { $0[$1] = Result<[String: String], KafkaError>.failure(.noAnswer) }
        // librdkafka ends the requests itself at their timeout. The margin lets those events arrive.
        let deadline = ContinuousClock.now + timeout + .milliseconds(500)
        for _ in ids {
            guard let event = rd_kafka_queue_poll(queue, max(.zero, deadline - .now).milliseconds) else { break }
            let id = Int32(truncatingIfNeeded: Int(bitPattern: rd_kafka_event_opaque(event)))
            answers[id] = Result { () throws(KafkaError) in try Self.configuration(in: event) }
            rd_kafka_event_destroy(event)
        }
        return answers
    }

    /// The answer's event has the broker's id for its opaque pointer.
    private func requestConfiguration(ofBroker id: Int32, timeout: Duration, _ queue: OpaquePointer?) {
        var resource = rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_BROKER, String(id))
        defer { rd_kafka_ConfigResource_destroy(resource) }
        let options = rd_kafka_AdminOptions_new(handle.pointer, RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS)
        defer { rd_kafka_AdminOptions_destroy(options) }
        rd_kafka_AdminOptions_set_request_timeout(options, timeout.milliseconds, nil, 0)
        rd_kafka_AdminOptions_set_opaque(options, UnsafeMutableRawPointer(bitPattern: Int(id)))
        rd_kafka_DescribeConfigs(handle.pointer, &resource, 1, options, queue)
    }

    private static func configuration(in event: OpaquePointer) throws(KafkaError) -> [String: String] {
        let text = rd_kafka_event_error_string(event).map { String(cString: $0) }
        if let error = KafkaError(rd_kafka_event_error(event), message: text) { throw error }
        var count = 0
        let results = rd_kafka_DescribeConfigs_result_resources(rd_kafka_event_DescribeConfigs_result(event), &count)
        guard count > 0, let resource = results?[0] else { throw .noAnswer }
        let reason = rd_kafka_ConfigResource_error_string(resource).map { String(cString: $0) }
        if let error = KafkaError(rd_kafka_ConfigResource_error(resource), message: reason) { throw error }
        return entries(of: resource)
    }

    /// The cluster's id; nil if it does not say in time.
    public func clusterID(timeout: Duration) -> String? {
        guard let id = rd_kafka_clusterid(handle.pointer, timeout.milliseconds) else { return nil }
        defer { rd_kafka_mem_free(handle.pointer, id) }
        return String(cString: id)
    }

    /// The id of the broker that takes requests for the controller; nil if the brokers do not say in time. Brokers with KRaft name
    /// any of them, since they pass such requests on.
    public func controller(timeout: Duration) -> Int32? {
        let id = rd_kafka_controllerid(handle.pointer, timeout.milliseconds)
        return id < 0 ? nil : id
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
