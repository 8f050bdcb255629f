import Logging

/// What a client reports besides the results of its calls.
///
/// The closures run on librdkafka's threads or inside a polling call. They must be quick, and must not block or call the
/// client.
public struct ClientHooks: Sendable {
    /// Where librdkafka's own log lines go.
    public var logger: Logger
    /// The most severe level for such a line. Much of what librdkafka logs as an error heals by itself or is returned by the
    /// next call; an owner that reports errors itself lowers this.
    public var logCeiling: Logger.Level
    /// Called every `statistics.interval.ms` with librdkafka's statistics, a JSON document.
    public var onStatistics: (@Sendable (String) -> Void)?
    /// Called for errors in the background, for example that all brokers are down. Most heal by themselves; a fatal one is also
    /// thrown by the next call.
    public var onError: (@Sendable (KafkaError) -> Void)?

    /// Hooks that only log, unless closures are given.
    public init(
        logger: Logger, logCeiling: Logger.Level = .critical, onStatistics: (@Sendable (String) -> Void)? = nil,
        onError: (@Sendable (KafkaError) -> Void)? = nil
    ) {
        self.logger = logger
        self.logCeiling = logCeiling
        self.onStatistics = onStatistics
        self.onError = onError
    }
}
