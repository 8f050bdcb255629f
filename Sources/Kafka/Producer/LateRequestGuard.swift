import CRdKafka

/// Detects that a producer may have left a transactional request on its way to a broker.
///
/// When a connection breaks, librdkafka gives up on the request and sends it again; no call reports that. The first copy may
/// reach the broker in a later transaction of the same producer id and epoch and take effect there: a late EndTxn ends that
/// transaction half-done, a late TxnOffsetCommit adds positions that are not its own. It takes a closed connection for that,
/// and librdkafka never resends sooner than after a backoff. So a producer is a suspect if a connection closed during its
/// transaction and the transaction's calls took at least that long. A suspect takes its transactional id over from itself:
/// that raises the epoch, and brokers refuse whatever arrives late under the old one.
///
/// Even a refusal can do harm: the group coordinator of Apache Kafka 3.9, unlike 4.0, lets a refused TxnOffsetCommit wipe the
/// offsets that the open transaction of the same producer id has sent, whatever the epoch. So a producer that may have left a
/// TxnOffsetCommit behind moves on to another transactional id, which has another producer id. That includes a producer whose
/// call was cut short by a fatal error.
struct LateRequestGuard {
    /// A transaction whose calls took this long may have sent a request twice.
    let threshold: Duration
    /// A transaction that spent this long sending offsets may have sent a TxnOffsetCommit twice.
    let offsetThreshold: Duration
    /// Whether any request may still be on its way.
    private(set) var isSuspect = false
    /// Whether a TxnOffsetCommit may still be on its way.
    private(set) var mayLeaveOffsets = false

    /// How many connections the client had lost when the transaction began.
    private var closedBefore = 0
    /// How long the transaction's calls have taken, repeated calls included.
    private var taken = Duration.zero
    private var takenByOffsets = Duration.zero

    /// librdkafka's fixed backoff before it resends a TxnOffsetCommit.
    private static let offsetBackoff = Duration.milliseconds(500)

    /// - Parameters:
    ///   - backoff: librdkafka's `retry.backoff.ms`.
    ///   - isJittered: whether librdkafka shortens a backoff by up to 20 %.
    init(backoff: Duration, isJittered: Bool = Self.isJittered) {
        threshold = isJittered ? backoff * 4 / 5 : backoff
        offsetThreshold = isJittered ? Self.offsetBackoff * 4 / 5 : Self.offsetBackoff
    }

    /// For a client of the running librdkafka.
    init(of client: OpaquePointer) {
        var text = ErrorText()
        var size = 512
        _ = text.withBuffer { buffer, _ in
            rd_kafka_conf_get(rd_kafka_conf(client), "retry.backoff.ms", buffer, &size)
        }
        // Without a number every call is suspicious, which is slow but safe.
        self.init(backoff: .milliseconds(Int(text.text) ?? 0))
    }

    /// librdkafka 2.3 brought the jitter together with this property (KIP-580).
    static let isJittered = KafkaConfiguration.isKnown("retry.backoff.max.ms")

    /// A transaction begins. No request of an earlier one is unanswered.
    mutating func began(closedConnections: Int) {
        (closedBefore, taken, takenByOffsets) = (closedConnections, .zero, .zero)
    }

    /// Adds up the time that calls of the transaction took.
    ///
    /// - Parameter closedConnections: how many connections the client has lost since it was made.
    /// - Returns: whether this call made the producer a suspect.
    mutating func took(
        _ duration: Duration,
        for call: TransactionalCall,
        closedConnections: Int
    ) -> Bool {
        taken += duration
        if call == .sendOffsets { takenByOffsets += duration }
        guard closedConnections != closedBefore else { return false }
        if takenByOffsets >= offsetThreshold { mayLeaveOffsets = true }
        guard !isSuspect, taken >= threshold else { return false }
        isSuspect = true
        return true
    }

    /// A fatal error has ended a call. librdkafka then returns at once, even while the call's request is on its way.
    mutating func wasCutShort(_ call: TransactionalCall) {
        if call == .sendOffsets { mayLeaveOffsets = true }
    }
}
