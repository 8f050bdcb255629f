import CRdKafka
import Foundation

/// An error of a Kafka client, and what to do about it.
public struct KafkaError: Error, Sendable, CustomStringConvertible {
    /// What the caller does next. librdkafka offers a third way: abort the transaction and keep the client. Some failures, such as
    /// an expired transactional id, cannot be ended that way, and earlier requests may still arrive under the same epoch.
    public enum Remedy: Sendable {
        /// Nothing is decided yet: make the same call again with the same arguments.
        case retry
        /// The transaction failed, its outcome is unknown, or the client is unusable: drop the client and begin with a new one.
        case startOver
    }

    /// librdkafka's code.
    public let code: Code
    /// A sentence, librdkafka's or this module's.
    public internal(set) var message: String
    /// The client is beyond recovery.
    public let isFatal: Bool
    /// The same call may succeed later.
    public internal(set) var isRetriable: Bool
    /// The current transaction must be aborted.
    public internal(set) var requiresAbort: Bool
    /// The offset at which a consumer met the error, if known.
    public internal(set) var offset: Offset?
    /// The partition of the record that was not written, if a single one is to blame.
    public package(set) var place: TopicPartition?
    /// The address `host:port` to which a connection failed, for the reason in the message; nil for any other error.
    public internal(set) var broker: String?

    /// An error with librdkafka's three flags; without a message it has the code's.
    public init(code: Code, message: String? = nil, isFatal: Bool = false, isRetriable: Bool = false, requiresAbort: Bool = false) {
        (self.code, self.message) = (code, message ?? String(cString: rd_kafka_err2str(code.response)))
        (self.isFatal, self.isRetriable, self.requiresAbort) = (isFatal, isRetriable, requiresAbort)
    }

    /// Converts and destroys an `rd_kafka_error_t`; nil means success.
    init?(consuming error: OpaquePointer?) {
        guard let error else { return nil }
        defer { rd_kafka_error_destroy(error) }
        self.init(
            code: Code(rd_kafka_error_code(error)), message: String(cString: rd_kafka_error_string(error)),
            isFatal: rd_kafka_error_is_fatal(error) != 0, isRetriable: rd_kafka_error_is_retriable(error) != 0,
            requiresAbort: rd_kafka_error_txn_requires_abort(error) != 0)
    }

    /// Converts a plain response code; nil means success.
    package init?(_ code: rd_kafka_resp_err_t, message: String? = nil) {
        guard code != RD_KAFKA_RESP_ERR_NO_ERROR else { return nil }
        let code = Code(code)
        self.init(code: code, message: message, isFatal: code == .fatal, isRetriable: Code.transient.contains(code))
    }

    /// What to do next. For an error without flags the safe answer is to start over.
    public var remedy: Remedy { isRetriable && !isFatal && !requiresAbort ? .retry : .startOver }

    /// The broker if there is one, the message or the brokers' limit that was exceeded, and librdkafka's name for the code.
    public var description: String {
        "\(broker.map { "\($0): " } ?? "")\(code.exceededLimit ?? message) (\(code.name))"
    }

    func with<Value>(_ property: WritableKeyPath<KafkaError, Value>, _ value: Value) -> KafkaError {
        var error = self
        error[keyPath: property] = value
        return error
    }

    static let outOfMemory = KafkaError(code: .outOfMemory, message: "librdkafka could not allocate memory")
    static let noTransaction = KafkaError(code: .state, message: "no transaction is open")

    package static let noAnswer = KafkaError(code: .timedOut, isRetriable: true)

    /// librdkafka's own message quotes the value, which may be a secret, possibly set under the wrong name.
    static func refusedProperty(_ name: String, _ result: rd_kafka_conf_res_t, _ reason: String = "") -> KafkaError {
        var fault = result == RD_KAFKA_CONF_UNKNOWN ? "there is no such property" : "its value is refused"
        if let colon = reason.firstRange(of: "not supported in this build: ") {
            fault = "this librdkafka (\(KafkaLibrary.version)) was built without it: \(reason[colon.upperBound...])"
        }
        return KafkaError(code: .invalidArgument, message: "Kafka property \"\(name)\": \(fault)")
    }

