import JuiceMessages

/// A record's position in a partition, from 0.
public typealias Offset = Int64

/// A time of day in milliseconds since 1970, as in records.
public typealias Timestamp = Int64

/// The topics that commands are read from. Both topics of a partition that stores live in are read by one worker: see
/// ``InputShare``.
public typealias InputTopic = JuiceMessages.InputTopic

/// A partition of an input topic.
public typealias InputPartition = JuiceMessages.InputPartition

/// The topics that state is restored from.
public enum ChangelogTopic: Sendable, CaseIterable {
    /// The stores.
    case stock
    /// The answers. A repeat of a command is known by its answer.
    case results

    /// The topic as one of all.
    public var topic: Topic {
        switch self {
        case .stock: .stock
        case .results: .results
        }
    }
}

/// One header of a record. The engine imports no Kafka, which has a type of its own for this.
public struct MessageHeader: Hashable, Sendable {
    /// The name. A record may have several headers of the same name.
    public let name: String
    /// The value's bytes; nil is Kafka's null, which differs from empty.
    public let value: [UInt8]?

    /// A header with a value of bytes.
    public init(name: String, value: [UInt8]?) { (self.name, self.value) = (name, value) }

    /// A header with a value of text.
    public init(name: String, value: String) { self.init(name: name, value: Array(value.utf8)) }
}

/// A record that the engine reads. Key and value are views, valid until the next read.
///
/// It holds no references: with one, each copy of a record would count it. Few records have headers, so these are asked for
/// when they are needed, with ``CommandLog/headers(of:)``.
public struct LogRecord<Source> {
    /// The topic it was read from.
    public let topic: Source
    /// The partition's number.
    public let partition: Int32
    /// Its offset in the partition.
    public let offset: Offset
    /// When it was created, by the sender's clock, or appended; nil if the log does not say.
    public let timestamp: Timestamp?
    /// The store's name, if the sender set it.
    public let key: UnsafeRawBufferPointer?
    /// The command, stock or answer, unchecked. Stock without a value is a tombstone.
    public let value: UnsafeRawBufferPointer?
    /// Its place in what the read returned, by which the log finds its headers.
    public let index: Int

    /// A record of the log.
    @inlinable
    public init(
        topic: Source,
        partition: Int32,
        offset: Offset,
        timestamp: Timestamp?,
        key: UnsafeRawBufferPointer?,
        value: UnsafeRawBufferPointer?,
        index: Int
    ) {
        self.topic = topic
        self.partition = partition
        self.offset = offset
        self.timestamp = timestamp
        self.key = key
        self.value = value
        self.index = index
    }
}

/// An order or a restock.
public typealias CommandRecord = LogRecord<InputTopic>

/// A record to write. Key and value are views that are valid during the call only.
public struct OutputRecord {
    /// The topic to write it to.
    public let topic: Topic
    /// The partition of the command it results from; for a forwarded command, the owner of its store.
    public let partition: Int32
    /// The store; a dead letter keeps its record's key.
    public let key: UnsafeRawBufferPointer?
    /// The value; nil for Kafka's null.
    public var value: UnsafeRawBufferPointer?
    /// Headers, usually none.
    public let headers: [MessageHeader]
    /// The timestamp, which only a record with headers can set; nil for the time of writing.
    public var timestamp: Timestamp?
}

/// The next offset to read of one partition.
public struct LogPosition<Source: Sendable & Hashable>: Sendable, Hashable {
    /// The topic.
    public let topic: Source
    /// The partition's number.
    public let partition: Int32
    /// The next offset to read.
    public let offset: Offset

    /// A position in a partition.
    @inlinable
    public init(topic: Source, partition: Int32, offset: Offset) {
        self.topic = topic
        self.partition = partition
        self.offset = offset
    }
}

/// A position in the commands.
public typealias InputPosition = LogPosition<InputTopic>
/// A position in the changelogs.
public typealias ChangelogPosition = LogPosition<ChangelogTopic>

/// Where the logs of one partition that stores live in begin and end.
public struct PartitionExtents: Sendable, Equatable {
    /// The partition's number.
    public let partition: Int32
    /// From the oldest record to the next one, of each input partition that is read with it: see ``InputShare``.
    public let inputs: [InputPartition: Range<Offset>]
    /// The same of the answers, which are the journal.
    public let results: Range<Offset>
    /// The same of the stock.
    public let stock: Range<Offset>
    /// Input partitions whose leader may have changed since the last call, so that the log may have lost its end.
    public let disturbed: Set<InputPartition>
    /// Changelogs that lack records which this process wrote, by what is known since the last call.
    public var rewound: Set<ChangelogTopic>

    /// The extents of a partition.
    public init(
        partition: Int32, inputs: [InputPartition: Range<Offset>], results: Range<Offset>, stock: Range<Offset>,
        disturbed: Set<InputPartition> = [], rewound: Set<ChangelogTopic> = []
    ) {
        self.partition = partition
        self.inputs = inputs
        self.results = results
        self.stock = stock
        self.disturbed = disturbed
        self.rewound = rewound
    }
}

/// Some records of the changelogs.
public struct ChangelogBatch {
    /// A store's stock, or an answer.
    public typealias Record = LogRecord<ChangelogTopic>

    /// The records, in order within each partition.
    public let records: [Record]
    /// The partitions read to their current ends. A position at an end is past markers and aborted records, which no record
    /// shows.
    public let ends: [ChangelogPosition]
    /// Places from which on a partition cannot be read, since its bytes are damaged, with the reason.
    public let damages: [ChangelogPosition: String]

    /// Records read from the changelogs.
    public init(records: [Record], ends: [ChangelogPosition], damages: [ChangelogPosition: String] = [:]) {
        self.records = records
        self.ends = ends
        self.damages = damages
    }
}
