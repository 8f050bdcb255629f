import JuiceMessages
import Kafka

/// Where a record of the dead letters is; people write it `3@42`.
struct LetterPosition: Hashable, Comparable {
    let partition: Int32
    let offset: Offset

    /// `3@42`.
    var text: String { "\(partition)@\(offset)" }

    /// `3/42`, as headers say it.
    var headerText: String { "\(partition)/\(offset)" }

    static func < (first: Self, second: Self) -> Bool {
        (first.partition, first.offset) < (second.partition, second.offset)
    }
}

extension LetterPosition {
    /// Reads `3@42`, or with another separator what a header says.
    init?(_ text: some StringProtocol, separator: Character = "@") {
        let parts = text.split(separator: separator, omittingEmptySubsequences: false)
        guard parts.count == 2, let partition = Int32(parts[0]), let offset = Offset(parts[1]),
            partition >= 0,
            offset >= 0
        else { return nil }
        self.init(partition: partition, offset: offset)
    }
}

/// A record that the service could not answer, as it put it aside.
struct DeadLetter {
    /// Where it was read.
    struct Source: Equatable {
        let topic: String
        let partition: String
        let offset: String

        /// `juice.orders 3@42`.
        var text: String { "\(topic) \(partition)@\(offset)" }
    }

    let position: LetterPosition
    /// When it was put aside, in milliseconds since 1970.
    let timestamp: Int64?
    let key: [UInt8]?
    let value: [UInt8]?
    /// All headers, the service's among them.
    let headers: [RecordHeader]
}

extension DeadLetter {
    init(_ record: ConsumedRecord) {
        self.init(
            position: LetterPosition(partition: record.partition, offset: record.offset),
            timestamp: record.timestamp,
            key: record.key.map { Array($0) },
            value: record.value.map { Array($0) },
            headers: record.headers
        )
    }

    /// Why it was put aside, as a ``DeadLetterReason`` says it.
    var code: String { header(HeaderName.errorCode) ?? "" }

    var message: String { header(HeaderName.errorMessage) ?? "" }

    var source: Source {
        Source(
            topic: header(HeaderName.sourceTopic) ?? "",
            partition: header(HeaderName.sourcePartition) ?? "",
            offset: header(HeaderName.sourceOffset) ?? ""
        )
    }

    /// The size it had, in bytes, where it was too large to be kept whole.
    var truncatedFrom: String? { header(HeaderName.truncatedFrom) }

    /// The store, by the sender's word.
    var store: String {
        guard let key, !key.isEmpty else { return StoreID.main }
        return String(decoding: key, as: UTF8.self)
    }

    /// The dead letter that this record says was sent again; nil where it is a dead letter itself, whatever headers its
    /// sender gave it.
    var resentLetter: LetterPosition? {
        guard header(HeaderName.errorCode) == nil, let text = header(HeaderName.resentLetter) else {
            return nil
        }
        return LetterPosition(text, separator: "/")
    }

    /// The headers that its sender gave it.
    var sendersHeaders: [RecordHeader] {
        let ours: Set<String> = [
            HeaderName.errorCode, HeaderName.errorMessage, HeaderName.sourceTopic, HeaderName.sourcePartition,
            HeaderName.sourceOffset, HeaderName.truncatedFrom, HeaderName.forwardedFrom,
            HeaderName.resentFrom, HeaderName.resentLetter, HeaderName.resentTo,
        ]
        return headers.filter { !ours.contains($0.name) }
    }

    /// The service's own headers come last.
    func header(_ name: String) -> String? {
        headers.last { $0.name == name }?.text
    }
}

/// Which dead letters are meant.
struct LetterFilter {
    var code: String?
    var source: String?

    func matches(_ letter: DeadLetter) -> Bool {
        (code == nil || letter.code == code) && (source == nil || letter.source.topic == source)
    }
}
