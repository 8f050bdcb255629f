import JuiceMessages

/// Who owns a partition.
struct JournalOwner: Equatable {
    let group: String
    let instance: String

    init(group: String, instance: String) { (self.group, self.instance) = (group, instance) }

    /// The owner by its transactional ids: `GROUP/INSTANCE/WORKER/SET/INDEX`.
    init(ids: [String]) {
        let parts = (ids.first ?? "").split(separator: "/", omittingEmptySubsequences: false)
        group = parts.dropLast(4).joined(separator: "/")
        instance = parts.dropLast(3).last.map(String.init) ?? ""
    }
}

/// What the end of a partition's journal says before this worker claims it: where to restore from, the positions of the inputs, and
/// whose transactions may still be open.
struct JournalTail {
    /// The last claim that is committed.
    struct LastClaim {
        let offset: Offset
        let ids: [String]
        let owner: JournalOwner
    }

    /// The transactional ids that a claim or a position note names.
    private struct Naming {
        let offset: Offset
        let ids: [String]
    }

    /// Where the last two position notes stand, or fewer.
    private(set) var notes: [Offset] = []
    /// The next offset of each input, as far as the journal was read.
    private(set) var positions: InputPositions
    private(set) var lastClaim: LastClaim?
    /// Whatever was named before this offset was fenced by the writer of a later claim.
    private var fencedUpTo: Offset = 0
    private var namings: [Naming] = []

    init(partition: Int32) { positions = InputPositions(home: partition) }

    /// Where the last position note stands: whoever wrote it had fenced all that was named before, but for itself.
    var lastNote: Offset? { notes.last }

    /// Whether the last claim is the one that a state belongs to. In a journal that was made anew, another one may stand there.
    func hasClaim(of state: PartitionState) -> Bool {
        lastClaim.map { $0.offset == state.claim && $0.ids == state.ids } ?? false
    }

    /// Adds a committed record.
    mutating func addCommitted(_ entry: JournalEntry, at offset: Offset) {
        switch entry {
        case .answer(let answer): move(answer.head.command == .restock ? .restocks : .orders, nil, to: answer.head.offset + 1)
        case .unknown(let place?): move(place.topic, place.partition, to: place.offset + 1)
        case .unknown(nil): break
        case .note(let note): addCommitted(note, at: offset)
        }
    }

    private mutating func addCommitted(_ note: JournalNote, at offset: Offset) {
        switch note {
        case .forwarded(let place, _), .deadLetter(let place, _), .copy(let place):
            move(place.topic, place.partition, to: place.offset + 1)
        case .anchored(let place, _, _): move(place.topic, place.partition, to: place.offset)
        case .position(let note):
            notes = notes.suffix(1) + [offset]
            for (topic, next) in note.next { move(topic, nil, to: next) }
            for (input, next) in note.added { positions[input] = next }
            if lastClaim.map({ $0.offset < note.claim }) ?? true {
                lastClaim = LastClaim(offset: note.claim, ids: note.ids, owner: JournalOwner(ids: note.ids))
            }
            namings.append(Naming(offset: offset, ids: note.ids))
        case .claim(let claim):
            lastClaim = LastClaim(offset: offset, ids: claim.ids, owner: JournalOwner(group: claim.group, instance: claim.instance))
            // In a journal that was made anew or cut while the claim was on its way, `since` lies beyond the claim.
            fencedUpTo = max(fencedUpTo, min(claim.since, offset))
        }
    }

    private mutating func move(_ topic: InputTopic, _ partition: Int32?, to next: Offset) {
        positions[topic, partition ?? positions.home] = next
    }

    /// Adds a record whose transaction may be undecided, or aborted: its writer may still commit others.
    mutating func addUncommitted(_ entry: JournalEntry, at offset: Offset) {
        if case .note(.claim(let claim)) = entry { namings.append(Naming(offset: offset, ids: claim.ids)) }
    }

    /// The ids under which somebody may still write.
    var suspects: Set<String> {
        let first = max(fencedUpTo, lastNote ?? 0)
        return Set(namings.lazy.filter { $0.offset >= first }.flatMap(\.ids))
    }
}
