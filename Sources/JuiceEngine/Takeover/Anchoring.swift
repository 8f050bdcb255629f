import JuiceMessages

/// Moves the position of an input, for an operator: takes the partition over like a worker, and writes an anchor into its journal.
/// A running worker finds itself fenced, takes the partition over anew, and goes on from the anchor.
package struct Anchoring<Log: CommandLog> {
    /// A partition before anything is changed.
    package struct Survey: Sendable, Equatable {
        /// The next offset of each input, as far as the journal says.
        package let positions: [InputPosition]
        package let extents: PartitionExtents
        /// The consumer group of the last owner; nil if there was none.
        package let group: String?
    }

    private let log: Log
    private let share: InputAssignment
    private let context: WorkerContext
    private let partition: Int32
    private var takeover: Takeover
    /// Where the claim stands under which the note was first written. It may be committed although that failed.
    private var attempt: Offset?

    /// - Parameters:
    ///   - log: of a process that is no member of the group.
    ///   - settings: with the name that the claim is to have.
    ///   - share: of one partition that stores live in.
    package init(log: Log, settings: WorkerSettings, share: InputAssignment) {
        (self.log, self.share) = (log, share)
        partition = share.partitions.first ?? 0
        context = WorkerContext(settings)
        takeover = Takeover(share: share, ids: [], context: context)
    }

    /// What is known of the partition. Nothing is changed.
    ///
    /// - Throws: ``LogError``; after ``LogError/Remedy/retry`` the same call goes on, after ``LogError/Remedy/startOver`` it does
    ///   so once ``startOver()`` was called.
    package mutating func survey() throws(LogError) -> Survey {
        while !takeover.isSurveyed { try step() }
        guard let target = takeover.target(partition), let extents = target.extents else { throw unavailable }
        return Survey(positions: target.tail.positions.all, extents: extents, group: target.tail.lastClaim?.group)
    }

    /// Begins anew, for example because the partition's owner has taken it back in the meantime.
    package mutating func startOver() throws(LogError) {
        try log.start(at: [])
        takeover = Takeover(share: share, ids: [], context: context)
    }

    /// Takes the partition over and writes the note, after ``survey()``. Throws as that does.
    ///
    /// - Parameter copied: what the offset was in the cluster that the topics were copied from; nil if they were not.
    package mutating func write(
        _ place: InputPlace, by author: String, reason: String?, copied: Offset? = nil
    ) throws(LogError) {
        let note = JournalNote.anchored(place, by: author, reason: reason, copied: copied)
        while !takeover.isOwner { try step() }
        let claim = takeover.target(partition)?.claim
        // Nobody can write the first note any more. A second one would undo what was handled since.
        if let attempt, let claim, try journal(from: attempt, to: claim, has: note) { return }
        attempt = attempt ?? claim
        try log.begin()
        try log.produce(note, to: partition)
        while true {
            do throws(LogError) {
                return try log.commit()
            } catch {
                guard error.remedy == .retry else { throw error }
            }
        }
    }

    private func journal(from start: Offset, to end: Offset, has note: JournalNote) throws(LogError) -> Bool {
        let position = ChangelogPosition(topic: .results, partition: partition, offset: start)
        try log.openChangelog([position], isolation: .committed)
        let begun = log.now
        var next = start
        while next < end {
            let batch = try log.readChangelog()
            guard batch.damages.isEmpty, log.now - begun < Takeover.longestRead else {
                throw LogError(.stop, "the journal cannot be read up to offset \(end)")
            }
            for record in batch.records {
                if let value = record.value, JournalNote(value) == note { return true }
                next = max(next, record.offset + 1)
            }
            for reached in batch.ends { next = max(next, reached.offset) }
        }
        return false
    }

    private mutating func step() throws(LogError) {
        if let failure = try takeover.step(on: log).first { throw LogError(.stop, failure.fault.reason) }
        if let refusal = takeover.refusals.first { throw LogError(.stop, refusal.fault.reason) }
        if takeover.isDone { throw unavailable }
    }

    private var unavailable: LogError { LogError(.stop, "partition \(partition) cannot be taken over") }
}