    /// Why a client cannot be created, with a hint if there is one.
    static func refusedConfiguration(_ reason: String) -> KafkaError {
        let hint = reason.hasPrefix("ssl.key.location failed") ? " (is ssl.key.password right?)" : ""
        return KafkaError(code: .invalidArgument, message: reason + hint)
    }
}

/// Repeats a call while its error says ``KafkaError/Remedy/retry`` and `isWorthWaiting` returns true.
@discardableResult
public func retrying<Success>(
    while isWorthWaiting: () -> Bool, _ call: () throws(KafkaError) -> Success
) throws(KafkaError) -> Success {
    while true {
        do throws(KafkaError) {
            return try call()
        } catch {
            guard error.remedy == .retry, isWorthWaiting() else { throw error }
        }
    }
}

/// The same until `deadline`, with a short pause in between. The call gets the time that is left.
@discardableResult
package func retrying<Success>(
    until deadline: ContinuousClock.Instant, _ call: (_ left: Duration) throws(KafkaError) -> Success
) throws(KafkaError) -> Success {
    func waits() -> Bool {
        Thread.sleep(forTimeInterval: 0.02)
        return .now < deadline
    }
    return try retrying(while: waits) { () throws(KafkaError) in try call(max(.zero, deadline - .now)) }
}

// MARK: - Codes

extension KafkaError {
    /// A number of `rd_kafka_resp_err_t`: negative ones are librdkafka's own, positive ones a broker's.
    public struct Code: RawRepresentable, Hashable, Sendable {
        /// The number.
        public let rawValue: Int32

        /// The code of that number.
        public init(rawValue: Int32) { self.rawValue = rawValue }

        init(_ code: rd_kafka_resp_err_t) { rawValue = code.rawValue }

        fileprivate var response: rd_kafka_resp_err_t { rd_kafka_resp_err_t(rawValue) }

        /// Such as `_TIMED_OUT`.
        package var name: String { String(cString: rd_kafka_err2name(response)) }

        package var isFromBroker: Bool { rawValue > 0 }
    }
}

extension KafkaError.Code {
    /// Whether broker and client refuse each other as configured, for example for a wrong password or an untrusted certificate, or
    /// this librdkafka cannot parse the broker's response.
    public var isRefusal: Bool { self == .authentication || self == .ssl || self == .unparsable }

    /// Whether the principal lacks a right.
    public var isDenial: Bool {
        let denials: [Self] = [
            .topicAuthorizationFailed, .groupAuthorizationFailed, .transactionalIDAuthorizationFailed, .clusterAuthorizationFailed,
        ]
        return denials.contains(self)
    }

    /// Whether a topic or a partition does not exist.
    public var isMissing: Bool { [.unknownTopicOrPartition, .unknownTopic, .unknownPartition].contains(self) }

    /// Whether neither a retry nor a new client can help: a right is missing or a setting is refused.
    public var isHopeless: Bool { isDenial || isRefusalOfSetting }

    /// Whether a client's property is refused, or a topic's when it is created.
    public var isRefusalOfSetting: Bool { Self.refusedSettings.contains(self) }

    private static let refusedSettings: Set<Self> = [
        .inconsistentGroupProtocol, .invalidTransactionTimeout, .invalidSessionTimeout, .invalidGroupID, .invalidArgument,
        Self(RD_KAFKA_RESP_ERR__UNSUPPORTED_FEATURE), Self(RD_KAFKA_RESP_ERR_UNSUPPORTED_VERSION),
        // The topic's message format predates transactions.
        Self(RD_KAFKA_RESP_ERR_UNSUPPORTED_FOR_MESSAGE_FORMAT), .invalidPartitions,
        .invalidReplicationFactor, .invalidConfig,
        Self(RD_KAFKA_RESP_ERR_POLICY_VIOLATION), Self(RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION),
    ]

