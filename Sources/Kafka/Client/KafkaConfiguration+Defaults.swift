extension KafkaConfiguration {
    /// The defaults of this module for a client, as far as the installed librdkafka knows the properties.
    static func defaults(of kind: ClientHandle.Kind) -> KafkaConfiguration {
        switch kind {
        case .consumer: ofConsumers
        case .producer: ofAll
        }
    }

    /// From 2.5 on, clients push metrics about themselves to brokers, and closing a client may wait a second for the last push.
    private static let ofAll = KafkaConfiguration(known: ["enable.metrics.push": "false"])

    private static let ofConsumers = ofAll.merging(KafkaConfiguration(known: [fetchQueueBackoff: "5"]).properties)

    /// What is set whatever the user says. Without this librdkafka hands out damaged records as data.
    static func required(of kind: ClientHandle.Kind) -> [String: String] {
        kind == .consumer ? ["check.crcs": "true"] : [:]
    }

    /// How long fetching pauses after a consumer's queue was full, in milliseconds. The default of a second halves the
    /// throughput.
    private static let fetchQueueBackoff = "fetch.queue.backoff.ms"

    /// Whether a consumer resumes fetching by itself after its queue was full. Versions before 2.2 check only when something
    /// wakes the leader's thread, or after a second.
    static let fetchesOn = isKnown(fetchQueueBackoff)

    /// Whether a consumer is told when a partition's leader has moved. Before 2.1 fetches carry no leader epoch. So a broker that
    /// is shutting down answers them as a follower, with nothing new for seconds, and only newer metadata shows where the leader
    /// is. The first version that can be told by a property is 2.2; 2.1 asks more than it needs.
    static let noticesMovedLeaders = isKnown(fetchQueueBackoff)

    private init(known properties: [String: String]) {
        self.init(properties.filter { Self.isKnown($0.key) })
    }
}

extension Consumer {
    /// Makes librdkafka resume fetching at once after its queue was full, by a request that wakes all leaders' threads. Does
    /// nothing if the installed version does not need it.
    public func fetchOn(from partitions: [TopicPartition]) {
        guard !KafkaConfiguration.fetchesOn else { return }
        // The answer, which may come after that to a fetch, is not waited for.
        _ = try? endOffsets(of: partitions, timeout: .milliseconds(1))
    }
}
