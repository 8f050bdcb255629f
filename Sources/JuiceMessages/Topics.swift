/// The topics of the contract, in its order.
public enum Topic: Int, Sendable, CaseIterable {
    /// Orders from POS systems, and those forwarded to the partition that owns their store.
    case orders
    /// Stock edits from restock bots, and those forwarded likewise.
    case restocks
    /// One answer per command.
    case results
    /// The changelog of the stores: each store's whole stock after its last change.
    case stock
    /// Records that name no command.
    case deadLetters
}

extension Topic: Encodable {
    /// The topic's name without a prefix, such as `dead-letters`.
    package var name: String { self == .deadLetters ? "dead-letters" : "\(self)" }

    /// Encodes the name.
    public func encode(to encoder: any Encoder) throws { try name.encode(to: encoder) }
}

/// The names of the topics: a common prefix and each topic's own name.
package struct TopicNames: Sendable, Equatable {
    package static let standardPrefix = "juice."

    /// All topics, in the order of ``Topic``.
    package let all: [String]

    package init(prefix: String = standardPrefix) { all = Topic.allCases.map { prefix + $0.name } }

    package subscript(topic: Topic) -> String { all[topic.rawValue] }

    package var orders: String { self[.orders] }
    package var restocks: String { self[.restocks] }
    package var results: String { self[.results] }
    package var stock: String { self[.stock] }
    package var deadLetters: String { self[.deadLetters] }
}

/// The topics that commands are read from.
public enum InputTopic: Int, Sendable, CaseIterable {
    case orders, restocks

    /// The same topic among all topics.
    public var topic: Topic { self == .orders ? .orders : .restocks }

    /// Its name in the journal, which never has the prefix.
    public var name: StaticString { self == .orders ? "orders" : "restocks" }

    init?(name: BorrowedText) {
        guard let topic = Self.allCases.first(where: { BorrowedText($0.name) == name }) else { return nil }
        self = topic
    }
}

/// A partition of an input topic. In the journal, it is written `orders/3`.
public struct InputPartition: Sendable, Hashable, Comparable {
    /// The topic.
    public let topic: InputTopic
    /// The partition's number.
    public let partition: Int32

    /// A partition of a topic.
    public init(topic: InputTopic, partition: Int32) { (self.topic, self.partition) = (topic, partition) }

    /// Orders by topic, then by number.
    public static func < (first: InputPartition, second: InputPartition) -> Bool {
        (first.topic.rawValue, first.partition) < (second.topic.rawValue, second.partition)
    }
}

/// The position of a record in a topic. Headers and answers write it `3/42`, and people `3@42`: partition 3, offset 42.
public struct RecordPosition: Sendable, Hashable, Comparable {
    /// The partition.
    public let partition: Int32
    /// The offset there.
    public let offset: Int64

    /// The record at this offset.
    public init(partition: Int32, offset: Int64) { (self.partition, self.offset) = (partition, offset) }

    /// Reads the value of a header; nil if it is not written exactly as ``header``.
    public init?(_ header: [UInt8]) {
        guard let position = header.withUnsafeBytes({ RecordPosition(BorrowedText($0)) }) else { return nil }
        self = position
    }

    /// Reads text that a person entered; nil if it is not written exactly as ``text``.
    package init?(_ text: String) {
        guard let position = BorrowedText.withText(text, { RecordPosition($0, separator: UInt8(ascii: "@")) }) else { return nil }
        self = position
    }

    init?(_ text: BorrowedText, separator: UInt8 = UInt8(ascii: "/")) {
        guard let (partition, offset) = text.split(at: separator), let partition = partition.bytes.decimal,
            let partition = Int32(exactly: partition)
        else { return nil }
        self.init(partition: partition, offset: Int64(offset))
    }

    /// As in a header and in an answer: `3/42`.
    public var header: String { "\(partition)/\(offset)" }

    /// For people: `3@42`.
    package var text: String { "\(partition)@\(offset)" }

    /// Orders by partition, then by offset.
    public static func < (first: Self, second: Self) -> Bool {
        (first.partition, first.offset) < (second.partition, second.offset)
    }
}

extension BorrowedText {
    /// The text before the first separator, and the number after it; nil if there is no such number.
    func split(at separator: UInt8 = UInt8(ascii: "/")) -> (text: BorrowedText, number: Int)? {
        guard let place = bytes.firstIndex(of: separator),
            let number = UnsafeRawBufferPointer(rebasing: bytes[(place + 1)...]).decimal
        else { return nil }
        return (BorrowedText(UnsafeRawBufferPointer(rebasing: bytes[..<place])), number)
    }
}

/// The id of a store, which is the key of every record about it: 1 to 128 bytes of UTF-8.
public enum StoreID {
    /// The store of records without a key.
    public static let main = "main"

