import CRdKafka

/// Creates, describes and deletes topics, and describes consumer groups.
///
/// It belongs to one thread, which its calls block. They also serve the hooks.
public final class Admin {
    let handle: ClientHandle

    /// A topic to create.
    public struct NewTopic: Sendable, Equatable {
        /// The topic's name.
        public var name: String
        /// The number of its partitions.
        public var partitionCount: Int
        /// The number of replicas of each partition; nil for the cluster's default.
        public var replicationFactor: Int?
        /// Topic properties by Kafka's names, such as `cleanup.policy`.
        public var configuration: [String: String]

        /// A topic with these properties.
        public init(name: String, partitionCount: Int, replicationFactor: Int? = nil, configuration: [String: String] = [:]) {
            (self.name, self.partitionCount) = (name, partitionCount)
            (self.replicationFactor, self.configuration) = (replicationFactor, configuration)
        }
    }

    /// A client that only administers the cluster.
    ///
    /// - Throws: ``KafkaError`` when librdkafka refuses a property.
    public init(configuration: KafkaConfiguration, hooks: ClientHooks) throws(KafkaError) {
        handle = try ClientHandle(.producer, configuration: configuration, hooks: hooks)
    }

    /// The cluster's brokers and the partitions of the named topics.
    ///
    /// - Parameters:
    ///   - topics: the topics' names.
    ///   - timeout: how long to wait for each topic.
    public func metadata(topics: [String], timeout: Duration) throws(KafkaError) -> ClusterMetadata {
        // Serves the error hook: a background error says more than a timeout.
        defer { handle.poll(timeout: .zero) }
        return try handle.metadata(topics: topics, timeout: timeout)
    }

    /// Creates topics and waits until the brokers know them. A topic that exists is left as it is.
    ///
    /// - Returns: the names of the topics that did not exist.
    public func create(_ topics: [NewTopic], timeout: Duration) throws(KafkaError) -> [String] {
        var handles: [OpaquePointer?] = []
        defer { for case let topic? in handles { rd_kafka_NewTopic_destroy(topic) } }
        for topic in topics { handles.append(try Self.makeHandle(topic)) }

        let event = try handle.request(RD_KAFKA_ADMIN_OP_CREATETOPICS, timeout: timeout) { options, queue in
            rd_kafka_CreateTopics(handle.pointer, &handles, handles.count, options, queue)
        }
        defer { rd_kafka_event_destroy(event) }

        var count = 0
        let results = rd_kafka_CreateTopics_result_topics(rd_kafka_event_CreateTopics_result(event), &count)
        let created = try Self.names(in: results, count: count, ignoring: .topicAlreadyExists, orElse: "not created")
        if !created.isEmpty { try waitUntilKnown(created, timeout: timeout) }
        return created
    }

    /// The controller has created the topics, but the broker asked next may learn of them a moment later.
    private func waitUntilKnown(_ names: [String], timeout: Duration) throws(KafkaError) {
        let deadline = ContinuousClock.now + timeout
        while true {
            let metadata = try metadata(topics: names, timeout: timeout)
            guard let missing = names.first(where: { metadata[$0] == nil }) else { return }
            guard ContinuousClock.now < deadline else {
                throw KafkaError(
                    code: .timedOut, message: "topic \(missing) is created but not known to the brokers yet", isRetriable: true)
            }
            handle.poll(timeout: .milliseconds(20))
        }
    }

    /// Deletes topics with all their records. A topic that does not exist counts as deleted.
    ///
    /// The brokers may still be deleting when this returns.
    public func delete(topics names: [String], timeout: Duration) throws(KafkaError) {
        var handles = names.map { rd_kafka_DeleteTopic_new($0) }
        defer { for case let topic? in handles { rd_kafka_DeleteTopic_destroy(topic) } }
        let event = try handle.request(RD_KAFKA_ADMIN_OP_DELETETOPICS, timeout: timeout) { options, queue in
            rd_kafka_DeleteTopics(handle.pointer, &handles, handles.count, options, queue)
        }
        defer { rd_kafka_event_destroy(event) }

        var count = 0
        let results = rd_kafka_DeleteTopics_result_topics(rd_kafka_event_DeleteTopics_result(event), &count)
        _ = try Self.names(in: results, count: count, ignoring: .unknownTopicOrPartition, orElse: "not deleted")
    }

    /// The topics for which a request succeeded.
    ///
    /// - Throws: the error of the first for which it failed, unless it is to be ignored.
    private static func names(
        in results: UnsafeMutablePointer<OpaquePointer?>?, count: Int, ignoring ignored: KafkaError.Code, orElse reason: String
    ) throws(KafkaError) -> [String] {
        var names: [String] = []
        for result in UnsafeBufferPointer(start: results, count: count) {
            let name = String(cString: rd_kafka_topic_result_name(result))
            let reason = rd_kafka_topic_result_error_string(result).map { String(cString: $0) } ?? reason
            if let error = KafkaError(rd_kafka_topic_result_error(result), message: "topic \(name): \(reason)") {
                guard error.code == ignored else { throw error }
            } else {
                names.append(name)
            }
        }
        return names
    }

