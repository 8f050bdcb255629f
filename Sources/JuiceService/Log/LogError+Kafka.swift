import JuiceEngine
import Kafka

extension LogError {
    /// The engine's view of a client's error.
    init(_ error: KafkaError) {
        let remedy: Remedy =
            switch error.remedy {
            case _ where error.code.isHopeless: .stop
            case .retry: .retry
            case .startOver: .startOver
            }
        self.init(
            remedy,
            error.description + error.code.neededRights,
            subject: error.code.isRefusalOfRecord ? .record : .call
        )
    }

    /// Makes a call of a client, whose errors become the engine's.
    static func rethrowing<Success>(_ body: () throws(KafkaError) -> Success) throws(LogError) -> Success {
        do throws(KafkaError) {
            return try body()
        } catch {
            throw LogError(error)
        }
    }
}

extension KafkaError.Code {
    /// Which rights the service needs, where it lacks one, to go after the error: librdkafka tells the resource of a denied
    /// request at best, and never the right.
    var neededRights: String {
        let needs: String
        switch self {
        case .topicAuthorizationFailed:
            needs =
                "Read and Write on its topics (on dead letters only Write), DescribeConfigs, and Create with --create-topics"
        case .groupAuthorizationFailed: needs = "Read on its group"
        case .transactionalIDAuthorizationFailed: needs = "Write on transactional ids that begin with GROUP/"
        case .clusterAuthorizationFailed: needs = "no right on the cluster, unless it is to create topics"
        default: return ""
        }
        return "; the service needs \(needs): see docs/SECURITY.md"
    }
}
