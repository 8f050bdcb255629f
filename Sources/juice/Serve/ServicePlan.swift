import JuiceClient
import JuiceHTTP
import JuiceMessages
import JuiceService
import Logging

/// What `juice serve` is to do, read from its settings and checked before anything is started.
struct ServicePlan {
    var configuration: ServiceConfiguration
    let partitions: Int
    let replicationFactor: Int?
    let createsTopics: Bool
    let http: HTTPAddress?
    /// Where a file is to be while the service is ready.
    let readyFile: String?
    let logger: Logger

    init(_ settings: Settings) throws(Failure) {
        logger = try settings.logger(default: .notice)
        // So that librdkafka's word on its properties is not preceded by a welcome, it is asked for it.
        let connection = try Connection(settings)
        _ = try connection.admin()
        configuration = try ServiceConfiguration(settings, kafkaProperties: connection.properties)
        // Without brokers, the command starts an embedded one and sets this itself.
        if !configuration.bootstrapServers.isEmpty { configuration.capabilities = connection.capabilities }
        partitions = try settings.partitions()
        replicationFactor = try settings.integer(.replicationFactor, in: 1...100)
        createsTopics = try settings.boolean(.createTopics)
        http = try settings.address(.http)
        readyFile = settings.string(.readyFile)
    }

    /// The topics to make where they are missing.
    var topicPlan: TopicPlan? {
        guard createsTopics else { return nil }
        return TopicPlan(
            names: configuration.topics,
            partitionCount: partitions,
            replicationFactor: replicationFactor
        )
    }
}
