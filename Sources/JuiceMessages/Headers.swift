/// One header of a record. JuiceEngine and JuiceAudit do not import Kafka, which has its own type for this.
package struct MessageHeader: Hashable, Sendable {
    /// A record may have several headers of the same name.
    package let name: String
    /// Nil is Kafka's null, which differs from empty.
    package let value: [UInt8]?

    package init(name: String, value: [UInt8]?) { (self.name, self.value) = (name, value) }

    package init(name: String, value: String) { self.init(name: name, value: Array(value.utf8)) }
}

extension [MessageHeader] {
    /// The time in the header ``HeaderName/sent``, in milliseconds since 1970; nil without a valid one.
    package var sent: Int64? {
        guard let value = first(where: { $0.name == HeaderName.sent })?.value else { return nil }
        return Int64(String(decoding: value, as: UTF8.self)).flatMap { 0...1 << 43 ~= $0 ? $0 : nil }
    }

    /// Their size in bytes, names included.
    package var size: Int { reduce(0) { $0 + $1.name.utf8.count + ($1.value?.count ?? 0) } }

    // Without bounds an answer could be too large for any broker. The standard has one header of each name, and asks for 512 bytes.
    private static let mostTraces = (count: 8, bytes: 16 * 1024, bytesOfOne: 8 * 1024)

    /// The trace headers, which an answer copies from its command.
    package var ofTraces: [MessageHeader] {
        guard !isEmpty else { return [] }
        var room = Self.mostTraces.bytes
        let fitting = filter { header in
            let size = header.value?.count ?? 0
            let isTrace = header.name == HeaderName.traceparent || header.name == HeaderName.tracestate
            guard isTrace, size <= Swift.min(Self.mostTraces.bytesOfOne, room) else { return false }
            room -= size
            return true
        }
        return Array(fitting.prefix(Self.mostTraces.count))
    }
}

/// The names of the record headers that are part of the contract.
public enum HeaderName {
    /// In the journal: when the command was sent, in milliseconds since 1970, if neither its record nor the journal's says so.
    public static let sent = "juice.sent"
    /// On a dead letter: its ``DeadLetterReason``, and where it came from.
    public static let errorCode = "juice.error.code", errorMessage = "juice.error.message",
        sourceTopic = "juice.source.topic", sourcePartition = "juice.source.partition", sourceOffset = "juice.source.offset"
    /// On a truncated dead letter: the original size of key, value and headers together, in bytes.
    public static let truncatedFrom = "juice.truncated.from"
    /// On a command that was forwarded to its store's partition: where it was read first, as ``RecordPosition/header``.
    public static let forwardedFrom = "juice.forwarded.from"
    /// On a command that was resent from the dead letters: the position of its dead letter, as `partition/offset`.
    public static let resentFrom = "juice.resent.from"
    /// On a record that marks a dead letter of its own partition as resent: the position of that letter, as `partition/offset`.
    public static let resentLetter = "juice.resent.letter"
    /// On such a record: where the dead letter was resent to, as `topic/partition`.
    public static let resentTo = "juice.resent.to"
    /// W3C trace context, copied from a command to its answer.
    public static let traceparent = "traceparent", tracestate = "tracestate"
}
