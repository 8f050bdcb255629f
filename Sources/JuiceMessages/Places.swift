/// A record's position in a partition, from 0.
public typealias Offset = Int64
/// A time of day in milliseconds since 1970, as in records.
public typealias Timestamp = Int64

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