    /// The longest id, in bytes.
    public static let maximumLength = 128

    /// The id in a record's key, valid as long as the key: ``main`` if there is no key or an empty one, `nil` if the key is
    /// too long or not UTF-8.
    public static func read(key: UnsafeRawBufferPointer?) -> BorrowedText? {
        guard let key, !key.isEmpty else { return BorrowedText("main") }
        guard key.count <= maximumLength, key.isUTF8 else { return nil }
        return BorrowedText(key)
    }

    // MARK: - For people

    /// The id for display. It is a JSON string with escapes if it has anything invisible, such as a space at its end, or anything
    /// that could also be written as one character, such as decomposed Hangul.
    package static func visible(_ id: String) -> String {
        let isPlain = !id.unicodeScalars.contains(where: \.isHidden) && id.first != "\"" && id.first != " " && id.last != " "
        return isPlain && !id.isEmpty ? id : quoted(id)
    }

    /// The same in quotes, whether or not the id needs them.
    static func quoted(_ id: String) -> String {
        id.unicodeScalars.reduce(into: "\"") { text, scalar in
            switch scalar {
            case "\"", "\\": text += "\\\(scalar)"
            case _ where scalar.isHidden: text += scalar.escape
            default: text.unicodeScalars.append(scalar)
            }
        } + "\""
    }

    /// The visible part of an id, in lower case, and without the quotes that a JSON serializer adds to a key. Ids look alike if
    /// their looks are equal, as `String` compares them.
    package static func look(of id: String) -> String {
        let isQuoted = id.count > 2 && id.first == "\"" && id.last == "\""
        let id = (isQuoted ? String(id.dropFirst().dropLast()) : id).lowercased()
        if id.utf8.allSatisfy({ 0x21..<0x7F ~= $0 }) { return id }
        let words = id.unicodeScalars.filter { $0.properties.isWhitespace || !$0.isInvisible }.split(
            whereSeparator: \.properties.isWhitespace)
        return words.map { String(String.UnicodeScalarView($0)) }.joined(separator: " ")
    }

    /// The groups of ids that look alike.
    package static func alike(_ ids: some Sequence<String>) -> [[String]] {
        Dictionary(grouping: ids, by: look).values.filter { $0.count > 1 }.map { $0.sorted() }.sorted { $0[0] < $1[0] }
    }
}

extension Unicode.Scalar {
    /// Its escape in JSON, such as `\u200b`.
    package var escape: String {
        String(self).utf16.reduce(into: "") { $0 += "\\u" + String(UInt32($1) + 0x10000, radix: 16).dropFirst() }
    }

    /// Whether it has no width, looks like a space, or controls a terminal.
    package var isInvisible: Bool {
        guard value > 0x7E else { return value < 0x20 }
        return switch properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .unassigned: true
        case .spaceSeparator: self != " "
        default: properties.isDefaultIgnorableCodePoint
        }
    }

    /// Whether it is invisible, or part of a character that also exists precomposed: a Latin accent, a letter of a Hangul syllable.
    fileprivate var isHidden: Bool {
        isInvisible || (0x0300...0x036F).contains(value) || (0x1100...0x11FF).contains(value)
    }
}

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

/// The hash by which Kafka's Java clients assign keys to partitions: MurmurHash2 with Kafka's seed.
///
/// It decides which partition owns a store, so it must agree with other clients to the bit: `Utils.murmur2` and
/// `BuiltInPartitioner` in Kafka's Java client, `murmur2_random` in librdkafka.
public enum Murmur2 {
    /// The hash of some bytes, signed as in Java.
    public static func hash(_ bytes: UnsafeRawBufferPointer) -> Int32 {
        let multiplier: UInt32 = 0x5BD1_E995
        // Lengths have 32 bits in Java; no key is longer.
        var hash: UInt32 = 0x9747_B28C ^ UInt32(truncatingIfNeeded: bytes.count)

        var offset = 0
        while offset + 4 <= bytes.count {
            var word = UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
            word &*= multiplier
            word ^= word >> 24
            word &*= multiplier
            hash = hash &* multiplier ^ word
            offset += 4
        }
        if offset < bytes.count {
            var position = bytes.count
            var rest: UInt32 = 0
            while position > offset {
                position -= 1
                rest = rest << 8 | UInt32(bytes[position])
            }
            hash = (hash ^ rest) &* multiplier
        }

        hash ^= hash >> 13
        hash &*= multiplier
        hash ^= hash >> 15
        return Int32(bitPattern: hash)
    }

    /// The partition for a key in a topic of `count` partitions, at least 1.
    public static func partition(of key: UnsafeRawBufferPointer, count: Int32) -> Int32 {
        // As Java does, this clears the sign bit; it does not take the absolute value.
        (hash(key) & Int32.max) % count
    }
}
