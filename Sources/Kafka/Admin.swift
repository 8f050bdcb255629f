import CRdKafka

/// Creates, describes and deletes topics. It belongs to one thread, which its calls block; they also serve the hooks.
package final class Admin {
    package let handle: ClientHandle

    /// A topic to create.
    package struct NewTopic: Sendable {
        package var name: String
        package var partitionCount: Int
        /// Nil for the cluster's default.
        package var replicationFactor: Int?
        /// Topic properties by Kafka's names, such as `cleanup.policy`.
        package var configuration: [String: String]
        /// Further properties. If brokers do not know all of them, the topic is created without any.
        package var optional: [String: String]

        package init(
            name: String, partitionCount: Int, replicationFactor: Int? = nil, configuration: [String: String] = [:],
            optional: [String: String] = [:]
        ) {
            (self.name, self.partitionCount, self.replicationFactor) = (name, partitionCount, replicationFactor)
            (self.configuration, self.optional) = (configuration, optional)
        }
    }

    /// Throws ``KafkaError`` when librdkafka refuses a property.
    package init(configuration: KafkaConfiguration, hooks: ClientHooks) throws(KafkaError) {
        handle = try ClientHandle(RD_KAFKA_PRODUCER, configuration: configuration, context: ClientContext(hooks))
    }

    /// The cluster's brokers and the partitions of the named topics, waiting up to `timeout` for each topic.
    package func metadata(topics: [String]?, timeout: Duration) throws(KafkaError) -> ClusterMetadata {
        try handle.metadata(topics: topics, timeout: timeout, serving: true)
    }

    /// Creates topics, waits until the brokers know them and returns their names. Existing topics are left alone and not returned.
    package func create(_ topics: [NewTopic], timeout: Duration) throws(KafkaError) -> [String] {
        var handles: [OpaquePointer?] = []
        defer { for case let topic? in handles { rd_kafka_NewTopic_destroy(topic) } }
        for topic in topics {
            var reason = ErrorText()
            let handle = reason.withBuffer {
                rd_kafka_NewTopic_new(
                    topic.name, Int32(clamping: topic.partitionCount), Int32(clamping: topic.replicationFactor ?? -1), $0, $1)
            }
            guard let handle else { throw KafkaError(code: .invalidArgument, message: "topic \(topic.name): \(reason.text)") }
            handles.append(handle)
            for (name, value) in topic.configuration.merging(topic.optional, uniquingKeysWith: { $1 }) {
                rd_kafka_NewTopic_set_config(handle, name, value)
            }
        }

        let event = try handle.request(RD_KAFKA_ADMIN_OP_CREATETOPICS, timeout: timeout) { client, options, queue in
            rd_kafka_CreateTopics(client, &handles, handles.count, options, queue)
        }
        defer { rd_kafka_event_destroy(event) }

        var count = 0
        let results = rd_kafka_CreateTopics_result_topics(rd_kafka_event_CreateTopics_result(event), &count)
        let created: [String]
        do throws(KafkaError) {
            created = try Self.names(in: results, count: count, ignoring: .topicAlreadyExists, orElse: "not created")
        } catch {
            guard error.code == .invalidConfig, topics.contains(where: { !$0.optional.isEmpty }) else { throw error }
            var plain = topics
            for index in plain.indices { plain[index].optional = [:] }
            return try create(plain, timeout: timeout)
        }
        // The controller has created the topics, but the broker asked next may learn of them a moment later.
        try retrying(until: .now + timeout) { left throws(KafkaError) in
            let metadata = try metadata(topics: created, timeout: left)
            if let missing = created.first(where: { metadata[$0] == nil }) {
                let message = "topic \(missing) is created but not known to the brokers yet"
                throw KafkaError(code: .timedOut, message: message, isRetriable: true)
            }
        }
        return created
    }

    /// Deletes topics with all their records. A topic that does not exist counts as deleted. The brokers may still be deleting when
    /// this returns.
    package func delete(topics names: [String], timeout: Duration) throws(KafkaError) {
        var handles = names.map { rd_kafka_DeleteTopic_new($0) }
        defer { for case let topic? in handles { rd_kafka_DeleteTopic_destroy(topic) } }
        let event = try handle.request(RD_KAFKA_ADMIN_OP_DELETETOPICS, timeout: timeout) { client, options, queue in
            rd_kafka_DeleteTopics(client, &handles, handles.count, options, queue)
        }
        defer { rd_kafka_event_destroy(event) }

        var count = 0
        let results = rd_kafka_DeleteTopics_result_topics(rd_kafka_event_DeleteTopics_result(event), &count)
        _ = try Self.names(in: results, count: count, ignoring: .unknownTopicOrPartition, orElse: "not deleted")
    }

    /// The topics for which a request succeeded. Throws the error of the first for which it failed, unless it is to be ignored.
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

    /// The effective configuration of each topic, by Kafka's property names. Throws ``KafkaError``, with
    /// ``KafkaError/Remedy/retry`` if the broker that was asked does not know a topic.
    package func configurations(ofTopics names: [String], timeout: Duration) throws(KafkaError) -> [String: [String: String]] {
        try configurations(of: RD_KAFKA_RESOURCE_TOPIC, "topic", names, timeout: timeout)
    }

    /// A broker's own settings, by Kafka's names. The request goes to that broker, so any response shows that it can be reached,
    /// even an error with a broker's code.
    package func configuration(ofBroker id: Int32, timeout: Duration) throws(KafkaError) -> [String: String] {
        try configurations(of: RD_KAFKA_RESOURCE_BROKER, "broker", [String(id)], timeout: timeout)[String(id)] ?? [:]
    }

    private func configurations(
        of type: rd_kafka_ResourceType_t, _ noun: String, _ names: [String], timeout: Duration
    ) throws(KafkaError) -> [String: [String: String]] {
        // librdkafka reports an error for an empty list.
        guard !names.isEmpty else { return [:] }
        var resources = names.map { rd_kafka_ConfigResource_new(type, $0) }
        defer { for case let resource? in resources { rd_kafka_ConfigResource_destroy(resource) } }
        let event = try handle.request(RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS, timeout: timeout) { client, options, queue in
            rd_kafka_DescribeConfigs(client, &resources, resources.count, options, queue)
        }
        defer { rd_kafka_event_destroy(event) }

        var count = 0
        let results = rd_kafka_DescribeConfigs_result_resources(rd_kafka_event_DescribeConfigs_result(event), &count)
        var configurations: [String: [String: String]] = [:]
        for case let resource? in UnsafeBufferPointer(start: results, count: count) {
            let name = String(cString: rd_kafka_ConfigResource_name(resource))
            let reason = rd_kafka_ConfigResource_error_string(resource).map { String(cString: $0) } ?? "not described"
            if let error = KafkaError(rd_kafka_ConfigResource_error(resource), message: "\(noun) \(name): \(reason)") {
                // A broker may learn of a new topic later than others.
                throw error.code == .unknownTopicOrPartition ? error.with(\.isRetriable, true) : error
            }
            var entryCount = 0
            let entries = rd_kafka_ConfigResource_configs(resource, &entryCount)
            for case let entry? in UnsafeBufferPointer(start: entries, count: entryCount) {
                guard let value = rd_kafka_ConfigEntry_value(entry) else { continue }
                configurations[name, default: [:]][String(cString: rd_kafka_ConfigEntry_name(entry))] = String(cString: value)
            }
        }
        return configurations
    }
}

