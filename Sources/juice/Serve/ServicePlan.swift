import JuiceClient
import JuiceHTTP
import JuiceMessages
import JuiceService
import Logging

/// The configuration of `juice serve`, read from the settings and checked before anything starts.
struct ServicePlan {
    var configuration: ServiceConfiguration
    let partitions: Int
    let replicationFactor: Int?
    let createsTopics: Bool
    let http: HTTPAddress?
    /// The path of the file that exists while the service is ready.
    let readyFile: String?
    let logger: Logger

    init(_ settings: Settings) throws(Failure) {
        logger = try settings.logger(default: .notice)
        // Creating a client reports invalid librdkafka properties before the welcome text is printed.
        let connection = try Connection(settings)
        _ = try connection.admin()
        configuration = try ServiceConfiguration(settings, kafkaProperties: connection.properties)
        // Without brokers the command starts an embedded one and sets the capabilities itself.
        if !configuration.bootstrapServers.isEmpty { configuration.capabilities = connection.capabilities }
        partitions = try settings.partitions()
        replicationFactor = try settings.integer(.replicationFactor, in: 1...100)
        createsTopics = try settings.boolean(.createTopics)
        http = try settings.address(.http)
        readyFile = settings.string(.readyFile)
    }

    /// The topics to create if they are missing.
    var topicPlan: TopicPlan? {
        guard createsTopics else { return nil }
        return TopicPlan(names: configuration.topics, partitionCount: partitions, replicationFactor: replicationFactor)
    }
}
