import CRdKafka

extension Admin {
    /// Deletes topics with all their records. One that does not exist counts as deleted.
    ///
    /// The brokers may still be at it when this returns.
    public func delete(topics names: [String], timeout: Duration) throws(KafkaError) {
        var handles = names.map { rd_kafka_DeleteTopic_new($0) }
        defer { for case let topic? in handles { rd_kafka_DeleteTopic_destroy(topic) } }
        let event = try request(RD_KAFKA_ADMIN_OP_DELETETOPICS, timeout: timeout) { options, queue in
            rd_kafka_DeleteTopics(handle.pointer, &handles, handles.count, options, queue)
        }
        defer { rd_kafka_event_destroy(event) }

        var count = 0
        let results = rd_kafka_DeleteTopics_result_topics(rd_kafka_event_DeleteTopics_result(event), &count)
        for result in UnsafeBufferPointer(start: results, count: count) {
            let name = String(cString: rd_kafka_topic_result_name(result))
            let reason = rd_kafka_topic_result_error_string(result).map { String(cString: $0) }
            let error = KafkaError(
                rd_kafka_topic_result_error(result),
                message: "topic \(name): \(reason ?? "not deleted")"
            )
            if let error, error.code != .unknownTopicOrPartition { throw error }
        }
    }
}
