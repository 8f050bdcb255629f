import JuiceMessages

/// What the handled records were, by offset: evidence that an input is still the log that was read.
///
/// A topic can be made anew under the same name, and a log can lose its end and grow again. Old librdkafka reports neither. So
/// the worker reads some of these offsets again now and then, and compares.
struct AnsweredCommands {
    struct Entry: Equatable {
        let offset: Offset
        let content: Content
    }

    enum Content: Equatable {
        /// A command that was answered, by half of its ``CommandFingerprint``. A cancel has the other bits of its order.
        case command(UInt64)
        /// A command that was forwarded to this partition.
        case forwarded(to: Int32)
        /// A dead letter, since it is no command.
        case noCommand

        static func command(_ fingerprint: CommandFingerprint, _ kind: CommandKind) -> Content {
            .command(kind == .cancel ? ~fingerprint.low : fingerprint.low)
        }
    }

    private let home: Int32
    /// Of the partition of that number alone: nearly all records are.
    private var orders: [Entry] = []
    private var restocks: [Entry] = []

    /// More than come between two checks, unless a backlog is read. Beyond it, every second entry is dropped.
    private static let most = 32_768

    init(home: Int32) { self.home = home }

    @inline(__always)
    mutating func append(_ topic: InputTopic, _ offset: Offset, _ content: Content) {
        let entry = Entry(offset: offset, content: content)
        if topic == .orders { Self.append(entry, to: &orders) } else { Self.append(entry, to: &restocks) }
    }

    private static func append(_ entry: Entry, to list: inout [Entry]) {
        if list.count >= most {
            var index = 0
            list.removeAll { _ in
                index += 1
                return index.isMultiple(of: 2)
            }
        }
        list.append(entry)
    }

    /// The entries of a topic, in the order in which they were handled.
    subscript(topic: InputTopic) -> [Entry] {
        get { topic == .orders ? orders : restocks }
        set { if topic == .orders { orders = newValue } else { restocks = newValue } }
    }

    /// Forgets what was handled in a transaction that failed.
    mutating func undo(to positions: InputPositions) {
        for topic in InputTopic.allCases {
            guard let next = positions[topic, home] else { continue }
            while let last = self[topic].last, last.offset >= next { self[topic].removeLast() }
        }
    }

    /// Keeps the last entry of each topic, and of those before it fewer the older they are.
    mutating func thin() {
        for topic in InputTopic.allCases {
            guard let last = self[topic].last else { continue }
            var thinned: [Entry] = []
            var distance: Offset = 0
            for entry in self[topic].reversed() where last.offset - entry.offset >= distance {
                guard last.offset - entry.offset < LogEvidence.longest else { break }
                thinned.append(entry)
                distance = max(1, 2 * (last.offset - entry.offset))
            }
            self[topic] = thinned.reversed()
        }
    }

    /// Forgets all: the position was moved on purpose, perhaps to another log.
    mutating func removeAll(_ topic: InputTopic) { self[topic] = [] }
}

/// An offset at which an input now holds another record than the one that was handled.
struct InputMismatch: Equatable {
    let input: InputPartition
    let offset: Offset
    /// What is there now, for people.
    let found: String
    /// The end of what still is as it was handled: the log lost the rest. Nil if nothing is, so that the log is a new one.
    let intactUpTo: Offset?

    /// The place, as its partition's journal names it.
    var place: InputPlace { InputPlace(topic: input.topic, partition: nil, offset: offset) }
}

/// Compares some records of a partition's inputs with what was handled.
struct LogEvidence {
    private var expected: [InputPartition: [AnsweredCommands.Entry]] = [:]

    /// How many of the latest records are compared at each takeover.
    private static let pins = 32
    /// How far back they may lie.
    static let longest: Offset = 1_024

    /// The latest answers of a partition, as far as the logs reach back and still have their places.
    init(of state: PartitionState, in extents: PartitionExtents) {
        self.init(state, in: extents) { _, entries in
            let latest = entries.suffix(Self.pins)
            return latest.filter { entry in latest.last.map { $0.offset - entry.offset < Self.longest } ?? false }
        }
    }

