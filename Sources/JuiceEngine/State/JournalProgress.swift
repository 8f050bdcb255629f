import JuiceMessages

/// How far a partition's journal says that the inputs are handled. A value, so that a transaction is undone by the copy of before.
struct JournalProgress {
    var positions: InputPositions
    var forwards = ForwardedCommands()
    /// How many records of the inputs were handled, since the journal's beginning and since its last position note.
    var records: Int64 = 0
    var recordsSinceNote = 0

    /// After so many records, the next transaction begins with a position note.
    static let recordsPerNote = 1_000
}

/// The next offset to read of each input partition that belongs to one partition that stores live in.
struct InputPositions: Equatable {
    /// The number of the partition that stores live in.
    let home: Int32
    private var orders: Offset?
    private var restocks: Offset?
    /// Those of partitions that were added to the inputs later.
    private(set) var added: [InputPartition: Offset] = [:]

    init(home: Int32) { self.home = home }

    subscript(topic: InputTopic, partition: Int32) -> Offset? {
        get {
            guard partition == home else { return added[InputPartition(topic: topic, partition: partition)] }
            return topic == .orders ? orders : restocks
        }
        set {
            if partition != home {
                added[InputPartition(topic: topic, partition: partition)] = newValue
            } else if topic == .orders {
                orders = newValue
            } else {
                restocks = newValue
            }
        }
    }

    subscript(input: InputPartition) -> Offset? {
        get { self[input.topic, input.partition] }
        set { self[input.topic, input.partition] = newValue }
    }

    /// Those of the partitions of that number.
    var ofHome: [InputTopic: Offset] {
        var next: [InputTopic: Offset] = [:]
        (next[.orders], next[.restocks]) = (orders, restocks)
        return next
    }

    var all: [InputPosition] {
        let ofHome = ofHome.map { InputPosition(topic: $0, partition: home, offset: $1) }
        return (ofHome + added.map { InputPosition($0, $1) }).sorted { $0.input < $1.input }
    }

    /// Moves on as a record of the journal says.
    mutating func apply(_ entry: JournalEntry) {
        if let place = entry.handled { self[place.topic, place.partition ?? home] = place.offset + 1 }
        switch entry {
        case .note(.anchored(let place, _, _, _)): self[place.topic, place.partition ?? home] = place.offset
        case .note(.position(let note)):
            for (topic, next) in note.next { self[topic, home] = next }
            for (input, next) in note.added { self[input] = next }
        default: break
        }
    }
}

extension JournalEntry {
    /// The place of the record that was handled with this one.
    var handled: InputPlace? {
        switch self {
        case .answer(let answer): InputPlace(topic: answer.head.command.inputTopic, partition: nil, offset: answer.head.offset)
        case .note(.forwarded(let place, _)), .note(.deadLetter(let place, _)), .note(.copy(let place)): place
        case .unknown(let place): place
        case .note(.position), .note(.claim), .note(.anchored): nil
        }
    }
}

extension CommandKind {
    var inputTopic: InputTopic { self == .restock ? .restocks : .orders }
}

/// The commands that other partitions have forwarded to this one, to recognize a second copy: see "A transaction" in
/// docs/JOURNAL.md.
///
/// Commands of one partition are forwarded in order, so one that comes from no later place than the last is a copy. But anybody can
/// write the header that names the place. So it must also be the command that came from there.
struct ForwardedCommands {
    private struct Entry: Equatable {
        let place: InputPosition
        /// Half of the command's ``CommandFingerprint``.
        let command: UInt64
    }

    /// The offset of the last command from each partition.
    private(set) var last: [InputPartition: Offset] = [:]
    private var latest: [Entry] = []

    /// More than one transaction usually forwards from one partition.
    private static let most = 8_192

    /// Whether a command was forwarded here before; nil if that is too long ago to tell.
    func isCopy(_ command: CommandFingerprint, from place: InputPosition) -> Bool? {
        guard let last = last[place.input], place.offset <= last else { return false }
        return latest.contains(Entry(place: place, command: command.low)) ? true : nil
    }

    mutating func append(_ command: CommandFingerprint, from place: InputPosition) {
        last[place.input] = place.offset
        latest.append(Entry(place: place, command: command.low))
        if latest.count > 2 * Self.most { latest.removeFirst(Self.most) }
    }

    /// Forgets the places of a topic that was copied from another cluster, where offsets differ.
    mutating func removeAll(_ topic: InputTopic) {
        last = last.filter { $0.key.topic != topic }
        latest.removeAll { $0.place.topic == topic }
    }

    /// Takes the offsets of the last commands from a position note.
    mutating func restore(_ forwarded: [InputPartition: Offset]) { last.merge(forwarded) { $1 } }
}
