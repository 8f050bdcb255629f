import JuiceMessages

/// Finds where a partition's inputs go on in a copy of another cluster's topics: after the last record that its journal handled.
///
/// A copy has the same records in the same order, at other offsets: it lacks transaction markers and expired records. The last
/// handled record may be a repeat, so the few that were handled before it must precede it in the copy, too.
package struct CopiedInputs {
    private let storePartition: Int32
    private let window: DuplicateWindow
    private let reader: CommandReader
    /// A time no later than when the last handled record was sent.
    private var sentAt: [InputPartition: Timestamp] = [:]
    /// The last handled records, according to the journal.
    private var handled: [InputPartition: [HandledRecord]] = [:]
    /// Whether the journal still begins with its first claim; nil if it is empty.
    private var isWhole: Bool?
    /// The last records of the copy, by the digests that the journal may have of them.
    private var copied: [InputPartition: [(RecordDigest, RecordDigest?)]] = [:]
    private var places: [InputPartition: [Offset]] = [:]

    /// How many records are compared.
    private static let compared = 32

    init(storePartition: Int32, window: DuplicateWindow, reader: CommandReader) {
        (self.storePartition, self.window, self.reader) = (storePartition, window, reader)
    }

    /// Adds the next record of the journal.
    mutating func add(_ record: JournalRecord) {
        if isWhole == nil { isWhole = if case .claim(let claim) = record.note { claim.since == 0 } else { false } }
        switch record.content {
        case .note(.anchored(let place, _, _, let copied)):
            let input = place.input(in: storePartition)
            // If this journal was copied before, the records handled until then lie before this place.
            handled[input] = copied.flatMap { copied in
                handled[input]?.filter { $0.offset < copied }
                    .map { HandledRecord(offset: $0.offset - copied + place.offset, digest: $0.digest) }
            }
        case .note(.position(let note)):
            // The journal's own records of these inputs have expired.
            for (input, last) in note.last where handled[input] == nil { handled[input] = [last] }
        default:
            // A copying tool may have written the record twice.
            guard let place = record.handled, place.offset > handled[place.input]?.last?.offset ?? -1 else { return }
            sentAt[place.input] = record.sent ?? record.timestamp.map { $0 - window.delay }
            // A note type of a newer service does not say what the record was.
            guard let digest = record.digest else { return handled[place.input] = [] }
            handled[place.input] =
                (handled[place.input] ?? []).suffix(Self.compared - 1) + [HandledRecord(offset: place.offset, digest: digest)]
        }
    }

    /// Adds the next record of a copy.
    package mutating func add(_ record: CommandRecord) {
        let latest = Array((copied[record.input] ?? []).suffix(Self.compared - 1)) + [reader.digests(of: record)]
        copied[record.input] = latest
        guard let handled = handled[record.input], !handled.isEmpty else { return }
        let isSame = zip(handled.reversed(), latest.reversed()).allSatisfy { $0.digest == $1.0 || $0.digest == $1.1 }
        if isSame { places[record.input, default: []].append(record.offset + 1) }
    }

    /// Where an input may go on; nil if the journal does not say what was handled last.
    ///
    /// - Parameters:
    ///   - next: the input's next offset, according to the journal.
    ///   - log: the offsets of the copy.
    package func places(of input: InputPartition, after next: Offset?, in log: Range<Offset>) -> [Offset]? {
        // None of its records was handled.
        if next == 0 || next == nil && isWhole == true { return [log.lowerBound] }
        return handled[input]?.last.flatMap { $0.offset + 1 == next ? places[input] ?? [] : nil }
    }

    /// When reading may begin, by time, in a copy that lacks an input's last handled record: all earlier commands were handled, and
    /// those handled from then on are still known as repeats. Nil if the journal does not say.
    package func times(of input: InputPartition) -> ClosedRange<Timestamp>? { sentAt[input].map { $0 - window.age...$0 } }
}
