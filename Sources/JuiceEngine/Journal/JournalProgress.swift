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

    /// Applies what a record of the journal says beyond that an input record was handled.
    ///
    /// - Parameter isLatest: whether no position note follows: a note itself names the last records before it.
    mutating func apply(_ record: JournalRecord, isLatest: Bool = true) {
        switch record.content {
        case .note(.anchored(let place, _, _, _)):
            let input = place.input(in: last.storePartition)
            (positions[input], last[input]) = (place.offset, nil)
        case .note(.position(let note)):
            for (topic, next) in note.next { positions[topic, positions.storePartition] = next }
            for (input, next) in note.added { positions[input] = next }
            for (input, handled) in note.last { last[input] = handled }
        default:
            guard isLatest, let place = record.handled, let digest = record.digest else { return }
            last[place.input] = HandledRecord(offset: place.offset, digest: digest)
        }
    }

    /// Applies that a record was handled: as the journal's record of it is written, or at a restore.
    ///
    /// - Parameters:
    ///   - written: the time of the journal's record; nil if the log does not say.
    ///   - sent: when the handled record was sent; nil if that is not known.
    @inline(__always)
    mutating func apply(_ input: InputPartition, _ offset: Offset, written: Timestamp?, sent: Timestamp?) {
        positions[input] = offset + 1
        (newest, handledAt) = (written ?? newest, sent)
        records += 1
    }

    /// Applies a record that was read, with its times and its count.
    mutating func restore(_ record: JournalRecord, isLatest: Bool = true) {
        apply(record, isLatest: isLatest)
        if let place = record.handled {
            apply(place.input, place.offset, written: record.timestamp, sent: record.sent ?? record.timestamp)
        } else if case .position(let note) = record.note {
            (newest, records) = (record.timestamp ?? newest, note.account?.records ?? records)
        }
    }
}
