import JuiceMessages

/// How far the inputs are handled, according to a partition's journal. A value, so that the previous copy undoes a transaction.
struct JournalProgress {
    var positions: InputPositions
    /// The last handled record of each input.
    var last: ByInput<HandledRecord>
    var forwards = ForwardedCommands()
    /// How many records of the inputs were handled, since the journal's beginning and since its last position note.
    var records: Int64 = 0
    var recordsSinceNote = 0
    /// When the last handled command was sent.
    var handledAt: Timestamp?
    /// The time of the last journal record other than a claim. Later records have no earlier time, whatever the clock says.
    var newest = Timestamp.min

    /// After this many records, the next transaction begins with a position note.
    static let recordsPerNote = 1_000

    init(storePartition: Int32) {
        (positions, last) = (InputPositions(storePartition: storePartition), ByInput(storePartition: storePartition))
    }

    /// Applies a record of the journal.
    ///
    /// - Parameter isLatest: whether no position note follows: a note itself names the last records before it.
    mutating func apply(_ record: JournalRecord, isLatest: Bool = true) {
        positions.apply(record)
        switch record.content {
        case .note(.anchored(let place, _, _, _)): last[place.input(in: last.storePartition)] = nil
        case .note(.position(let note)): for (input, handled) in note.last { last[input] = handled }
        default:
            guard isLatest, let place = record.handled, let digest = record.digest else { return }
            last[place.input] = HandledRecord(offset: place.offset, digest: digest)
        }
    }

    /// Applies a record that was read, with its times and its count.
    mutating func restore(_ record: JournalRecord, isLatest: Bool = true) {
        apply(record, isLatest: isLatest)
        if record.handled != nil {
            newest = record.timestamp ?? newest
            handledAt = record.sent ?? record.timestamp
            records += 1
        } else if case .position(let note) = record.note {
            (newest, records) = (record.timestamp ?? newest, note.account?.records ?? records)
        }
    }
}

/// The next offset to read of each input partition that belongs to one partition that holds stores.
typealias InputPositions = ByInput<Offset>

/// A value for each input partition of one partition that holds stores. Those with its own number need no allocation.
struct ByInput<Value: Equatable>: Equatable {
    let storePartition: Int32
    private var orders: Value?
    private var restocks: Value?
    /// The values of partitions that were added to the inputs later.
    private(set) var added: [InputPartition: Value] = [:]

    init(storePartition: Int32) { self.storePartition = storePartition }

    subscript(topic: InputTopic, partition: Int32) -> Value? {
        get {
            guard partition == storePartition else { return added[InputPartition(topic: topic, partition: partition)] }
            return topic == .orders ? orders : restocks
        }
        set {
            if partition != storePartition {
                added[InputPartition(topic: topic, partition: partition)] = newValue
            } else if topic == .orders {
                orders = newValue
            } else {
                restocks = newValue
            }
        }
    }

    subscript(input: InputPartition) -> Value? {
        get { self[input.topic, input.partition] }
        set { self[input.topic, input.partition] = newValue }
    }

    /// The values of the input partitions of that number.
    var ofStorePartition: [InputTopic: Value] {
        var values: [InputTopic: Value] = [:]
        (values[.orders], values[.restocks]) = (orders, restocks)
        return values
    }

    var byPartition: [InputPartition: Value] {
        ofStorePartition.reduce(into: added) { $0[InputPartition(topic: $1.key, partition: storePartition)] = $1.value }
    }
}

extension InputPositions {
    var all: [InputPosition] { byPartition.map { InputPosition($0, $1) }.sorted { $0.input < $1.input } }

    /// Applies a record of the journal.
    mutating func apply(_ record: JournalRecord) { record.forEachPosition { self[$0] = $1 } }
}

/// The commands that other partitions have forwarded to this one, to recognize a second copy: see "A transaction" in
/// docs/JOURNAL.md.
///
/// Commands of one partition are forwarded in order, so a command from no later place than the last one is a copy. But any client
/// can write the header that names the place. So it must also be the command that came from there.
struct ForwardedCommands {
    private struct Entry: Equatable {
        let place: InputPosition
        /// Half of the command's ``CommandFingerprint``.
        let command: UInt64
    }

    /// The offset of the last command from each partition.
    private(set) var last: [InputPartition: Offset] = [:]
    /// The highest offset from each partition. It is beyond `last` if that partition's position was moved back.
    private var highest: [InputPartition: Offset] = [:]
    private var latest: [Entry] = []
    /// The values of `last` at position notes, each with the offset of the last note that had it.
    private var noted: [(last: [InputPartition: Offset], note: Offset)] = []

    /// More commands than one transaction usually forwards from one partition.
    private static let most = 8_192
    private static let mostNoted = 1_024

    /// Whether a command was forwarded here before; nil if that is too long ago to know.
    func isCopy(_ command: CommandFingerprint, from place: InputPosition) -> Bool? {
        guard let last = last[place.input], place.offset <= max(last, highest[place.input] ?? 0) else { return false }
        if latest.contains(Entry(place: place, command: command.low)) { return true }
        return place.offset <= last ? nil : false
    }

    mutating func append(_ command: CommandFingerprint, from place: InputPosition) {
        last[place.input] = place.offset
        highest[place.input] = max(highest[place.input] ?? 0, place.offset)
        latest.append(Entry(place: place, command: command.low))
        if latest.count > 2 * Self.most { latest.removeFirst(Self.most) }
    }

    /// Whether the first copy of a command from this place may have been answered before an offset of the journal.
    func mayBeAnswered(_ place: InputPosition, before offset: Offset) -> Bool {
        guard offset > 0 else { return false }
        guard let noted = noted.first(where: { $0.note >= offset }) else { return true }
        return place.offset <= noted.last[place.input] ?? -1
    }

    /// Remembers what was forwarded before the position note at an offset.
    mutating func note(_ last: [InputPartition: Offset], at offset: Offset) {
        if let latest = noted.last, latest.last == last {
            noted[noted.count - 1].note = offset
        } else {
            noted.append((last, offset))
            if noted.count > Self.mostNoted { noted.removeFirst() }
        }
    }

    /// Forgets the places of a topic that was copied from another cluster, where offsets differ.
    mutating func removeAll(_ topic: InputTopic) {
        noted = []
        last = last.filter { $0.key.topic != topic }
        highest = highest.filter { $0.key.topic != topic }
        latest.removeAll { $0.place.topic == topic }
    }

    /// Takes the offsets of the last commands from a position note at an offset.
    mutating func restore(_ forwarded: [InputPartition: Offset], at offset: Offset) {
        last.merge(forwarded) { $1 }
        note(last, at: offset)
    }
}
