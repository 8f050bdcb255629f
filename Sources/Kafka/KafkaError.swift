import CRdKafka
import Foundation
import Synchronization

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
    public var isOffsetReset: Bool { self == .autoOffsetReset || self == .offsetOutOfRange }

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

    /// Another consumer has taken over the group instance id.
    package static let fencedInstanceID = Self(RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID)
    /// The members of the group do not share an assignor.
    package static let inconsistentGroupProtocol = Self(RD_KAFKA_RESP_ERR_INCONSISTENT_GROUP_PROTOCOL)
    package static let invalidSessionTimeout = Self(RD_KAFKA_RESP_ERR_INVALID_SESSION_TIMEOUT)
    package static let invalidGroupID = Self(RD_KAFKA_RESP_ERR_INVALID_GROUP_ID)

    package static let autoOffsetReset = Self(RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET)
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

// MARK: - Clearer messages

/// Makes librdkafka's errors more specific, using what librdkafka reports elsewhere.
///
/// Version 2.0.2 says of any bad broker certificate that it could not be verified, and suspects the CA; only the verification
/// callback learns the reason. Only the log says which partition could not be added to a transaction, and that a session timed out.
final class ErrorExplainer: Sendable {
    private let certificate = Mutex<String?>(nil)
    private let partition = Mutex<String?>(nil)
    private let session = Atomic(false)
    /// When the client's own certificate expires, if that is known.
    let clientCertificateEnd = Mutex<Date?>(nil)

    var sessionTimedOut: Bool { session.load(ordering: .acquiring) }

