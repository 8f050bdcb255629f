import JuiceMessages
import Kafka

/// The partition and offset of a dead letter, written `3@42`.
struct LetterPosition: Hashable, Comparable {
    let partition: Int32
    let offset: Offset

    /// `3@42`.
    var text: String { "\(partition)@\(offset)" }

    /// `3/42`, as in headers.
    var headerText: String { "\(partition)/\(offset)" }

    static func < (first: Self, second: Self) -> Bool {
        (first.partition, first.offset) < (second.partition, second.offset)
    }
}

extension LetterPosition {
    /// Parses `3@42`, or with another separator the value of a header.
    init?(_ text: some StringProtocol, separator: Character = "@") {
        let parts = text.split(separator: separator, omittingEmptySubsequences: false)
        guard parts.count == 2, let partition = Int32(parts[0]), let offset = Offset(parts[1]), partition >= 0, offset >= 0 else {
            return nil
        }
        self.init(partition: partition, offset: offset)
    }
}

/// A record that the service could not process, as in the dead-letter topic.
struct DeadLetter {
    /// Where the service read the record.
    struct Source: Hashable {
        let topic: String
        let partition: String
        let offset: String

        /// `juice.orders 3@42`.
        var text: String { "\(topic) \(partition)@\(offset)" }
    }

    /// What a letter that stands twice has both times. After a crash, the service may put the same record aside again.
    struct Identity: Hashable {
        let source: Source
        /// A hash of key and value: in a topic that was made anew, another record may have the same source.
        let contents: Int
    }

    let position: LetterPosition
    /// When the dead letter was written, in milliseconds since 1970.
    let timestamp: Int64?
    let key: [UInt8]?
    let value: [UInt8]?
    /// All headers, including the service's.
    let headers: [RecordHeader]
}

extension DeadLetter {
    init(_ record: ConsumedRecord) {
        self.init(
            position: LetterPosition(partition: record.partition, offset: record.offset), timestamp: record.timestamp,
            key: record.key.map { Array($0) }, value: record.value.map { Array($0) }, headers: record.headers)
    }

    /// The code of its ``DeadLetterReason``.
    var code: String { header(HeaderName.errorCode) ?? "" }

    var message: String { header(HeaderName.errorMessage) ?? "" }

    var source: Source {
        Source(
            topic: header(HeaderName.sourceTopic) ?? "", partition: header(HeaderName.sourcePartition) ?? "",
            offset: header(HeaderName.sourceOffset) ?? "")
    }

    /// Nil for a record without a source, which the service did not write.
    var identity: Identity? {
        guard header(HeaderName.sourceOffset) != nil else { return nil }
        var hasher = Hasher()
        hasher.combine(key)
        hasher.combine(value)
        return Identity(source: source, contents: hasher.finalize())
    }

    /// The original size in bytes, if the value was truncated.
    var truncatedFrom: String? { header(HeaderName.truncatedFrom) }

    /// The store that the sender named.
    var store: String {
        guard let key, !key.isEmpty else { return StoreID.main }
        return String(decoding: key, as: UTF8.self)
    }

    /// The dead letter that was resent, if this record is a note of that. Nil for a dead letter, even if its sender set the same
    /// header.
    var resentLetter: LetterPosition? {
        guard header(HeaderName.errorCode) == nil, let text = header(HeaderName.resentLetter) else { return nil }
        return LetterPosition(text, separator: "/")
    }

    /// The sender's headers.
    var sendersHeaders: [RecordHeader] {
        let ours: Set<String> = [
            HeaderName.errorCode, HeaderName.errorMessage, HeaderName.sourceTopic, HeaderName.sourcePartition,
            HeaderName.sourceOffset, HeaderName.truncatedFrom, HeaderName.forwardedFrom,
            HeaderName.resentFrom, HeaderName.resentLetter, HeaderName.resentTo,
        ]
        return headers.filter { !ours.contains($0.name) }
    }

    /// The last header of this name: the service appends its own.
    func header(_ name: String) -> String? { headers.last { $0.name == name }?.text }
}

/// Selects dead letters.
struct LetterFilter {
    var code: String?
    var source: String?

    func matches(_ letter: DeadLetter) -> Bool {
        (code == nil || letter.code == code) && (source == nil || letter.source.topic == source)
    }
}
