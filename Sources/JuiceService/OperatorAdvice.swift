import Kafka

extension KafkaError {
    /// The description, with what an operator has to correct: the rights that the service needs (librdkafka names at best the
    /// resource), the topic setting by which brokers refuse a record, or a topic that is gone.
    var advised: String { description + advice }

    private var advice: String {
        let needs: String
        switch code {
        case .topicAuthorizationFailed:
            needs = "Read and Write on its topics, DescribeConfigs, and Create with --create-topics"
        case .groupAuthorizationFailed: needs = "Read on its group"
        case .transactionalIDAuthorizationFailed: needs = "Write on transactional ids that begin with GROUP/"
        case .clusterAuthorizationFailed: needs = "no right on the cluster, unless it is to create topics"
        case .messageTooLarge, .recordListTooLarge: return "; the topic's max.message.bytes is less"
        case .invalidTimestamp:
            return "; this machine's clock and the brokers' differ, or the topic's message.timestamp.before.max.ms or"
                + " message.timestamp.after.max.ms is too small: see docs/OPERATIONS.md#juiceclocksdiffer"
        case .invalidRecord: return "; a record without a key needs the topic's cleanup.policy to be delete"
        case _ where code.isMissing:
            return "; it was deleted: `juice topics check` says how to create it, `juice doctor` what to do then"
        default: return ""
        }
        return "; the service needs \(needs): see docs/SECURITY.md"
    }
}
