/// The topics that commands are read from.
public enum InputTopic: Int, Sendable, CaseIterable {
    /// Orders from POS systems.
    case orders
    /// Stock edits from restock bots.
    case restocks

    /// The topic as one of all.
    public var topic: Topic {
        switch self {
        case .orders: .orders
        case .restocks: .restocks
        }
    }

    /// Its name in the journal, which no prefix changes.
    public var name: StaticString {
        switch self {
        case .orders: "orders"
        case .restocks: "restocks"
        }
    }

    /// The topic of this name.
    init?(name: BorrowedText) {
        switch name {
        case "orders": self = .orders
        case "restocks": self = .restocks
        default: return nil
        }
    }
}

/// A partition of an input topic. In the journal, it is written `orders/3`.
public struct InputPartition: Sendable, Hashable, Comparable {
    /// The topic.
    public let topic: InputTopic
    /// The partition's number.
    public let partition: Int32

    /// A partition of a topic.
    public init(topic: InputTopic, partition: Int32) {
        self.topic = topic
        self.partition = partition
    }

    /// Orders by topic, then by number.
    public static func < (first: InputPartition, second: InputPartition) -> Bool {
        (first.topic.rawValue, first.partition) < (second.topic.rawValue, second.partition)
    }
}

/// Where a forwarded command was read first, in the same topic. In the header `juice.forwarded.from` and in the answer, it is
/// written `3/42`: partition 3, offset 42.
public struct ForwardSource: Sendable, Hashable {
    /// The partition's number, from 0 up.
    public let partition: Int32
    /// The offset there, from 0 up.
    public let offset: Int64

    /// A place of an input topic.
    public init(partition: Int32, offset: Int64) {
        self.partition = partition
        self.offset = offset
    }

    /// Reads the value of a header; nil if it is not written exactly as ``text``.
    public init?(_ header: [UInt8]) {
        guard let source = header.withUnsafeBytes({ ForwardSource(BorrowedText($0)) }) else { return nil }
        self = source
    }

    /// Reads the text; nil if it is not written exactly as ``text``.
    init?(_ text: BorrowedText) {
        let bytes = text.bytes
        guard let slash = bytes.firstIndex(of: UInt8(ascii: "/")),
            let partition = UnsafeRawBufferPointer(rebasing: bytes[..<slash]).decimal,
            let offset = UnsafeRawBufferPointer(rebasing: bytes[(slash + 1)...]).decimal, let partition = Int32(exactly: partition)
        else { return nil }
        self.init(partition: partition, offset: Int64(offset))
    }

    /// Such as `3/42`.
    public var text: String { "\(partition)/\(offset)" }
}