    /// All records since the last comparison, of inputs whose log may have lost its end, and the oldest of the others. Whether
    /// the log still reaches as far is for the takeover to tell.
    init(since state: PartitionState, in extents: PartitionExtents) {
        self.init(state, in: extents) { input, entries in
            extents.disturbed.contains(input) ? entries : Array(entries.prefix(1))
        }
    }

    private init(
        _ state: PartitionState, in extents: PartitionExtents,
        _ choose: (InputPartition, [AnsweredCommands.Entry]) -> [AnsweredCommands.Entry]
    ) {
        for topic in InputTopic.allCases {
            let input = InputPartition(topic: topic, partition: state.partition)
            guard let log = extents.inputs[input] else { continue }
            let chosen = choose(input, state.applied.answered[topic].filter { log.contains($0.offset) })
            if !chosen.isEmpty { expected[input] = chosen }
        }
    }

    /// What to read again.
    var ranges: [InputPartition: Range<Offset>] {
        expected.compactMapValues { entries in
            entries.first.flatMap { first in entries.last.map { first.offset..<$0.offset + 1 } }
        }
    }

    /// The first place that holds something else.
    func mismatch(with records: [CommandRecord], damaged: Set<InputPartition>, by reader: CommandReader) -> InputMismatch? {
        for (input, entries) in expected.sorted(by: { $0.key < $1.key }) where !damaged.contains(input) {
            var found = records.lazy.filter { $0.topic == input.topic && $0.partition == input.partition }.makeIterator()
            var next = found.next()
            for (index, entry) in entries.enumerated() {
                while let record = next, record.offset < entry.offset { next = found.next() }
                let record = next.flatMap { $0.offset == entry.offset ? $0 : nil }
                if let record, reader.content(of: record) == entry.content { continue }
                return InputMismatch(
                    input: input, offset: entry.offset, found: record.map { Self.text(of: $0, by: reader) } ?? "no record",
                    intactUpTo: index > 0 ? entries[index - 1].offset + 1 : nil)
            }
        }
        return nil
    }

    private static func text(of record: CommandRecord, by reader: CommandReader) -> String {
        switch reader.read(record) {
        case .command(let command, _): command.text
        case .misrouted: AnsweredCommands.Content.forwarded(to: 0).text
        default: AnsweredCommands.Content.noCommand.text
        }
    }
}

extension JournalNote {
    /// What it says of the record, as evidence; nil if the record may be a command all the same, or the note is of none.
    var answered: AnsweredCommands.Content? {
        switch self {
        case .forwarded(_, let owner): .forwarded(to: owner)
        case .deadLetter(_, let code):
            [DeadLetterReason.misplaced.code, DeadLetterReason.unanswerable.code].contains(code) ? nil : .noCommand
        case .copy, .position, .claim, .anchored: nil
        }
    }
}

extension AnsweredCommands.Content {
    /// For people.
    var text: String {
        switch self {
        case .command: "another command"
        case .forwarded: "a command for another partition"
        case .noCommand: "a record that is no command"
        }
    }
}

extension CommandReader {
    /// What a record is, as evidence.
    func content(of record: CommandRecord) -> AnsweredCommands.Content {
        switch read(record) {
        case .command(let command, _): .command(command.fingerprint, command.head.command)
        case .misrouted(let owner): .forwarded(to: owner)
        default: .noCommand
        }
    }
}

extension ReceivedCommand {
    /// The command's id and store, for people.
    var text: String { Self.text(head) }

    static func text(_ head: AnswerHead) -> String {
        let kind =
            switch head.command {
            case .order: "order"
            case .cancel: "the cancel of order"
            case .restock: "restock"
            }
        return "\(kind) \"\(String(head.id))\" of store \"\(String(head.store))\""
    }
}

extension InputPartition {
    /// For people, such as `orders [3]`.
    var text: String { "\(topic) [\(partition)]" }
}
