/// What a broker can do beyond storing and serving records, as far as its clients here have to know.
public struct BrokerCapabilities: Sendable, Equatable {
    /// It finds the offset that belongs to a timestamp.
    public let findsOffsetsByTime: Bool
    /// It creates topics on request and describes their configuration.
    public let managesTopics: Bool
    /// It answers a fetch as soon as there are records, and not only when `fetch.wait.max.ms` is over.
    public let answersFetchesEarly: Bool

    /// The capabilities of Apache Kafka.
    public static let full = BrokerCapabilities(findsOffsetsByTime: true, managesTopics: true, answersFetchesEarly: true)

    /// The capabilities of an ``EmbeddedBroker``.
    public static let embedded = BrokerCapabilities(findsOffsetsByTime: false, managesTopics: false, answersFetchesEarly: false)

    /// How long a broker may hold back a fetch of a client that must not be kept waiting, in milliseconds.
    public var fetchWait: Int { answersFetchesEarly ? 100 : 10 }
}
