import Logging

/// What a client tells its owner besides the results of calls.
///
/// The closures run on librdkafka's threads or inside a polling call: they must be quick, must not block and
/// must not call the client.
public struct ClientHooks: Sendable {
    /// Where librdkafka's own log lines go.
    public var logger: Logger
    /// The most severe level that such a line gets. librdkafka calls much an error that heals by itself, or that the
    /// next call reports; an owner that reports those itself lowers this.
    public var logCeiling: Logger.Level
    /// librdkafka's statistics as a JSON document, every `statistics.interval.ms`.
    public var onStatistics: (@Sendable (String) -> Void)?
    /// A transactional producer has to take its id over anew, since one of its requests may still be on its way.
    public var onSuspect: (@Sendable () -> Void)?
    /// Something the client noticed by itself, such as all brokers being down. Most of these heal by
    /// themselves; a fatal one also comes back from the next call.
    public var onError: (@Sendable (KafkaError) -> Void)?

    /// Hooks that log only, unless more are given.
    public init(
        logger: Logger,
        logCeiling: Logger.Level = .critical,
        onStatistics: (@Sendable (String) -> Void)? = nil,
        onError: (@Sendable (KafkaError) -> Void)? = nil
    ) {
        self.logger = logger
        self.logCeiling = logCeiling
        self.onStatistics = onStatistics
        self.onError = onError
    }
}
