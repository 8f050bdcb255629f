import JuiceEngine
import Kafka

/// Why the service could not start or continue.
package enum ServiceError: Error, CustomStringConvertible {
    /// A setting is invalid, or the brokers refuse it.
    case badConfiguration(String)
    /// The topics cannot be used as they are.
    case unfitTopics([TopicCheck.Problem])
    /// It may go on in a moment: a right is missing, or a file that was there before.
    case passing(String)
    /// A worker failed for good.
    case failed(String)

    init(_ error: LogError) {
        switch error.subject {
        case .right: self = .passing(error.message)
        case .setting: self = .badConfiguration(error.message)
        default: self = .failed(error.message)
        }
    }

    /// What happened and, if known, how to fix it.
    package var description: String {
        switch self {
        case .badConfiguration(let reason), .passing(let reason), .failed(let reason): reason
        case .unfitTopics(let problems): problems.map(\.description).joined(separator: "\n")
        }
    }
}
