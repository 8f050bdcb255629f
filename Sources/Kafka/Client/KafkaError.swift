import CRdKafka

/// An error of a Kafka client, and what to do about it.
public struct KafkaError: Error, Sendable {
    /// What the caller does next.
    ///
    /// librdkafka offers a third way: abort the transaction and keep the client. Some failures, such as an expired
    /// transactional id, never end that way, and earlier requests may still arrive under the same epoch.
    public enum Remedy: Sendable, Equatable {
        /// Nothing is decided yet: make the same call again with the same arguments.
        case retry
        /// The transaction failed, its outcome is unknown, or the client is unusable: drop the client and begin with a new one.
        case startOver
    }

    /// librdkafka's code.
    public let code: Code
    /// A sentence for people, librdkafka's or this module's.
    public let message: String
    /// The client instance is beyond recovery.
    public let isFatal: Bool
    /// The same call may succeed later.
    public let isRetriable: Bool
    /// The current transaction must be aborted.
    public let requiresAbort: Bool
    /// The offset at which a consumer met the error, if known.
    public private(set) var offset: Offset?

    /// An error with librdkafka's three flags; without a message it has the code's.
    public init(code: Code, message: String? = nil, isFatal: Bool = false, isRetriable: Bool = false, requiresAbort: Bool = false) {
        self.code = code
        self.message = message ?? code.sentence
        self.isFatal = isFatal
        self.isRetriable = isRetriable
        self.requiresAbort = requiresAbort
    }

    /// The same error, met at an offset.
    func at(_ offset: Offset) -> KafkaError {
        var error = self
        error.offset = offset >= 0 ? offset : nil
        return error
    }

    /// What to do next. For an error without flags the safe answer is to start over.
    public var remedy: Remedy { isRetriable && !isFatal && !requiresAbort ? .retry : .startOver }

    static let outOfMemory = KafkaError(code: .outOfMemory, message: "librdkafka could not allocate memory")

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
    init?(_ code: rd_kafka_resp_err_t, message: String? = nil) {
        guard code != RD_KAFKA_RESP_ERR_NO_ERROR else { return nil }
        let code = Code(code)
        self.init(code: code, message: message, isFatal: code == .fatal, isRetriable: Code.transient.contains(code))
    }
}

extension KafkaError: CustomStringConvertible {
    /// The sentence followed by librdkafka's name for the code.
    public var description: String { "\(message) (\(code.name))" }
}

extension KafkaError {
    /// A response code: negative ones are librdkafka's own, positive ones a broker's.
    public struct Code: RawRepresentable, Hashable, Sendable {
        /// The number, as in `rd_kafka_resp_err_t`.
        public let rawValue: Int32

        /// The code of that number.
        public init(rawValue: Int32) { self.rawValue = rawValue }

        init(_ code: rd_kafka_resp_err_t) { rawValue = code.rawValue }

        /// librdkafka's name, such as `_TIMED_OUT`.
        public var name: String { String(cString: rd_kafka_err2name(rd_kafka_resp_err_t(rawValue))) }

        /// Whether the code comes from a broker and not from librdkafka itself.
        public var isFromBroker: Bool { rawValue > 0 }

        /// librdkafka's sentence for the code.
        public var sentence: String { String(cString: rd_kafka_err2str(rd_kafka_resp_err_t(rawValue))) }
    }
}

extension KafkaError {
    /// Whether librdkafka suspects that the listener and `security.protocol` do not match. It suspects that whenever a broker
    /// closes a connection early.
    public var suspectsConfiguration: Bool { message.contains("security.protocol") }
}

extension KafkaError.Code {
    /// Whether broker and client refuse each other as configured, for example for a wrong password or an untrusted certificate.
    public var isRefusal: Bool { self == .authentication || self == .ssl }

    /// Whether the principal lacks a right.
    public var isDenial: Bool { Self.denials.contains(self) }

    private static let denials: Set<Self> = [
        .topicAuthorizationFailed, .groupAuthorizationFailed, .transactionalIDAuthorizationFailed, .clusterAuthorizationFailed,
    ]

    /// Whether neither a retry nor a new client can help: a right is missing or a setting is refused.
    public var isHopeless: Bool { isDenial || Self.refusals.contains(self) }

