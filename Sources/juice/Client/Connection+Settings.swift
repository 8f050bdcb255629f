import JuiceClient
import JuiceMessages

extension Connection {
    /// The connection that the settings describe.
    init(_ settings: Settings, runFiles: RunFiles = .ofThisUser()) throws(Failure) {
        let logger = try settings.logger(default: .warning)
        let (servers, origin): (String, Origin)
        let running = runFiles.live()
        if let configured = try settings[.bootstrapServers] {
            let embedded = running.first { $0.bootstrapServers == configured }
            (servers, origin) = (configured, embedded.map { .embedded(processID: $0.processID) } ?? .configured)
        } else if try settings[.requireBrokers] {
            throw Failure(
                .configuration, "no Kafka brokers are named",
                hint: "set JUICE_BOOTSTRAP_SERVERS to yours, such as kafka1:9092,kafka2:9092")
        } else if let running = running.first {
            (servers, origin) = (running.bootstrapServers, .embedded(processID: running.processID))
        } else {
            (servers, origin) = (Self.fallbackServers, .fallback)
        }
        let properties = try KafkaProperties.read(settings)
        try KafkaProperties.checkNames(properties)
        self.init(
            bootstrapServers: servers, origin: origin, topics: TopicNames(prefix: try settings[.topicPrefix]),
            properties: properties, logger: logger)
    }
}