    /// - Returns: why a connection could not be made, if the line says so.
    func observe(facility: String, line: String) -> KafkaError? {
        if facility == "SESSTMOUT" { session.store(true, ordering: .releasing) }
        let noConnection =
            /\]: (.*: (?:Connect to .* failed:|Failed to resolve .*:|Disconnected .*(?:ApiVersion|APIVERSION)|.* unexpected eof).*)/
        if facility == "FAIL", let match = line.firstMatch(of: noConnection) {
            return explained(KafkaError(code: .transport, message: String(match.1)))
        }
        // The broker also names partitions that it did not try to add because of that one.
        if facility == "ADDPARTS", line.contains("authorization failed"),
            let start = line.firstRange(of: "Failed to add partition")
        {
            partition.withLock { $0 = String(line[start.lowerBound...]) }
        }
        return nil
    }

    /// Learns from OpenSSL's verdict on a certificate in a broker's chain; 0 is valid.
    func observe(verdict code: Int32) {
        if code != 0 { certificate.withLock { $0 = Self.fault(ofCertificate: code) } }
    }

    func explained(_ error: KafkaError) -> KafkaError {
        if error.message.hasPrefix("Failed to add partition(s)"), let detail = partition.withLock(\.self) {
            return error.with(\.message, detail)
        }
        // Begins with the connection's name, such as `ssl://kafka:9093/bootstrap` or `GroupCoordinator: kafka:9093`, and ends with
        // its state and for how long it had been in it.
        let pattern = /(?:[A-Za-z]+: )?(?:[a-z_]+:\/\/)?([^ \/]+:\d+)(?:\/-?\w+)?: (.+?)( \(after \d+ms in state .*\))?/
        guard let match = error.message.wholeMatch(of: pattern) else { return error }
        let (code, reason) = reason(error.code, String(match.2), state: String(match.3 ?? ""))
        return KafkaError(code: code, message: reason).with(\.broker, String(match.1))
    }

    /// Why a connection failed, without librdkafka's jargon.
    private func reason(_ code: KafkaError.Code, _ text: String, state: String) -> (KafkaError.Code, String) {
        let plainListener = "perhaps the listener does not speak TLS (see security.protocol)"
        if text.contains("certificate verify failed"), let fault = certificate.withLock(\.self) { return (.ssl, fault) }
        if text.contains(/alert (bad )?certificate|alert unknown ca/) {
            if let end = clientCertificateEnd.withLock(\.self), end < .now {
                let time = end.formatted(.iso8601)
                return (
                    .ssl, "the client certificate that this process has loaded expired at \(time) (see ssl.certificate.location)"
                )
            }
            return (
                .ssl,
                "the broker wants another client certificate, or one at all (see ssl.certificate.location and ssl.key.location)"
            )
        }
        if text.contains("wrong version number") { return (.ssl, "the listener does not speak TLS (see security.protocol)") }
        if text.contains("unexpected eof"), text.contains("handshake failed") || state.contains("SSL_HANDSHAKE") {
            return (.transport, "\(Self.hangUps[1]); \(plainListener)")
        }
        // A connection that breaks during authentication is not a refusal.
        if code == .authentication, text.contains(/Sasl\w+Request failed: Local:/) { return (.transport, text) }
        if let match = text.wholeMatch(of: /Connect to .* failed: (.+)/) {
            return (.transport, match.1.prefix(1).lowercased() + match.1.dropFirst())
        }
        if let match = text.wholeMatch(of: /Failed to resolve .*?: (.+)/) {
            return (.resolve, "the name is not resolved (\(match.1))")
        }
        if let match = text.firstMatch(of: /Invalid response size (-?\d+)/) {
            // Where Kafka sends a size, other servers send the first four bytes of their protocol.
            switch UInt32(bitPattern: Int32(match.1) ?? 0) {
            case 0x4854_5450: return (.transport, "an HTTP server answers, not Kafka")
            case 0x1500_0000...0x17FF_FFFF: return (.transport, "the listener speaks TLS (see security.protocol)")
            default: return (.transport, "what answers is not Kafka")
            }
        }
        if text.hasPrefix("Disconnected while requesting ApiVersion") || text == "Disconnected" && state.contains("APIVERSION") {
            let tls = text.contains("SSL listener") ? "the listener speaks TLS (see security.protocol), or " : ""
            return (.transport, "\(Self.hangUps[0]); perhaps \(tls)it is not a Kafka port")
        }
        if text.contains("might require SASL") {
            return (.transport, "hung up at once; perhaps the listener wants SASL (see security.protocol)")
        }
        if text.hasPrefix("ApiVersionRequest failed: Local: Read underflow") {
            // Versions before 2.2 cannot skip tagged fields (KIP-482) that some brokers add to this answer.
            let known = KafkaConfiguration.fetchesOn ? "" : "; 2.2 can"
            return (.unparsable, "this librdkafka (\(KafkaLibrary.version)) cannot read the broker's answer\(known)")
        }
        if text.contains("not valid in current SASL state") { return (code, "the listener wants no SASL (see security.protocol)") }
        if text.contains(/[Tt]imed out/) { return (code, Self.silence) }
        return (code, text.contains(/^(Disconnected|Receive failed|Send failed)/) ? Self.breakdown : text)
    }

    static let silence = "nothing comes back (it hangs, a firewall drops it, or it is not a Kafka port)"
    static let breakdown = "the connection broke"
    private static let hangUps = ["hung up at the first request", "hung up during the TLS handshake"]

    /// Whether a broker closed a connection right after it was made.
    static func isHangUp(_ reason: String) -> Bool { hangUps.contains { reason.hasPrefix($0) } }

    /// Whether this reason may be only a symptom of a broker that is going down, so that a better reason follows.
    static func isSymptom(_ reason: String) -> Bool { reason == silence || reason == breakdown || reason.hasPrefix("hung up") }

    /// The meaning of one of OpenSSL's codes, from `openssl/x509_vfy.h`.
    static func fault(ofCertificate code: Int32) -> String {
        switch code {
        case 9: "the broker's certificate is not valid yet"
        case 10: "the broker's certificate has expired"
        case 18, 19, 20, 21: "the broker's certificate is of no authority that is trusted here (see ssl.ca.location)"
        case 23: "the broker's certificate is revoked"
        case 62, 64: "the broker's certificate is for another host name"
        default: "the broker's certificate is not valid (OpenSSL's error \(code))"
        }
    }
}
