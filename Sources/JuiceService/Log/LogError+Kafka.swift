import JuiceEngine
import Kafka

extension LogError {
    /// What no retry and no new client will change: a right that is denied, a setting that is refused.
    private static let hopeless: Set<KafkaError.Code> = [
        .topicAuthorizationFailed, .groupAuthorizationFailed, .transactionalIDAuthorizationFailed,
        .clusterAuthorizationFailed, .inconsistentGroupProtocol, .invalidTransactionTimeout,
        .invalidSessionTimeout, .invalidGroupID, .invalidArgument, .unsupportedFeature, .unsupportedVersion,
        .unsupportedForMessageFormat, .invalidPartitions,
    ]

    /// The engine's view of a client's error.
    init(_ error: KafkaError) {
        let remedy: Remedy =
            switch error.remedy {
            case _ where Self.hopeless.contains(error.code): .stop
            case .abort: .abort
            case .retry: .retry
            case .startOver: .startOver
            }
        self.init(remedy, error.description, isRecordTooLarge: error.code == .messageTooLarge)
    }
}