    /// The client's property that the brokers refuse, and their limit for it. librdkafka names none, or one that does not exist.
    public var exceededLimit: String? {
        switch self {
        case .invalidSessionTimeout:
            "the brokers refuse session.timeout.ms: it must be from their group.min.session.timeout.ms to their"
                + " group.max.session.timeout.ms"
        case .invalidTransactionTimeout:
            "the brokers refuse transaction.timeout.ms: it must be at most their transaction.max.timeout.ms"
        case Self(RD_KAFKA_RESP_ERR_GROUP_MAX_SIZE_REACHED):
            "the brokers refuse another member: the group has as many as their group.max.size allows"
        default: nil
        }
    }

    /// Whether a broker refuses a record because of the record itself, and would refuse it again.
    public var isRefusalOfRecord: Bool { Self.refusedRecords.contains(self) }

    private static let refusedRecords: Set<Self> = [
        .messageTooLarge, .recordListTooLarge, Self(RD_KAFKA_RESP_ERR_INVALID_MSG_SIZE), .invalidTimestamp, .invalidRecord,
        Self(RD_KAFKA_RESP_ERR_POLICY_VIOLATION),
    ]

    /// Whether a consumer cannot read records: their bytes in the log are damaged, or of a format that it does not know.
    ///
    /// What librdkafka (up to 2.16, issue 5581) returns from the partition after that is unreliable. So take nothing more from it,
    /// not even from the same batch, until it is assigned again. ``KafkaError/offset`` is the offset of the damaged record batch,
    /// which may begin below the offset that was read from.
    public var isDamage: Bool {
        // A broker's CORRUPT_MESSAGE is INVALID_MSG here.
        [.badMessage, .badCompression, Self(RD_KAFKA_RESP_ERR__NOT_IMPLEMENTED), Self(RD_KAFKA_RESP_ERR_INVALID_MSG)].contains(self)
    }

    /// Whether the offset to read from is outside the log: noticed by the client, or reported by a broker.
    public var isOffsetReset: Bool { self == Self(RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET) || self == .offsetOutOfRange }

    /// Codes that are worth a retry when librdkafka returns them without flags.
    fileprivate static let transient: Set<Self> = [
        .timedOut, Self(RD_KAFKA_RESP_ERR__TIMED_OUT_QUEUE), .transport, .allBrokersDown, .resolve, .queueFull,
        Self(RD_KAFKA_RESP_ERR__WAIT_COORD), Self(RD_KAFKA_RESP_ERR__IN_PROGRESS), Self(RD_KAFKA_RESP_ERR__RETRY),
        Self(RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS), Self(RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE),
        Self(RD_KAFKA_RESP_ERR_NOT_COORDINATOR), Self(RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE),
        Self(RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION), Self(RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT),
        Self(RD_KAFKA_RESP_ERR_NETWORK_EXCEPTION), Self(RD_KAFKA_RESP_ERR_UNSTABLE_OFFSET_COMMIT),
        Self(RD_KAFKA_RESP_ERR_BROKER_NOT_AVAILABLE), Self(RD_KAFKA_RESP_ERR_REPLICA_NOT_AVAILABLE),
        Self(RD_KAFKA_RESP_ERR_OFFSET_NOT_AVAILABLE), Self(RD_KAFKA_RESP_ERR_KAFKA_STORAGE_ERROR),
        Self(RD_KAFKA_RESP_ERR_NOT_CONTROLLER),
        // The client's or the broker's metadata is older than the last election.
        Self(RD_KAFKA_RESP_ERR_FENCED_LEADER_EPOCH), Self(RD_KAFKA_RESP_ERR_UNKNOWN_LEADER_EPOCH),
    ]
}