    private static let refusals: Set<Self> = [
        .inconsistentGroupProtocol, .invalidTransactionTimeout, .invalidSessionTimeout, .invalidGroupID,
        .invalidArgument, .unsupportedFeature, .unsupportedVersion, .unsupportedForMessageFormat,
        .invalidPartitions,
    ]

    /// Whether a broker refuses a record for what it is, and would refuse it again.
    public var isRefusalOfRecord: Bool { Self.recordRefusals.contains(self) }

    private static let recordRefusals: Set<Self> = [
        .messageTooLarge, Self(RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE),
        Self(RD_KAFKA_RESP_ERR_INVALID_MSG_SIZE),
        Self(RD_KAFKA_RESP_ERR_INVALID_TIMESTAMP), Self(RD_KAFKA_RESP_ERR_INVALID_RECORD),
        Self(RD_KAFKA_RESP_ERR_POLICY_VIOLATION),
    ]

    /// Whether a consumer cannot read records, since their bytes in the log are damaged, or of a format that it does not know.
    ///
    /// What librdkafka does after that cannot be relied on, up to version 2.16. It may return the same error again and again, skip
    /// the damaged records, or go on at an offset that it takes out of the damaged bytes, with an error of its own or, depending
    /// on `auto.offset.reset`, without. So nothing may be taken of the partition that is returned after the first such error, in
    /// the same batch or a later one, until the partition is assigned anew. The ``KafkaError/offset`` is that of the damaged batch
    /// of records, which may begin below the offset that was read from.
    public var isDamage: Bool { Self.damages.contains(self) }

    private static let damages: Set<Self> = [
        .badMessage, .badCompression, Self(RD_KAFKA_RESP_ERR__NOT_IMPLEMENTED),
        // A broker's CORRUPT_MESSAGE.
        Self(RD_KAFKA_RESP_ERR_INVALID_MSG),
    ]

    /// Whether the offset to read from is outside the log.
    public var isOffsetReset: Bool { self == .autoOffsetReset || self == .offsetOutOfRange }

