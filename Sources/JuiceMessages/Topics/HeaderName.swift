/// The names of the record headers that are part of the contract.
public enum HeaderName {
    /// On a dead letter: the code of its ``DeadLetterReason``.
    public static let errorCode = "juice.error.code"
    /// On a dead letter: the message of its ``DeadLetterReason``.
    public static let errorMessage = "juice.error.message"
    /// On a dead letter: the topic it came from.
    public static let sourceTopic = "juice.source.topic"
    /// On a dead letter: the partition it came from.
    public static let sourcePartition = "juice.source.partition"
    /// On a dead letter: its offset there.
    public static let sourceOffset = "juice.source.offset"
    /// On a truncated dead letter: the original size of key, value and headers together, in bytes.
    public static let truncatedFrom = "juice.truncated.from"
    /// On a command that was forwarded to its store's partition: where it was read first, as `partition/offset` of the same
    /// topic, for example `3/42`.
    public static let forwardedFrom = "juice.forwarded.from"
    /// On a command that was resent from the dead letters: which one it was, as `partition/offset`.
    public static let resentFrom = "juice.resent.from"
    /// On a record of the dead letters which says that one of its partition was resent: which one, as `partition/offset`.
    public static let resentLetter = "juice.resent.letter"
    /// On such a record: where it was resent to, as `topic/partition`.
    public static let resentTo = "juice.resent.to"
    /// W3C trace context, copied from a command to its answer.
    public static let traceparent = "traceparent"
    /// W3C trace context, copied from a command to its answer.
    public static let tracestate = "tracestate"
}
