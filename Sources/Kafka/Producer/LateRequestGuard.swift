import CRdKafka

/// Finds the producers of which a transactional request may still be on its way.
///
/// librdkafka gives up on a request whose connection broke and sends it again, and no call tells. The first copy may reach
/// the broker later, in a later transaction of the same producer id and epoch, and be carried out there: a late EndTxn ends
/// that transaction half-done, a late TxnOffsetCommit adds positions that are not its own. That takes a connection that was closed,
/// and no request is sent again sooner than after a backoff. So where one was closed in a transaction, and its calls took as long, the
/// producer is a suspect. One that takes over the transactional id from itself has another epoch, and under that the broker
/// refuses whatever is late.
///
/// One refusal does harm all the same: the group coordinator of Apache Kafka 3.9 lets a refused TxnOffsetCommit wipe the offsets
/// that the open transaction of the same producer id has sent, whatever the epoch. (The one of 4.0 does not.) So a producer
/// that may have left a TxnOffsetCommit behind goes on under another transactional id, which is another producer id.
struct LateRequestGuard {
    /// A transaction whose calls took this long may have sent a request twice.
    let threshold: Duration
    /// One that spent as long sending offsets may have sent a TxnOffsetCommit twice.
    let offsetThreshold: Duration
    /// Whether any request may be on its way.
    private(set) var isSuspect = false
    /// Whether a TxnOffsetCommit may be.
    private(set) var mayLeaveOffsets = false

    /// How many connections the client had lost before the transaction.
    private var closedBefore = 0
    /// What the transaction's calls took, also those that were made again.
    private var taken = Duration.zero
    private var takenByOffsets = Duration.zero

    /// librdkafka's fixed backoff before it sends a TxnOffsetCommit again.
    private static let offsetBackoff = Duration.milliseconds(500)

    /// - Parameters:
    ///   - backoff: librdkafka's `retry.backoff.ms`.
    ///   - version: librdkafka's, as `rd_kafka_version()` tells it. From 2.3 on a backoff is up to 20 % shorter.
    init(backoff: Duration, version: Int32) {
        let isJittered = version >= 0x0203_0000
        threshold = isJittered ? backoff * 4 / 5 : backoff
        offsetThreshold = isJittered ? Self.offsetBackoff * 4 / 5 : Self.offsetBackoff
    }

    /// For the running librdkafka and a client of it.
    init(of client: OpaquePointer) {
        var text = ErrorText()
        var size = 512
        _ = text.withBuffer { buffer, _ in
            rd_kafka_conf_get(rd_kafka_conf(client), "retry.backoff.ms", buffer, &size)
        }
        // Without a number every call is suspect, which is slow and safe.
        self.init(backoff: .milliseconds(Int(text.text) ?? 0), version: rd_kafka_version())
    }

    /// A transaction begins. Nothing of those before is unanswered.
    mutating func began(closedConnections: Int) {
        (closedBefore, taken, takenByOffsets) = (closedConnections, .zero, .zero)
    }

    /// Takes note of how long a call took that may have sent transactional requests.
    ///
    /// - Parameters:
    ///   - sendsOffsets: whether offsets were among them.
    ///   - closedConnections: how many the client has lost by now, in its whole life.
    /// - Returns: whether that makes the producer a suspect, which it was not before.
    mutating func took(_ duration: Duration, sendsOffsets: Bool = false, closedConnections: Int) -> Bool {
        taken += duration
        if sendsOffsets { takenByOffsets += duration }
        guard closedConnections != closedBefore else { return false }
        if takenByOffsets >= offsetThreshold { mayLeaveOffsets = true }
        guard !isSuspect, taken >= threshold else { return false }
        isSuspect = true
        return true
    }
}
