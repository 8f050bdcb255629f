import Foundation
import JuiceDomain
import JuiceMessages
import Kafka

/// The partition and offset of a dead letter, written `3@42`.
struct LetterPosition: Hashable, Comparable {
    let partition: Int32
    let offset: Offset

    var text: String { "\(partition)@\(offset)" }

    /// `3/42`, as in headers.
    var headerText: String { "\(partition)/\(offset)" }

    static func < (first: Self, second: Self) -> Bool { (first.partition, first.offset) < (second.partition, second.offset) }
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

    /// Parses a position on the command line.
    init(argument: String) throws(Failure) {
        guard let position = LetterPosition(argument) else {
            throw Failure(
                .usage, "\"\(argument.printable)\" is not PARTITION@OFFSET, such as 3@42",
                hint: "`juice dead-letters list` shows the positions")
        }
        self = position
    }
}

/// A record that the service could not process, as in the dead-letter topic.
struct DeadLetter {
    /// Where the service read the record, as far as the headers say.
    struct Source: Hashable, Encodable {
        let topic: String
        let partition: Int32?
        let offset: Offset?

        var text: String { "\(topic) \(partition.map(String.init) ?? "")@\(offset.map(String.init) ?? "")" }
    }

    /// What a letter that stands twice has both times. After a crash, the service may put the same record aside again.
    struct Identity: Hashable {
        let source: Source
        /// A hash of key and value: in a topic that was recreated, another record may have the same source.
        let contents: Int
    }

    let position: LetterPosition
    /// When it was put aside, in milliseconds since 1970.
    let timestamp: Int64?
    let key, value: [UInt8]?
    /// All headers, including the service's.
    let headers: [RecordHeader]
    /// Whether a note says that it was sent again.
    var isResent = false
    /// The same headers byte for byte, to be sent again.
    var headerList: HeaderList?
}

extension DeadLetter {
    init(_ record: ConsumedRecord) {
        self.init(
            position: LetterPosition(partition: record.partition, offset: record.offset), timestamp: record.timestamp,
            key: record.key.map { Array($0) }, value: record.value.map { Array($0) }, headers: record.headers,
            headerList: record.headerList)
    }

    /// The code of its ``DeadLetterReason``.
    var code: String { header(HeaderName.errorCode) ?? "" }

    var message: String { header(HeaderName.errorMessage) ?? "" }

    var source: Source {
        Source(
            topic: header(HeaderName.sourceTopic) ?? "", partition: header(HeaderName.sourcePartition).flatMap { Int32($0) },
            offset: header(HeaderName.sourceOffset).flatMap { Offset($0) })
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

    /// The dead letter that was resent, if this record is a note of that. A dead letter's sender may have set the same header.
    var resentLetter: LetterPosition? {
        guard header(HeaderName.errorCode) == nil, let text = header(HeaderName.resentLetter) else { return nil }
        return LetterPosition(text, separator: "/")
    }

    /// The headers that the service and this command add.
    static let ownHeaders: Set<String> = [
        HeaderName.errorCode, HeaderName.errorMessage, HeaderName.sourceTopic, HeaderName.sourcePartition,
        HeaderName.sourceOffset, HeaderName.truncatedFrom, HeaderName.forwardedFrom,
        HeaderName.resentFrom, HeaderName.resentLetter, HeaderName.resentTo,
    ]

    /// The sender's headers.
    var sendersHeaders: [RecordHeader] { headers.filter { !Self.ownHeaders.contains($0.name) } }

    /// The last header of this name: the service appends its own.
    func header(_ name: String) -> String? { headers.last { $0.name == name }?.text }
}

// MARK: - For programs

extension DeadLetter {
    /// Its place in its topic.
    var place: RecordPlace { RecordPlace(timestamp: timestamp, partition: position.partition, offset: position.offset) }

    /// What there is besides its place.
    var members: [(name: String, json: String)] {
        struct Header: Encodable {
            let name: String
            let value, valueBase64: String?
        }
        let (key, value) = (BytesText(key), BytesText(value))
        let headers = sendersHeaders.map { header in
            let value = BytesText(header.value)
            return Header(name: header.name, value: value.text, valueBase64: value.base64)
        }
        let texts = [
            ("code", code), ("message", message), ("truncatedFrom", truncatedFrom), ("key", key.text), ("keyBase64", key.base64),
            ("value", value.text), ("valueBase64", value.base64),
        ]
        return texts.compactMap { name, text in text.map { (name, JSONText.line($0)) } }
            + [("source", JSONText.line(source)), ("resent", "\(isResent)"), ("headers", JSONText.line(headers))]
    }

    /// All of it as a line of JSON. Bytes that are not UTF-8 are base64.
    var json: [UInt8] { StandardOutput.jsonLine(RecordLine.json(place, members, record: nil)) }
}

// MARK: - For people

extension DeadLetter {
    /// A row for each dead letter.
    static func table(_ letters: [DeadLetter]) -> Table {
        var table = Table([
            .init(title: "position"), .init(title: "when", width: 19), .init(title: "store", width: 8),
            .init(title: "code", width: 10), .init(title: "source", width: 18), .init(title: "resent"),
            .init(title: "value", width: 24), .init(title: "message"),
        ])
        for letter in letters {
            table.add([
                .init(letter.position.text, .bold), .init(letter.time, .faint),
                .init(DisplayWidth.clip(StoreID.visible(letter.store), to: 24)), .init(letter.code.printable, .red),
                .init(letter.source.text.printable), letter.isResent ? .init("yes", .green) : .init("no"),
                .init(beginning(of: letter.value)), .init(letter.message.printable),
            ])
        }
        return table
    }

    /// The start of a value, as much as fits into a table.
    static func beginning(of value: [UInt8]?) -> String {
        guard let value else { return "-" }
        // The cut may split a character, so it leaves more text than is shown.
        let text = value.count > 400 ? String(decoding: value.prefix(400), as: UTF8.self) : text(value)
        return DisplayWidth.clip(text.printable, to: 40)
    }

    private static func hex(_ bytes: some Sequence<UInt8>) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined(separator: " ")
    }

    private static func text(_ bytes: [UInt8]) -> String { String(validating: bytes, as: UTF8.self) ?? hex(bytes) }

    /// All of it: a line for each property and header, then the value, in hexadecimal digits if it is not UTF-8.
    func sheet(paint: Paint) -> String {
        var rows = [
            ("position", position.text), ("when", time), ("code", code), ("message", message), ("source", source.text),
            ("resent", isResent ? "yes" : "no"), ("key", key.map(Self.text) ?? "none: the store main"),
        ]
        if let truncatedFrom { rows.append(("cut", "from \(truncatedFrom) bytes")) }
        rows += sendersHeaders.map { ("header", "\($0.name): \($0.value.map(Self.text) ?? "null")") }
        rows.append(("value", value.map { $0.count.counted("byte") } ?? "none"))
        let lines = rows.map { name, value in paint(.faint, DisplayWidth.pad(name, to: 8)) + "  " + value.printable }
        let body = Self.text(value ?? []).split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
        return (lines + (value?.isEmpty ?? true ? [] : [""] + body.map { String($0).printable })).joined(separator: "\n") + "\n"
    }

    private var time: String { timestamp.map(DateTime.text) ?? "-" }
}
