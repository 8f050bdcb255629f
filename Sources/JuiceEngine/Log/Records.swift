import JuiceMessages

/// The position of a record in a partition, counted from 0.
public typealias Offset = Int64

/// A time of day, in milliseconds since 1970, as records carry it.
public typealias Timestamp = Int64

/// The topics that commands are read from. One worker reads both of a partition that stores live in: see ``InputShare``.
public enum InputTopic: Sendable, CaseIterable {
    /// Orders from POS systems.
    case orders
    /// Stock edits from restock bots.
    case restocks

    /// The same among all topics.
    public var topic: Topic {
        switch self {
        case .orders: .orders
        case .restocks: .restocks
        }
    }
}

/// The topics that state is restored from.
public enum ChangelogTopic: Sendable, CaseIterable {
    /// The stores.
    case stock
    /// The answers. A repeat of a command is known by its answer.
    case results

    /// The same among all topics.
    public var topic: Topic {
        switch self {
        case .stock: .stock
        case .results: .results
        }
    }
}

/// One header of a record.
public struct Header: Sendable, Equatable {
    /// The name; it may occur more than once.
    public let name: String
    /// The bytes; nil is Kafka's null.
    public let value: [UInt8]?

    /// A header of raw bytes.
    public init(name: String, value: [UInt8]?) {
        self.name = name
        self.value = value
    }

    /// A header of text.
    public init(name: String, value: String) {
        self.init(name: name, value: Array(value.utf8))
    }
}

/// One record of a topic that the engine reads. Key and value are views, valid until more is read.
public struct LogRecord<Source> {
    /// Where it was read.
    public let topic: Source
    /// The partition's number.
    public let partition: Int32
    /// Its position in the partition.
    public let offset: Offset
    /// When it was made, by the sender's word, or appended; nil where the log does not say.
    public let timestamp: Timestamp?
    /// The store, by the sender's word.
    public let key: UnsafeRawBufferPointer?
    /// The command, the stock or the answer, by the sender's word; no stock says that the store is gone.
    public let value: UnsafeRawBufferPointer?
    /// The headers, in the sender's order.
    public let headers: [Header]

    /// A record as the log holds it.
    @inlinable
    public init(
        topic: Source,
        partition: Int32,
        offset: Offset,
        timestamp: Timestamp?,
        key: UnsafeRawBufferPointer?,
        value: UnsafeRawBufferPointer?,
        headers: [Header] = []
    ) {
        self.topic = topic
        self.partition = partition
        self.offset = offset
        self.timestamp = timestamp
        self.key = key
        self.value = value
        self.headers = headers
    }
}

/// One order or restock.
public typealias CommandRecord = LogRecord<InputTopic>

/// One record to write. Key and value are views that need to live only during the call.
public struct OutputRecord {
    /// Where it goes.
    public let topic: Topic
    /// The partition of the command it stems from; of a forwarded one, the partition it belongs in.
    public let partition: Int32
    /// The store; a dead letter keeps whatever key it had.
    public let key: UnsafeRawBufferPointer?
    /// The record's bytes.
    public let value: UnsafeRawBufferPointer?
    /// Headers, usually none.
    public let headers: [Header]
    /// The time that it is to carry, which only a record with headers can; nil is the time of writing.
    public var timestamp: Timestamp?
}

/// The next offset to read of one partition.
public struct LogPosition<Source: Sendable & Hashable>: Sendable, Hashable {
    /// Where it is read.
    public let topic: Source
    /// The partition's number.
    public let partition: Int32
    /// The next offset to read.
    public let offset: Offset

    /// A position in one partition.
    @inlinable
    public init(topic: Source, partition: Int32, offset: Offset) {
        self.topic = topic
        self.partition = partition
        self.offset = offset
    }
}

/// How far commands are read.
public typealias InputPosition = LogPosition<InputTopic>
/// How far state is restored.
public typealias ChangelogPosition = LogPosition<ChangelogTopic>

/// Where one partition stands, as a basis to restore it on.
public struct RestorePoint: Sendable, Equatable {
    /// What the group and the broker know of one input partition.
    public struct Input: Sendable, Equatable {
        /// The group's committed offset; nil when nothing was ever committed.
        public let committed: Offset?
        /// The oldest offset still in the log, and the one that the next record gets.
        public let log: Range<Offset>

        /// Where reading begins: after what is committed, or with the oldest record.
        var start: Offset { committed ?? log.lowerBound }

        /// An input partition's state.
        public init(committed: Offset?, log: Range<Offset>) {
            self.committed = committed
            self.log = log
        }
    }

    /// The partition's number.
    public let partition: Int32
    /// The orders; nil where that topic has no such partition.
    public let orders: Input?
    /// The restocks; nil where that topic has no such partition.
    public let restocks: Input?
    /// The stock is to be read up to here.
    public let stockEnd: Offset
    /// The answers that repeats may still ask for, or those of them that are still there; they are to be read up to the end.
    public let results: Range<Offset>

    /// A partition's state.
    public init(
        partition: Int32,
        orders: Input?,
        restocks: Input?,
        stockEnd: Offset,
        results: Range<Offset>
    ) {
        self.partition = partition
        self.orders = orders
        self.restocks = restocks
        self.stockEnd = stockEnd
        self.results = results
    }
}

/// A piece of the changelogs.
public struct ChangelogBatch {
    /// One store's stock, or one answer.
    public typealias Record = LogRecord<ChangelogTopic>

    /// The records, in order within each partition.
    public let records: [Record]
    /// Partitions read to their present end, with the offset that follows: it passes markers and aborted records,
    /// which no record tells of.
    public let ends: [ChangelogPosition]

    /// A piece of the changelogs.
    public init(records: [Record], ends: [ChangelogPosition]) {
        self.records = records
        self.ends = ends
    }
}
