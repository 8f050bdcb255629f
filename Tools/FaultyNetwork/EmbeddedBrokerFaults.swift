import CRdKafka
import Kafka

/// Faults that tests inject into the embedded broker.
extension EmbeddedBroker {
    /// A request of the Kafka protocol, by its API key.
    package enum Request: Int16, Sendable {
        case produce = 0
        case fetch = 1
        case listOffsets = 2
        case metadata = 3
        case offsetCommit = 8
        case offsetFetch = 9
        case findCoordinator = 10
        case joinGroup = 11
        case heartbeat = 12
        case syncGroup = 14
        case initProducerID = 22
        case addPartitionsToTransaction = 24
        case endTransaction = 26
    }

    /// Makes a broker answer its next requests of a kind with these errors, one each.
    ///
    /// It has no effect on metadata requests; see ``setError(_:ofTopic:)``.
    package func fail(next request: Request, with codes: [KafkaError.Code], broker: Int32 = 1) {
        for code in codes {
            crdkafka_mock_broker_push_request_error(cluster, broker, request.rawValue, rd_kafka_resp_err_t(code.rawValue))
        }
    }

    /// How many of the errors for a kind of request a broker has not returned yet.
    package func pendingFailures(of request: Request, broker: Int32 = 1) -> Int {
        var count = 0
        rd_kafka_mock_broker_error_stack_cnt(cluster, broker, request.rawValue, &count)
        return count
    }

    /// Sets the error of a topic in metadata; nil removes it. Clients must know the topic already, or it has no partitions.
    package func setError(_ code: KafkaError.Code?, ofTopic topic: String) {
        let code = code.map { rd_kafka_resp_err_t($0.rawValue) } ?? RD_KAFKA_RESP_ERR_NO_ERROR
        rd_kafka_mock_topic_set_error(cluster, topic, code)
    }

    package func setLeader(_ broker: Int32, of partition: TopicPartition) {
        _ = rd_kafka_mock_partition_set_leader(cluster, partition.topic, partition.partition, broker)
    }

    package func setCoordinator(_ broker: Int32, ofGroup group: String) {
        _ = rd_kafka_mock_coordinator_set(cluster, "group", group, broker)
    }

    package func setCoordinator(_ broker: Int32, ofTransactionalID id: String) {
        _ = rd_kafka_mock_coordinator_set(cluster, "transaction", id, broker)
    }

    /// Delays each response of a broker.
    package func setRoundTrip(_ delay: Duration, ofBroker broker: Int32 = 1) {
        rd_kafka_mock_broker_set_rtt(cluster, broker, delay.milliseconds)
    }

    /// Cuts a broker's connections and refuses new ones.
    package func takeDown(broker: Int32 = 1) {
        _ = Self.ports.withLock { rd_kafka_mock_broker_set_down(cluster, broker) }
    }

    /// Lets a broker accept connections again.
    package func bringUp(broker: Int32 = 1) {
        _ = Self.ports.withLock { rd_kafka_mock_broker_set_up(cluster, broker) }
    }
}