    /// The client is beyond recovery and must be dropped.
    public static let fatal = Self(RD_KAFKA_RESP_ERR__FATAL)
    /// No answer in time.
    public static let timedOut = Self(RD_KAFKA_RESP_ERR__TIMED_OUT)
    /// The request timed out in librdkafka's queue.
    public static let timedOutInQueue = Self(RD_KAFKA_RESP_ERR__TIMED_OUT_QUEUE)
    /// The connection broke.
    public static let transport = Self(RD_KAFKA_RESP_ERR__TRANSPORT)
    /// No broker of the cluster answers.
    public static let allBrokersDown = Self(RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN)
    /// A broker's name does not resolve.
    public static let resolve = Self(RD_KAFKA_RESP_ERR__RESOLVE)
    /// The broker refuses the user name, password or mechanism.
    public static let authentication = Self(RD_KAFKA_RESP_ERR__AUTHENTICATION)
    /// The TLS handshake failed.
    public static let ssl = Self(RD_KAFKA_RESP_ERR__SSL)
    /// A property or argument is refused.
    public static let invalidArgument = Self(RD_KAFKA_RESP_ERR__INVALID_ARG)
    /// The producer's queue is full.
    public static let queueFull = Self(RD_KAFKA_RESP_ERR__QUEUE_FULL)
    /// The client's state does not allow the call.
    public static let state = Self(RD_KAFKA_RESP_ERR__STATE)
    /// Another producer has taken over this transactional id.
    public static let fenced = Self(RD_KAFKA_RESP_ERR__FENCED)
    /// The coordinator has not ended the previous transaction yet.
    public static let concurrentTransactions = Self(RD_KAFKA_RESP_ERR_CONCURRENT_TRANSACTIONS)
    /// Another consumer has taken over this group instance id.
    public static let fencedInstanceID = Self(RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID)
    /// The offset to read from is not in the partition's log.
    public static let autoOffsetReset = Self(RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET)
    /// The same, reported by a broker.
    public static let offsetOutOfRange = Self(RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE)
    /// Bytes in the log are not what was written: a checksum is wrong, or they make no sense.
    public static let badMessage = Self(RD_KAFKA_RESP_ERR__BAD_MSG)
    /// Records cannot be decompressed.
    public static let badCompression = Self(RD_KAFKA_RESP_ERR__BAD_COMPRESSION)
    /// The topic or partition does not exist.
    public static let unknownTopicOrPartition = Self(RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART)
    /// The same, detected by the client.
    public static let unknownTopic = Self(RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC)
    /// The partition does not exist, detected by the client.
    public static let unknownPartition = Self(RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION)
    /// The topic exists already.
    public static let topicAlreadyExists = Self(RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS)
    /// The record is larger than allowed.
    public static let messageTooLarge = Self(RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE)
    /// The broker does not support the request.
    public static let unsupportedFeature = Self(RD_KAFKA_RESP_ERR__UNSUPPORTED_FEATURE)
    /// The principal may not do this to the topic.
    public static let topicAuthorizationFailed = Self(RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED)
    /// The principal may not use the group.
    public static let groupAuthorizationFailed = Self(RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED)
    /// The principal may not use the transactional id.
    public static let transactionalIDAuthorizationFailed = Self(RD_KAFKA_RESP_ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    /// The principal may not do this to the cluster.
    public static let clusterAuthorizationFailed = Self(RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED)
    /// The members of the group do not share an assignor.
    public static let inconsistentGroupProtocol = Self(RD_KAFKA_RESP_ERR_INCONSISTENT_GROUP_PROTOCOL)
    /// `transaction.timeout.ms` exceeds the broker's limit.
    public static let invalidTransactionTimeout = Self(RD_KAFKA_RESP_ERR_INVALID_TRANSACTION_TIMEOUT)
    /// `session.timeout.ms` is outside the broker's limits.
    public static let invalidSessionTimeout = Self(RD_KAFKA_RESP_ERR_INVALID_SESSION_TIMEOUT)
    /// The broker refuses the group's name.
    public static let invalidGroupID = Self(RD_KAFKA_RESP_ERR_INVALID_GROUP_ID)
    /// The broker is too old or too new for the request.
    public static let unsupportedVersion = Self(RD_KAFKA_RESP_ERR_UNSUPPORTED_VERSION)
    /// The topic's message format predates transactions.
    public static let unsupportedForMessageFormat = Self(RD_KAFKA_RESP_ERR_UNSUPPORTED_FOR_MESSAGE_FORMAT)
    /// A topic has the wrong number of partitions.
    public static let invalidPartitions = Self(RD_KAFKA_RESP_ERR_INVALID_PARTITIONS)
    static let unstableOffsetCommit = Self(RD_KAFKA_RESP_ERR_UNSTABLE_OFFSET_COMMIT)
    static let purgedFromQueue = Self(RD_KAFKA_RESP_ERR__PURGE_QUEUE)
    static let purgedInFlight = Self(RD_KAFKA_RESP_ERR__PURGE_INFLIGHT)
    static let outOfMemory = Self(RD_KAFKA_RESP_ERR__CRIT_SYS_RESOURCE)

    /// Codes that are worth a retry when librdkafka returns them without flags.
    static let transient: Set<Self> = [
        .timedOut, .timedOutInQueue, .transport, .allBrokersDown, .resolve, .queueFull,
        Self(RD_KAFKA_RESP_ERR__WAIT_COORD), Self(RD_KAFKA_RESP_ERR__IN_PROGRESS),
        Self(RD_KAFKA_RESP_ERR__RETRY), Self(RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS),
        Self(RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE), Self(RD_KAFKA_RESP_ERR_NOT_COORDINATOR),
        Self(RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE), Self(RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION),
        Self(RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT), Self(RD_KAFKA_RESP_ERR_NETWORK_EXCEPTION),
        .unstableOffsetCommit, Self(RD_KAFKA_RESP_ERR_BROKER_NOT_AVAILABLE),
        Self(RD_KAFKA_RESP_ERR_REPLICA_NOT_AVAILABLE), Self(RD_KAFKA_RESP_ERR_OFFSET_NOT_AVAILABLE),
        Self(RD_KAFKA_RESP_ERR_KAFKA_STORAGE_ERROR), Self(RD_KAFKA_RESP_ERR_NOT_CONTROLLER),
        // The client's or the broker's metadata is older than the last election.
        Self(RD_KAFKA_RESP_ERR_FENCED_LEADER_EPOCH), Self(RD_KAFKA_RESP_ERR_UNKNOWN_LEADER_EPOCH),
    ]
}
