import CRdKafka

/// librdkafka, as it was found when this process started: not always the one whose headers this was compiled with.
public enum KafkaLibrary {
    /// Its version, such as `2.0.2`.
    public static var version: String { String(cString: rd_kafka_version_str()) }
}
