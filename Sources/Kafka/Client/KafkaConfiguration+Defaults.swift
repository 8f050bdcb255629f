extension KafkaConfiguration {
    /// What a client is given unless its owner says otherwise, as far as the librdkafka at hand knows it.
    static func defaults(of kind: ClientHandle.Kind) -> KafkaConfiguration {
        switch kind {
        case .consumer: ofConsumers
        case .producer: ofAll
        }
    }

    /// From 2.5 on clients send brokers metrics about themselves, and closing one may wait a second for the last of them.
    private static let ofAll = KafkaConfiguration(known: ["enable.metrics.push": "false"])

    private static let ofConsumers = ofAll.merging(
        KafkaConfiguration(known: [fetchQueueBackoff: "5"]).properties
    )

    /// How long fetching pauses once a consumer's queue was full, in milliseconds. The default of a second halves what can be
    /// read.
    private static let fetchQueueBackoff = "fetch.queue.backoff.ms"

    /// Whether a consumer whose queue was full fetches on by itself. Versions before 2.2 look again only when something wakes the
    /// leader's thread, at the latest after a second.
    static let fetchesOn = isKnown(fetchQueueBackoff)

    private init(known properties: [String: String]) {
        self.init(properties.filter { Self.isKnown($0.key) })
    }
}

extension Consumer {
    /// Makes librdkafka fetch on at once where the queue was full. A request to the leaders wakes them all; where the version at
    /// hand needs that no more, nothing is asked.
    public func fetchOn(from partitions: [TopicPartition], timeout: Duration) {
        guard !KafkaConfiguration.fetchesOn else { return }
        _ = try? endOffsets(of: partitions, timeout: timeout)
    }
}
