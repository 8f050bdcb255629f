import Kafka
import Logging

/// Probes the brokers every second, and asks for the service's lag every other time.
///
/// librdkafka reports a lost connection late and a restored one never, so the brokers have to be asked.
struct Watch {
    private static let pause = Duration.seconds(1)
    private static let callTimeout = Duration.seconds(2)

    let configuration: KioskConfiguration
    let hub: Hub
    let stop: StopSignal
    let steps: StepWatch
    let logger: Logger

    /// Watches until the stop is requested.
    ///
    /// - Throws: `KafkaError` if librdkafka rejects the configuration.
    func run() throws {
        let consumer = try Consumer(configuration: configuration.watch, hooks: ClientHooks(logger: logger, logCeiling: .debug))
        let brokers = BrokerWatch(bootstrapServers: configuration.kafka["bootstrap.servers"] ?? "", logger: logger)
        var round = 0
        while !stop.isRequested {
            steps.stepped("the watch over brokers")
            let failure = brokers.probe(consumer, timeout: Self.callTimeout)
            hub.update { board in
                if let failure { board.failed(failure.message) } else { board.reached() }
            }
            if failure == nil, round.isMultiple(of: 2) {
                let lag = lag(consumer)
                hub.update { $0.lag = lag }
            }
            round += 1
            stop.wait(for: Self.pause)
        }
    }

    /// The service's lag; nil if it is unknown: topics or permissions are missing, or the group has never committed.
    private func lag(_ consumer: Consumer) -> Int? {
        let names = [configuration.topics.orders, configuration.topics.restocks]
        guard let partitions = try? consumer.partitions(of: names, timeout: Self.callTimeout),
            let committed = try? consumer.committed(partitions, timeout: Self.callTimeout),
            let ends = try? consumer.endOffsets(of: partitions, timeout: Self.callTimeout)
        else { return nil }
        return Lag.sum(committed: committed, ends: ends)
    }
}

/// How many records a group has not processed.
enum Lag {
    /// - Returns: nil if the group has no committed offset at all.
    static func sum(committed: [TopicPartition: Offset?], ends: [TopicPartition: Offset]) -> Int? {
        let known = committed.compactMapValues(\.self)
        guard !known.isEmpty else { return nil }
        return known.reduce(0) { sum, entry in sum + Int(max(0, (ends[entry.key] ?? 0) - entry.value)) }
    }
}