    /// The effective configuration of each topic, by Kafka's property names.
    ///
    /// - Throws: ``KafkaError``, with ``KafkaError/Remedy/retry`` if the broker asked does not know a topic.
    public func configurations(ofTopics names: [String], timeout: Duration) throws(KafkaError) -> [String: [String: String]] {
        var resources = names.map { rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, $0) }
        defer { for case let resource? in resources { rd_kafka_ConfigResource_destroy(resource) } }
        let event = try handle.request(RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS, timeout: timeout) { options, queue in
            rd_kafka_DescribeConfigs(handle.pointer, &resources, resources.count, options, queue)
        }
        defer { rd_kafka_event_destroy(event) }

        var count = 0
        let results = rd_kafka_DescribeConfigs_result_resources(rd_kafka_event_DescribeConfigs_result(event), &count)
        var configurations: [String: [String: String]] = [:]
        for case let resource? in UnsafeBufferPointer(start: results, count: count) {
            let name = String(cString: rd_kafka_ConfigResource_name(resource))
            let reason = rd_kafka_ConfigResource_error_string(resource).map { String(cString: $0) }
            let error = KafkaError(rd_kafka_ConfigResource_error(resource), message: "topic \(name): \(reason ?? "not described")")
            if let error {
                // A broker learns of a new topic some time after others.
                guard error.code == .unknownTopicOrPartition else { throw error }
                throw error.retriable
            }
            configurations[name] = Self.entries(of: resource)
        }
        return configurations
    }

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

    private static func makeHandle(_ topic: NewTopic) throws(KafkaError) -> OpaquePointer {
        var reason = ErrorText()
        let handle = reason.withBuffer {
            rd_kafka_NewTopic_new(
                topic.name, Int32(clamping: topic.partitionCount), Int32(clamping: topic.replicationFactor ?? -1), $0, $1)
        }
        guard let handle else { throw KafkaError(code: .invalidArgument, message: "topic \(topic.name): \(reason.text)") }
        for (name, value) in topic.configuration { rd_kafka_NewTopic_set_config(handle, name, value) }
        return handle
    }

    private static func entries(of resource: OpaquePointer) -> [String: String] {
        var count = 0
        let entries = rd_kafka_ConfigResource_configs(resource, &count)
        var values: [String: String] = [:]
        for case let entry? in UnsafeBufferPointer(start: entries, count: count) {
            guard let value = rd_kafka_ConfigEntry_value(entry) else { continue }
            values[String(cString: rd_kafka_ConfigEntry_name(entry))] = String(cString: value)
        }
        return values
    }

    private static func member(_ member: OpaquePointer) -> ConsumerGroup.Member {
        let assignment = rd_kafka_MemberDescription_assignment(member)
        let partitions = rd_kafka_MemberAssignment_partitions(assignment)
        return ConsumerGroup.Member(
            instanceID: rd_kafka_MemberDescription_group_instance_id(member).map { String(cString: $0) },
            partitions: partitions.map { PartitionList.partitions(of: UnsafeMutablePointer(mutating: $0)) } ?? [])
    }
}

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

extension ClientHandle {
    /// Sends an admin request and waits for its one event, which the caller destroys.
    func request(
        _ operation: rd_kafka_admin_op_t, timeout: Duration, send: (_ options: OpaquePointer?, _ queue: OpaquePointer?) -> Void
    ) throws(KafkaError) -> OpaquePointer {
        let queue = rd_kafka_queue_new(pointer)
        defer { rd_kafka_queue_destroy(queue) }
        let options = rd_kafka_AdminOptions_new(pointer, operation)
        defer { rd_kafka_AdminOptions_destroy(options) }
        // A group's coordinator answers this one. It must not time out in librdkafka while that looks for the coordinator: once it
        // has found it, it would drop the request twice, which ends the process. So it outlasts whoever waits for it.
        let needsCoordinator = operation == RD_KAFKA_ADMIN_OP_DESCRIBECONSUMERGROUPS
        var reason = ErrorText()
        _ = reason.withBuffer {
            rd_kafka_AdminOptions_set_request_timeout(
                options, (needsCoordinator ? Self.longestRequest : timeout).milliseconds, $0, $1)
        }

        send(options, queue)
        // librdkafka ends most requests itself at their timeout. The margin lets that event arrive.
        let wait = needsCoordinator ? timeout : timeout + .seconds(1)
        guard let event = rd_kafka_queue_poll(queue, wait.milliseconds) else {
            throw KafkaError(code: .timedOut, isRetriable: true)
        }
        let text = rd_kafka_event_error_string(event).map { String(cString: $0) }
        if let error = KafkaError(rd_kafka_event_error(event), message: text) {
            rd_kafka_event_destroy(event)
            throw error
        }
        return event
    }

    /// librdkafka's limit.
    private static let longestRequest = Duration.seconds(3_600)
}
