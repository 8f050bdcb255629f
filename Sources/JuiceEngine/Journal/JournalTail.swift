import JuiceMessages

/// The end of a partition's journal, up to this worker's claim. It shows where to restore from, the positions of the inputs, and
/// whose transactions may still be open.
struct JournalTail {
    /// Where the tail begins, and how far it was read.
    let start: Offset
    private(set) var end: Offset
    /// The last position note.
    private(set) var note: (offset: Offset, position: JournalPosition)?
    /// How far the inputs are handled, as far as the journal was read.
    private(set) var progress: JournalProgress
    private(set) var owners = JournalOwners()
    /// The last claim, if its writer had commands to read, and none was handled since.
    private(set) var attempt: JournalClaim?
    /// The last handled record of each input, and its time. Only for display.
    private(set) var lastHandled: [InputPartition: (offset: Offset, at: Timestamp?)] = [:]

    init(partition: Int32, from start: Offset) {
        (self.start, end, progress) = (start, start, JournalProgress(storePartition: partition))
    }

    var positions: InputPositions { progress.positions }

    mutating func add(_ record: JournalRecord, isCommitted: Bool) {
        owners.add(record, isCommitted: isCommitted)
        guard isCommitted else { return }
        end = record.offset + 1
        progress.restore(record)
        switch record.note {
        case .claim(let claim): attempt = claim.attempt > 0 ? claim : nil
        case .anchored: attempt = nil
        case .position(let note): self.note = (record.offset, note)
        default:
            guard let place = record.handled else { break }
            (attempt, lastHandled[place.input]) = (nil, (place.offset, record.timestamp))
        }
    }
}
