import JuiceMessages

/// Moves positions of a partition's inputs, for an operator: takes the partition over like a worker, and writes anchors into its
/// journal. A running worker finds itself fenced, takes the partition over again, and goes on from the anchors.
///
/// An anchor is an accounting point: its transaction ends with a position note that begins the account with what is there.
package struct Anchoring<Log: KafkaPort> {
    private let log: Log
    private let assignment: InputAssignment
    private let context: WorkerContext
    private let partition: Int32
    private let isCopy: Bool
    /// The offset of the claim under which the notes were first written. They may be committed even if that call failed.
    private var attempt: Offset?
    private var takeover: Takeover?
    /// What to look for in copied inputs, after ``inspect()``; nil if the topics were not copied.
    package private(set) var copies: CopiedInputs?

    /// - Parameters:
    ///   - log: the log, for a process that is not a member of the group.
    ///   - settings: with the instance name for the claim.
    ///   - assignment: one partition that holds stores.
    ///   - isCopy: whether the topics were copied from another cluster, whose offsets the journal still has.
    package init(log: Log, settings: WorkerSettings, assignment: InputAssignment, isCopy: Bool = false) {
        (self.log, self.assignment, self.isCopy) = (log, assignment, isCopy)
        partition = assignment.partitions.first ?? 0
        context = WorkerContext(settings)
    }

    /// Finds out what is known of the partition, without changing anything or fencing an owner.
    ///
    /// - Throws: ``LogError``; after ``LogError/Remedy/retry`` the same call goes on, after ``LogError/Remedy/startOver`` it does
    ///   so once ``startOver()`` was called.
    package mutating func inspect() throws(LogError) -> InspectedPartition {
        try checkTransactions()
        let (target, _) = try restore(isInspection: true)
        defer { takeover = nil }
        guard let accepted = takeover?.accepted else { throw unavailable }
        copies = accepted.copies
        return InspectedPartition(target, menu: context.settings.menuDigest, fault: accepted.fault)
    }

    /// How long a transaction of the service may stay open, with a margin, in milliseconds.
    private static var longestTransaction: Timestamp { 12_000 }

    /// Finds out whether the partition can be taken over. A transaction that makes no progress for longer than the service's own
    /// can last is another program's, and must end first.
    private func checkTransactions() throws(LogError) {
        let (extents, begun) = (try log.extents(of: [partition]).extents, log.uptime)
        let first = try log.openTransactions(in: extents)
        while !first.isEmpty, try log.openTransactions(in: extents) == first {
            guard let open = first.first, log.uptime - begun > Self.longestTransaction else { continue }
            throw LogError(
                .stop,
                "another program's transaction is open in \(open.topic) [\(partition)] since offset \(open.offset), and must end"
                    + " first: juice doctor shows how")
        }
    }

    /// Begins again, for example because the partition's owner has taken it back in the meantime.
    package mutating func startOver() throws(LogError) {
        try log.start(at: [])
        takeover = nil
    }

    /// Takes the partition over and writes the notes, after ``inspect()``. Throws as that does.
    ///
    /// - Parameters:
    ///   - moves: where inputs go on, at least one, each with that place's offset in the cluster that the topics come from.
    ///   - missing: how many records and changes journal and stock lack. The exact number accepts the loss.
    package mutating func write(
        _ moves: [(to: InputPosition, copied: Offset?)], by author: String, reason: String?, accepting missing: Int64
    ) throws(LogError) {
        func note(_ position: InputPosition, copied: Offset?) -> JournalNote {
            let number = position.partition == partition ? nil : position.partition
            let place = InputPlace(topic: position.topic, partition: number, offset: position.offset)
            return .anchored(place, by: author, reason: reason, copied: copied)
        }
        let (target, state) = try restore(isInspection: false)
        let claim = target.claim
        var notes = moves.map(note)
        // The first attempt can no longer commit. If its notes are there, a second copy would undo what was handled since.
        if let attempt, let claim, let first = notes.first, try journal(from: attempt, to: claim, has: first) { return }
        guard let (account, fault, _) = takeover?.accepted else { throw unavailable }
        if let fault, fault.missing > 0, fault.missing != missing {
            throw LogError(.stop, "\(fault.reason). To accept that, add --accept \(fault.missing)")
        }
        let others = Self.others(than: moves.map(\.to.input), at: state.positions, after: fault)
        notes += others.map { note($0, copied: nil) }
        attempt = attempt ?? claim
        // The account below says that the stock has all changes. So stock beyond one transaction's limit is written before the
        // anchor.
        while state.applied.stores.unwritten.count > StoreTable.mostWritten {
            try transact { (transaction) throws(LogError) in try transaction.writeStock(of: state) }
            state.applied.stores.commit()
        }
        for note in notes { state.applied.progress.apply(JournalRecord(note, to: partition)) }
        try transact { (transaction) throws(LogError) in
            try transaction.writeStock(of: state)
            for note in notes { try transaction.writeNote(note, to: partition, notBefore: state.applied.earliestTime) }
            try transaction.writeNote(state.note(of: account), to: partition, notBefore: state.applied.earliestTime)
        }
    }

    /// Where the partition's other inputs go on after an anchor that accepts a journal's lost end. The owner reads on at once, and
    /// would carry out commands again that it had answered: the group's offsets show how far that was.
    package static func others(
        than inputs: [InputPartition], at positions: [InputPosition], after fault: PartitionFault?
    ) -> [InputPosition] {
        positions.filter { !inputs.contains($0.input) }.compactMap { position in
            fault?.anchors.first { $0.input == position.input && $0.offset > position.offset }
        }
    }

    private func transact(_ body: (inout Transaction) throws(LogError) -> Void) throws(LogError) {
        try log.begin()
        var transaction = Transaction(on: log, context: context, at: log.now)
        try body(&transaction)
        while true {
            do throws(LogError) {
                try log.commit()
                return
            } catch {
                guard error.remedy == .retry else { throw error }
            }
        }
    }

    private func journal(from start: Offset, to end: Offset, has note: JournalNote) throws(LogError) -> Bool {
        var reading = ChangelogReading([.init(topic: .results, partition: partition, offsets: start..<end)])
        var isFound = false
        while !reading.isDone {
            let damages = try reading.step(on: log) { records in
                isFound = isFound || records.contains { $0.value.flatMap(JournalNote.init) == note }
            }
            guard damages.isEmpty else { throw LogError(.stop, "the journal cannot be read up to offset \(end)") }
        }
        return isFound
    }

    /// Restores the partition, as its owner or without a claim.
    private mutating func restore(isInspection: Bool) throws(LogError) -> (TakeoverTarget, PartitionState) {
        let takeover =
            takeover
            ?? Takeover(
                assignment: assignment, ids: [], isInspection: isInspection, purpose: .anchor(isCopy: isCopy), context: context)
        self.takeover = takeover
        while !takeover.isDone {
            if let failure = try takeover.step(on: log).first { throw LogError(.stop, failure.fault.reason) }
            if let refusal = takeover.refusals.first { throw LogError(.stop, refusal.fault.reason) }
        }
        guard let target = takeover.target(partition), let state = takeover.cached[partition] else { throw unavailable }
        return (target, state)
    }

    private var unavailable: LogError { LogError(.stop, "partition \(partition) cannot be taken over") }
}
