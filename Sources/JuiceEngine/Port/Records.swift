import JuiceMessages

/// The topics that state is restored from.
package enum ChangelogTopic: Sendable, CaseIterable {
    case stock
    /// The answers, and so the journal.
    case results

    package var topic: Topic {
        switch self {
        case .stock: .stock
        case .results: .results
        }
    }
}

/// A record that the engine reads. Key and value are views, valid until the next read.
///
/// It holds no references, since each copy would count them. Few records have headers, so they are fetched when needed, with
/// `KafkaPort.headers(of:)`.
public struct LogRecord<Source> {
    /// The topic it was read from.
    public let topic: Source
    /// The number of the partition it was read from.
    public let partition: Int32
    /// Its offset in the partition.
    public let offset: Offset
    /// When it was created, by the sender's clock, or appended; nil if the log does not say.
    public let timestamp: Timestamp?
    /// The store's name, if the sender set it.
    public let key: UnsafeRawBufferPointer?
    /// The command, stock or answer, unchecked. Stock without a value is a tombstone.
    public let value: UnsafeRawBufferPointer?
    /// Its index in the result of the read, by which the log finds its headers.
    public let index: Int

    /// A record of the log. Inlined into the log, and public for that: a call would look the generic type up for each record.
    @inlinable
    public init(
        topic: Source, partition: Int32, offset: Offset, timestamp: Timestamp?, key: UnsafeRawBufferPointer?,
        value: UnsafeRawBufferPointer?, index: Int
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
package typealias CommandRecord = LogRecord<InputTopic>

extension LogRecord where Source == InputTopic {
    package var input: InputPartition { InputPartition(topic: topic, partition: partition) }
    var position: InputPosition { InputPosition(input, offset) }
}

/// A record to write. Key and value are views that are valid during the call only.
package struct OutputRecord {
    package let topic: Topic
    /// The partition of the command it results from; for a forwarded command, the owner of its store.
    package let partition: Int32
    /// The store; a dead letter keeps its record's key.
    package var key: UnsafeRawBufferPointer?
    package var value: UnsafeRawBufferPointer?
    package var headers: [MessageHeader] = []
    /// The index of the polled command whose headers precede its own, byte for byte: in a ``MessageHeader``, the name is cut at NUL
    /// and made UTF-8.
    package var original: Int?
    /// Nil for the time at which the log takes the record.
    package var timestamp: Timestamp?
}

/// The next offset to read of one partition.
public struct LogPosition<Source: Sendable & Hashable>: Sendable, Hashable {
    /// The topic that the partition belongs to.
    public let topic: Source
    /// The partition's number.
    public let partition: Int32
    /// The offset of the next record.
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
package typealias ChangelogPosition = LogPosition<ChangelogTopic>

extension LogPosition where Source == InputTopic {
    package init(_ input: InputPartition, _ offset: Offset) {
        self.init(topic: input.topic, partition: input.partition, offset: offset)
    }

    package var input: InputPartition { InputPartition(topic: topic, partition: partition) }
}

/// How far a consumer group has read an input.
package struct GroupOffset: Sendable, Equatable {
    /// The offset of the next record.
    package let offset: Offset
    /// What the journal held then; nil if another program committed the offset.
    package let mark: JournalMark?

    package init(offset: Offset, mark: JournalMark?) { (self.offset, self.mark) = (offset, mark) }
}

/// How much an owner's journal held when the owner committed offsets for its group: a shorter one has lost its end.
package struct JournalMark: Sendable, Equatable {
    /// The offset of the owner's claim.
    let claim: Offset
    /// How many records the journal had handled.
    let records: Int64

    init(claim: Offset, records: Int64) { (self.claim, self.records) = (claim, records) }

    /// Reads the metadata of a group's offset; nil if it is not this service's.
    package init?(metadata: String) {
        let numbers = metadata.split(separator: "/", omittingEmptySubsequences: false).map { Int64($0) }
        guard numbers.count == 2, let claim = numbers[0], let records = numbers[1] else { return nil }
        self.init(claim: claim, records: records)
    }

    /// `CLAIM/RECORDS`.
    package var metadata: String { "\(claim)/\(records)" }
}

/// Where the logs of a partition that holds stores begin and end: from the oldest record to the next one.
package struct PartitionExtents: Sendable, Equatable {
    package let partition: Int32
    /// The input partitions that belong to it: see ``InputAssignment``.
    package let inputs: [InputPartition: Range<Offset>]
    package let results: Range<Offset>
    package let stock: Range<Offset>
    /// Input partitions whose leader may have changed since the last call, so that the log may have lost its end.
    package let withNewLeader: Set<InputPartition>
    /// Changelogs that were found since the last call to lack records that this process wrote.
    package var truncated: Set<ChangelogTopic>

    package init(
        partition: Int32, inputs: [InputPartition: Range<Offset>], results: Range<Offset>, stock: Range<Offset>,
        withNewLeader: Set<InputPartition> = [], truncated: Set<ChangelogTopic> = []
    ) {
        (self.partition, self.inputs, self.results, self.stock) = (partition, inputs, results, stock)
        (self.withNewLeader, self.truncated) = (withNewLeader, truncated)
    }
}

/// Some records of the changelogs.
package struct ChangelogBatch {
    package typealias Record = LogRecord<ChangelogTopic>

    /// In order within each partition.
    package let records: [Record]
    /// The partitions read to their current ends, past markers and aborted records, which no record shows.
    package let ends: [ChangelogPosition]
    /// Where damaged bytes end the reading of a partition, and the reason.
    package let damages: [ChangelogPosition: String]

    package init(records: [Record], ends: [ChangelogPosition], damages: [ChangelogPosition: String] = [:]) {
        (self.records, self.ends, self.damages) = (records, ends, damages)
    }
}
