import JuiceEngine
import Kafka

extension LogError {
    /// The error of a Kafka client as the engine sees it.
    init(_ error: KafkaError) {
        let remedy: Remedy =
            switch error.remedy {
            case _ where error.code.isHopeless: .stop
            case .retry: .retry
            case .startOver: .startOver
            }
        let subject: Subject =
            switch error.code {
            case _ where error.code.isRefusalOfRecord: .record
            case .transport: .connection
            default: .call
            }
        self.init(remedy, error.description + error.code.neededRights, subject: subject)
    }

    /// Calls a Kafka client and turns its errors into the engine's.
    static func rethrowing<Success>(_ body: () throws(KafkaError) -> Success) throws(LogError) -> Success {
        do throws(KafkaError) { return try body() } catch { throw LogError(error) }
    }
}

extension KafkaError.Code {
    /// For an error about a missing right, a text that names the rights the service needs; otherwise empty. librdkafka names
    /// the resource of a denied request at best, and never the right.
    var neededRights: String {
        let needs: String
        switch self {
        case .topicAuthorizationFailed:
            needs = "Read and Write on its topics (on dead letters only Write), DescribeConfigs, and Create with --create-topics"
        case .groupAuthorizationFailed: needs = "Read on its group"
        case .transactionalIDAuthorizationFailed: needs = "Write on transactional ids that begin with GROUP/"
        case .clusterAuthorizationFailed: needs = "no right on the cluster, unless it is to create topics"
        default: return ""
        }
        return "; the service needs \(needs): see docs/SECURITY.md"
    }
}
