/// The position of a record in a partition, counted from 0.
public typealias Offset = Int64

/// One header of a record: a name and a value.
public struct RecordHeader: Hashable, Sendable {
    /// The name. A record may have several headers of the same name.
    public let name: String
    /// The value's bytes; nil is Kafka's null, which differs from empty.
    public let value: [UInt8]?

    /// A header with a value of bytes.
    public init(name: String, value: [UInt8]?) {
        self.name = name
        self.value = value
    }

    /// A header with a value of text.
    public init(name: String, value: String) { self.init(name: name, value: Array(value.utf8)) }

    /// The value as text; nil if it is null or not UTF-8.
    public var text: String? { value.flatMap { String(validating: $0, as: UTF8.self) } }
}
