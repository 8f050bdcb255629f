import JuiceMessages

/// A place at which an input holds another record than the one that was answered.
struct InputMismatch: Equatable {
    let input: InputPartition
    let offset: Offset
    /// What is there now, for people.
    let found: String
    /// Up to where the log still holds what was answered: it lost its end, and was not made anew. Nil if no place does.
    let intactUpTo: Offset?

    /// The place, as its partition's journal names it.
    var place: InputPlace { InputPlace(topic: input.topic, partition: nil, offset: offset) }
}

/// Tells whether the inputs of a partition are still the logs that were read, by comparing some records that were handled.
struct LogEvidence {
    private let expected: [InputPartition: [AnsweredCommands.Entry]]

    /// How many of the latest records are compared at each takeover.
    private static let pins = 32
    /// How far back they may lie.
    static let longest: Offset = 1_024

    /// The latest answers of a partition, as far as the logs reach back and still have their places.
    init(of state: PartitionState, in extents: PartitionExtents) {
        var expected: [InputPartition: [AnsweredCommands.Entry]] = [:]
        for topic in InputTopic.allCases {
            let input = InputPartition(topic: topic, partition: state.partition)
            let log = extents.inputs[input] ?? 0..<0
            let entries = state.applied.answered[topic].filter { log.contains($0.offset) }.suffix(Self.pins)
            guard let last = entries.last else { continue }
            expected[input] = entries.filter { last.offset - $0.offset < Self.longest }
        }
        self.expected = expected
    }

    /// All records since the last comparison, of inputs whose log may have lost its end, and the oldest of the others. Whether
    /// the log still reaches as far is for the takeover to tell.
    init(since state: PartitionState, in extents: PartitionExtents) {
        var expected: [InputPartition: [AnsweredCommands.Entry]] = [:]
        for topic in InputTopic.allCases {
            let input = InputPartition(topic: topic, partition: state.partition)
            let log = extents.inputs[input] ?? 0..<0
            let entries = state.applied.answered[topic].filter { log.contains($0.offset) }
            let wanted = extents.disturbed.contains(input) ? entries : Array(entries.prefix(1))
            if !wanted.isEmpty { expected[input] = wanted }
        }
        self.expected = expected
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
        case .command(let command, _): .command(command.fingerprint.low)
        case .misrouted(let owner): .forwarded(to: owner)
        default: .noCommand
        }
    }
}

extension ReceivedCommand {
    /// The command's id and store, for people.
    var text: String { Self.text(head) }

    static func text(_ head: AnswerHead) -> String {
        "\(head.command == .restock ? "restock" : "order") \"\(String(head.id))\" of store \"\(String(head.store))\""
    }
}

extension InputPartition {
    /// For people, such as `orders [3]`.
    var text: String { "\(topic) [\(partition)]" }
}
