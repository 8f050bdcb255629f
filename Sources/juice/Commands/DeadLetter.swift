import Foundation
import JuiceDomain
import JuiceMessages
import Kafka

struct DeadLetter {
    /// Where the service read the record, as far as the headers say.
    struct Source: Hashable, Encodable {
        let topic: String
        let partition: Int32?
        let offset: Offset?

        var text: String { "\(topic) \(partition.map(String.init) ?? "")@\(offset.map(String.init) ?? "")" }
    }

    let position: RecordPosition
    /// When it was written, in milliseconds since 1970.
    let timestamp: Int64?
    let key, value: [UInt8]?
    /// All headers, including the service's.
    let headers: [RecordHeader]
    var isResent = false
    /// The same headers byte for byte, to be sent again.
    var headerList: HeaderList?
}

extension DeadLetter {
    init(_ record: ConsumedRecord) {
        self.init(
            position: RecordPosition(partition: record.partition, offset: record.offset), timestamp: record.timestamp,
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

    /// The original size in bytes, if the value was truncated.
    var truncatedFrom: String? { header(HeaderName.truncatedFrom) }

    /// The store that the sender named.
    var store: String {
        guard let key, !key.isEmpty else { return StoreID.main }
        return String(decoding: key, as: UTF8.self)
    }

    /// The headers that the service and `juice dead-letters resend` add.
    static let ownHeaders: Set<String> = [
        HeaderName.errorCode, HeaderName.errorMessage, HeaderName.sourceTopic, HeaderName.sourcePartition,
        HeaderName.sourceOffset, HeaderName.truncatedFrom, HeaderName.forwardedFrom,
        HeaderName.resentFrom, HeaderName.resentLetter, HeaderName.resentTo,
    ]

    var senderHeaders: [RecordHeader] { headers.filter { !Self.ownHeaders.contains($0.name) } }

    /// The last header of this name: the service appends its own.
    func header(_ name: String) -> String? { headers.last { $0.name == name }?.text }
}

// MARK: - Reading

/// Reads the dead letters, and the notes among them that mark some as resent.
///
/// After a crash, or in place of another instance, the service may write a letter a second time. Its first copy counts.
final class DeadLetterReader {
    /// The properties that both copies of a letter share. In a recreated topic, another record may have the same source.
    private struct Identity: Hashable {
        let source: DeadLetter.Source
        let key, value: Int

        init?(_ letter: DeadLetter) {
            guard letter.source.offset != nil else { return nil }
            (source, key, value) = (letter.source, letter.key.hashValue, letter.value.hashValue)
        }
    }

    private let reader: TopicReader

    init(_ clients: KafkaClients, waitsForTransactions: Bool = false) throws(Failure) {
        reader = try TopicReader(clients, topic: clients.topics.deadLetters, waitsForTransactions: waitsForTransactions)
    }

    /// All matching dead letters, oldest first.
    func all(where matches: (DeadLetter) -> Bool = { _ in true }) throws(Failure) -> [DeadLetter] {
        try read(reader.watermarks, where: matches).letters
    }

    /// The last matching dead letters, oldest first.
    func last(_ count: Int, where matches: (DeadLetter) -> Bool) throws(Failure) -> [DeadLetter] {
        guard count > 0 else { return [] }
        var size = Offset(clamping: count) * 2 + 64
        // Notes and copies take offsets too. So the window before the ends grows until each partition has enough letters in it.
        while true {
            let logs = reader.watermarks
            let window = logs.mapValues { max($0.lowerBound, $0.upperBound - size)..<$0.upperBound }
            // Which letters were resent is known only after the whole window is read.
            let letters = try read(window).letters.filter(matches)
            let isEnough = logs.allSatisfy { place, log in
                window[place] == log || letters.count { $0.position.partition == place.partition } >= count
            }
            if isEnough { return letters.suffix(count) }
            size *= 8
        }
    }

    /// The dead letters at these positions, oldest first.
    ///
    /// - Throws: ``Failure`` of status ``Failure/Status/notFound`` if there is no letter at one of them.
    func at(_ positions: Set<RecordPosition>) throws(Failure) -> [DeadLetter] {
        let partitions = Set(positions.map(\.partition))
        let (letters, firsts) = try read(reader.watermarks.filter { partitions.contains($0.key.partition) })
        let wanted = Set(positions.map { firsts[$0] ?? $0 })
        let chosen = letters.filter { wanted.contains($0.position) }
        if let missing = wanted.subtracting(chosen.map(\.position)).min() {
            let hint = "`juice dead-letters list` shows the positions of those that are retained"
            throw Failure(.notFound, "there is no dead letter at \(missing.text)", hint: hint)
        }
        return chosen
    }

    private func read(
        _ ranges: Logs, where matches: (DeadLetter) -> Bool = { _ in true }
    ) throws(Failure) -> (letters: [DeadLetter], firsts: [RecordPosition: RecordPosition]) {
        var records: [DeadLetter] = []
        try reader.read(ranges) { record in
            let record = DeadLetter(record)
            if matches(record) || !record.isLetter { records.append(record) }
        }
        return Self.letters(in: records)
    }

    /// The letters among records, oldest first, each once, and the first copy's position for each later copy. Copies and notes
    /// follow their letter in its partition.
    static func letters(in records: [DeadLetter]) -> (letters: [DeadLetter], firsts: [RecordPosition: RecordPosition]) {
        var (letters, resent): ([DeadLetter], Set<RecordPosition>) = ([], [])
        var (known, firsts): ([Identity: RecordPosition], [RecordPosition: RecordPosition]) = ([:], [:])
        for record in records {
            let position = record.position
            if !record.isLetter {
                guard let letter = record.resentLetter, letter.partition == position.partition, letter < position else { continue }
                resent.insert(firsts[letter] ?? letter)
            } else if let identity = Identity(record), let first = known[identity] {
                firsts[position] = first
            } else {
                if let identity = Identity(record) { known[identity] = position }
                letters.append(record)
            }
        }
        for index in letters.indices { letters[index].isResent = resent.contains(letters[index].position) }
        return (letters.sorted { ($0.timestamp ?? 0, $0.position) < ($1.timestamp ?? 0, $1.position) }, firsts)
    }
}

extension DeadLetter {
    /// Whether it is a letter and not a note. The sender of a dead letter may have set a note's header.
    fileprivate var isLetter: Bool { header(HeaderName.errorCode) != nil || header(HeaderName.resentLetter) == nil }

    fileprivate var resentLetter: RecordPosition? {
        headers.last { $0.name == HeaderName.resentLetter }?.value.flatMap { RecordPosition($0) }
    }
}

// MARK: - For programs

extension DeadLetter {
    var place: RecordPlace { RecordPlace(timestamp: timestamp, partition: position.partition, offset: position.offset) }

    /// Everything but its place. Bytes that are not UTF-8 are base64.
    var members: [(name: String, json: String)] {
        struct Header: Encodable {
            let name: String
            let value, valueBase64: String?
        }
        let (key, value) = (BytesText(key), BytesText(value))
        let headers = senderHeaders.map { header in
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

    var json: [UInt8] { RecordLine.json(place, members, record: nil) }
}

// MARK: - For people

extension DeadLetter {
    static func table(_ letters: [DeadLetter]) -> Table {
        let rows = letters.map { letter -> [Table.Cell] in
            [
                .init(letter.position.text, .bold), .init(letter.time, .faint),
                .init(DisplayWidth.clip(StoreID.visible(letter.store), to: Table.widest)), .init(letter.code, .red),
                .init(letter.source.text), letter.isResent ? .init("yes", .green) : .init("no"),
                .init(beginning(of: letter.value)), .init(letter.message),
            ]
        }
        return Table(["position", "when", "store", "code", "source", "resent", "value", "message"], rows)
    }

    /// The start of a value, as much as fits into a table.
    static func beginning(of value: [UInt8]?) -> String {
        // The cut may split a character, so it leaves more text than is shown.
        value.map { DisplayWidth.clip(String(decoding: $0.prefix(400), as: UTF8.self).printable, to: 40) } ?? "-"
    }

    /// The whole letter, with a line of JSON for each member.
    func sheet(paint: Paint) -> String {
        let rows = [("position", position.text), ("when", time)] + members
        return rows.map { paint(.faint, DisplayWidth.pad($0, to: 8)) + "  " + $1 + "\n" }.joined()
    }

    var time: String { timestamp.map(DateTime.text) ?? "-" }
}