extension ClientHandle {
    /// Sends an admin request and waits for its one event, which the caller destroys.
    ///
    /// - Parameter requestTimeout: how long librdkafka goes on asking; by default no longer than the caller waits.
    package func request(
        _ operation: rd_kafka_admin_op_t, timeout: Duration, requestTimeout: Duration? = nil,
        send: (_ client: OpaquePointer, _ options: OpaquePointer?, _ queue: OpaquePointer?) -> Void
    ) throws(KafkaError) -> OpaquePointer {
        let queue = rd_kafka_queue_new(pointer)
        defer { rd_kafka_queue_destroy(queue) }
        let options = rd_kafka_AdminOptions_new(pointer, operation)
        defer { rd_kafka_AdminOptions_destroy(options) }
        rd_kafka_AdminOptions_set_request_timeout(options, (requestTimeout ?? timeout).milliseconds, nil, 0)

        send(pointer, options, queue)
        // librdkafka ends most requests itself at their timeout. The margin lets that event arrive.
        let wait = requestTimeout == nil ? timeout + .seconds(1) : timeout
        guard let event = rd_kafka_queue_poll(queue, wait.milliseconds) else { throw .noAnswer }
        let text = rd_kafka_event_error_string(event).map { String(cString: $0) }
        if let error = KafkaError(rd_kafka_event_error(event), message: text) {
            rd_kafka_event_destroy(event)
            throw error
        }
        return event
    }
}