/// The codes that this package names. `rdkafka.h` says what each means; those with two underscores there are librdkafka's own.
extension KafkaError.Code {
    package static let fatal = Self(RD_KAFKA_RESP_ERR__FATAL)
    /// No broker answered or confirmed in time.
    public static let timedOut = Self(RD_KAFKA_RESP_ERR__TIMED_OUT)
    /// A record was not confirmed within `message.timeout.ms`.
    package static let messageTimedOut = Self(RD_KAFKA_RESP_ERR__MSG_TIMED_OUT)
    package static let transport = Self(RD_KAFKA_RESP_ERR__TRANSPORT)
    package static let allBrokersDown = Self(RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN)
    package static let resolve = Self(RD_KAFKA_RESP_ERR__RESOLVE)
    package static let authentication = Self(RD_KAFKA_RESP_ERR__AUTHENTICATION)
    package static let ssl = Self(RD_KAFKA_RESP_ERR__SSL)
    package static let invalidArgument = Self(RD_KAFKA_RESP_ERR__INVALID_ARG)
    package static let state = Self(RD_KAFKA_RESP_ERR__STATE)
    static let outOfMemory = Self(RD_KAFKA_RESP_ERR__CRIT_SYS_RESOURCE)

    package static let queueFull = Self(RD_KAFKA_RESP_ERR__QUEUE_FULL)
    package static let messageTooLarge = Self(RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE)
    package static let recordListTooLarge = Self(RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE)
    package static let invalidRecord = Self(RD_KAFKA_RESP_ERR_INVALID_RECORD)
    package static let invalidTimestamp = Self(RD_KAFKA_RESP_ERR_INVALID_TIMESTAMP)
    static let invalidConfig = Self(RD_KAFKA_RESP_ERR_INVALID_CONFIG)
    static let purgedFromQueue = Self(RD_KAFKA_RESP_ERR__PURGE_QUEUE)
    static let purgedInFlight = Self(RD_KAFKA_RESP_ERR__PURGE_INFLIGHT)

    /// Another producer has taken over the transactional id.
    package static let fenced = Self(RD_KAFKA_RESP_ERR__FENCED)
    /// The coordinator has not ended the previous transaction yet.
    package static let concurrentTransactions = Self(RD_KAFKA_RESP_ERR_CONCURRENT_TRANSACTIONS)
    /// `transaction.timeout.ms` exceeds the broker's limit.
    package static let invalidTransactionTimeout = Self(RD_KAFKA_RESP_ERR_INVALID_TRANSACTION_TIMEOUT)

    package static let fencedInstanceID = Self(RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID)
    package static let inconsistentGroupProtocol = Self(RD_KAFKA_RESP_ERR_INCONSISTENT_GROUP_PROTOCOL)
    package static let invalidSessionTimeout = Self(RD_KAFKA_RESP_ERR_INVALID_SESSION_TIMEOUT)
    package static let invalidGroupID = Self(RD_KAFKA_RESP_ERR_INVALID_GROUP_ID)

    package static let offsetOutOfRange = Self(RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE)
    package static let badMessage = Self(RD_KAFKA_RESP_ERR__BAD_MSG)
    /// librdkafka cannot parse a broker's response.
    package static let unparsable = Self(RD_KAFKA_RESP_ERR__UNDERFLOW)
    package static let badCompression = Self(RD_KAFKA_RESP_ERR__BAD_COMPRESSION)

    package static let unknownTopicOrPartition = Self(RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART)
    /// The same, noticed by the client.
    package static let unknownTopic = Self(RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC)
    package static let unknownPartition = Self(RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION)
    static let topicAlreadyExists = Self(RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS)
    package static let invalidPartitions = Self(RD_KAFKA_RESP_ERR_INVALID_PARTITIONS)
    /// There are fewer brokers than the requested replicas.
    package static let invalidReplicationFactor = Self(RD_KAFKA_RESP_ERR_INVALID_REPLICATION_FACTOR)

    package static let topicAuthorizationFailed = Self(RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED)
    package static let groupAuthorizationFailed = Self(RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED)
    package static let transactionalIDAuthorizationFailed = Self(RD_KAFKA_RESP_ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    package static let clusterAuthorizationFailed = Self(RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED)
}
